"""Attacks on an oracle that answers noisy queries: one file is one attack."""
