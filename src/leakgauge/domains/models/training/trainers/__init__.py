"""Kinds of models that a plan can train.

Each is one file with a class ``Trainer`` (see ``training/trainer.py``).
"""
