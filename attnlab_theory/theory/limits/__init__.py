"""What no attention head can do, or only at a price: sharpness, depth, rank, slope, memory, distance."""
