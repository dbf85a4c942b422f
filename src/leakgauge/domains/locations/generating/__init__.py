"""A generated city and its people."""
