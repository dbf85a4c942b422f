"""How a classifier is trained, with noise or without, and what that promises."""
