"""Keys that are drawn around their means: one head, two heads, many heads."""
