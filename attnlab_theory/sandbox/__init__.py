"""Where code runs that is not this process: local processes, and fences around code that nobody vouches for."""
