"""Work handed to the workers of a Dask cluster. Results are those of one machine, where processors are alike."""
