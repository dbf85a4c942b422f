"""Kinds of release, one folder each, always of the same shape."""
