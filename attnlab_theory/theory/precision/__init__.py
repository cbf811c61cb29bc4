"""What few digits do to attention: predictions (docs/mathematics/precision.md)."""
