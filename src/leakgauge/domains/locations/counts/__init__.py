"""Distributions and likelihood ratios of published counts."""
