"""Predicates in SQL: parsed, checked, brought to a normal form and compared."""
