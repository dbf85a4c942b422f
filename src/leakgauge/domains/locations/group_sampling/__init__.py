"""Draw random groups of people and count their visits."""
