"""Attacks on a black box, one file each."""
