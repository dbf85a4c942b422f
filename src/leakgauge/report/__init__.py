"""Verdicts and exposures as one HTML file."""
