"""Bounds: one file is one family of formulas, each with its source."""
