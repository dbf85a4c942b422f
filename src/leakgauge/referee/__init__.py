"""Statistics of trials: arrays in, estimates out."""
