"""The lab book: findings to one HTML page."""
