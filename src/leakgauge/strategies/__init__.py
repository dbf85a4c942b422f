"""Ways to score that belong to no single domain."""
