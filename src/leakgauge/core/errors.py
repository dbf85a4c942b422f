"""Errors that a user can fix.

A message is read by callers of the command line and of Python, so advice about an option names both forms.
"""

ANOTHER_OUT = "choose another --out (in Python: out=...)"
START_OVER = "start over with --fresh (in Python: fresh=True)"


class BadInput(Exception):
    """Something the user gave is wrong; the message says what, which rule it breaks and how to fix it."""


class IncompleteRun(Exception):
    """Work is not complete yet, for no fault of the input; the message says how to continue."""


class ReleaseLost(Exception):
    """A release was lost on the way, which is no evidence of anything: its block has to be run again."""
