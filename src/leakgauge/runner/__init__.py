"""Carrying out a plan: blocks, files, engines."""
