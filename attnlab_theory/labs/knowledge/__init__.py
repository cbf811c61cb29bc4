"""What a model of birthplaces knows and what it guesses: trained, and led from answers to numbers and figures."""
