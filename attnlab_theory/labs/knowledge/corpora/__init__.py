"""The data of the knowledge lab: generated persons, the homework's files, answers that a rule finds in texts."""
