"""Classifiers that learn a target's membership from simulated releases."""
