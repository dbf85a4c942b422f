"""Carry out a plan: blocks of rounds, run folders, engines with workers."""
