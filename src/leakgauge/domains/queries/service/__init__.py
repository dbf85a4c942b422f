"""The oracle as an HTTP service, on this machine only."""
