"""Which component a record or a model is of, as an adversary learns to tell."""
