"""The knowledge lab: what a small GPT knows about birthplaces, and what it guesses."""
