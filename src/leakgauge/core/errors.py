"""Errors that a user can fix."""


class BadInput(Exception):
    """Something the user gave is wrong; the message says what, which rule it breaks and how to fix it."""


class IncompleteRun(Exception):
    """A run folder does not hold all of its rounds yet; the message says how to continue."""


class ReleaseLost(Exception):
    """A release was lost on the way, which is no evidence of anything: its block has to be run again."""
