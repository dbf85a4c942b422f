"""Certified properties of crafted neurons, computed before any round."""
