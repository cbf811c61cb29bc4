"""Text to numbers and back."""
