"""Which component of the data a record is of, or a model was trained on, as an attacker learns to tell."""
