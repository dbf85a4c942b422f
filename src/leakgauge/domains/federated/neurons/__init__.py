"""Neurons that a dishonest server plants in the model to find out whether a target is in a batch."""
