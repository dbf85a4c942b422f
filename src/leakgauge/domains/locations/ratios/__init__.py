"""What the likelihood attack believes of cells, and the scores it makes of it."""
