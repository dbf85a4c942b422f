"""A finished model of the user's, or a file of what it returned: one release, and who was in its training."""
