"""What depth and rotary positions make of distance."""
