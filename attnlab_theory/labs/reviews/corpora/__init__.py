"""Labelled reviews: read from files, or drawn from two grammars whose Bayes rule is known."""
