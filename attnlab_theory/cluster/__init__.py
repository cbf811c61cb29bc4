"""Work for the workers of a Dask cluster. Results are those of one machine, if processors are alike."""
