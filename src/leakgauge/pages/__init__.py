"""Verdicts as one HTML file."""
