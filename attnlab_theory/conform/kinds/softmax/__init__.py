"""Attention by a softmax: what it promises, how far off a right answer may be, and what is true beside that."""
