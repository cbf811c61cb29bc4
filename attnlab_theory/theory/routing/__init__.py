"""Key-query-value attention: which token reads which."""
