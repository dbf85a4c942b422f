"""Scoring methods that several domains share."""
