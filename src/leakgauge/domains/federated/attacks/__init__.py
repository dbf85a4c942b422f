"""Attacks of a dishonest server; the name of a file is the name in plans."""
