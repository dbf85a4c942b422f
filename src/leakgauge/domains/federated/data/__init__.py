"""Rows of clients and server: read from files or generated, turned into features, and split."""
