"""Which keys are read at all: the best k, those an indexer likes, blocks by their mean, windows."""
