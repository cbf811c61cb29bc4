"""What layers cost: operations, bytes, the longest chain."""
