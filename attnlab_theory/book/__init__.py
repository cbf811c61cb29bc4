"""The book: findings, documents and docstrings to a folder of pages that opens from disk."""
