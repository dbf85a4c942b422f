"""Estimates of how people move, and synthetic people that follow them."""
