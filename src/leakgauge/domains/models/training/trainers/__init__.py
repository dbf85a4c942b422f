"""Kinds of models: one file each, with a class ``Trainer`` (see ``training/trainer.py``)."""
