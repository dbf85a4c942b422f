"""Errors that a user can fix."""


class BadInput(Exception):
    """Something the user gave is wrong; the message says what, which rule it breaks and how to fix it."""


class IncompleteRun(Exception):
    """Work is not complete yet, for no fault of the input; the message says how to continue."""


class ReleaseLost(Exception):
    """A release was lost on the way, which is no evidence of anything: its block has to be run again."""
