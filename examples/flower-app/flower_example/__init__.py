"""A small Flower app, as a team would write it."""
