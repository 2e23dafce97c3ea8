"""How pages look and load."""
