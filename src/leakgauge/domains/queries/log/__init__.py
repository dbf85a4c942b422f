"""What a log of answered queries has already revealed about each record."""
