"""What the threshold attacks expect of cells, and the votes they make of it."""
