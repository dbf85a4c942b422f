"""Shadows of a release, and what classifiers learn from them."""
