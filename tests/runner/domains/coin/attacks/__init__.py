"""Attacks on coins."""
