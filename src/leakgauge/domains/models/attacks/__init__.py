"""Attacks on models: one file each."""
