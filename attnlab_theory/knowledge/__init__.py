"""What a model of birthplaces knows and what it guesses: from its answers to numbers, verdicts and figures."""
