"""Accountants: how an oracle counts the cost of its answers, one per file."""
