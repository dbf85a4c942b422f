"""Simulated releases of the attacker, and where they come from."""
