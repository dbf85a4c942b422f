"""The oracle as a service over HTTP, on this machine alone."""
