"""What a model of birthplaces reads and is asked: generated persons, the homework's files, read-off answers."""
