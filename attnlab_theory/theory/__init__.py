"""Predictions from algebra, in float64. They import no other room, so they share no bug with what they judge."""
