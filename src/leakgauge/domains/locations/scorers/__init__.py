"""Scorers of the attacks: per target, by likelihood ratio and by threshold."""
