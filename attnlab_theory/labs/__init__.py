"""The labs: what trained models do. Each lab has a folder and imports no other. What they share stands here."""
