"""Classifiers that infer which component of the data a record is of, or a model was trained on."""
