"""Attacks on counts per place and hour: one file is one attack."""
