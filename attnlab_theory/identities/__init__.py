"""Room 5, the other half: statements true of every input."""
