"""The other building: models of text, on the same foundation."""
