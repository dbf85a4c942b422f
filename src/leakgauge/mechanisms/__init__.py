"""Noise: one file is one mechanism, with its exact law and its promise."""
