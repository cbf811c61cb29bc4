"""The labs: what trained models do. One folder for each; none imports another; beside them what they share."""
