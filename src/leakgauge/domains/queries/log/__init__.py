"""What a log of answered queries has already given away about each record."""
