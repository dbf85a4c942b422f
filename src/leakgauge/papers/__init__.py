"""Figures and tables of papers, as plans, beside the published values."""
