"""Errors that a user can fix.

A message is read by callers of the command line and of Python, so advice about an option names both forms.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

ANOTHER_OUT = "choose another --out (in Python: out=...)"
START_OVER = "start over with --fresh (in Python: fresh=True)"
_LONG_QUOTE = re.compile(
    r"""(?<![^\s(\[{=,])(["'])(?=\S)((?:(?!\1).){40})(?:(?!\1).){2,}((?:(?!\1).){39})\1(?!\w)"""
)


class BadInput(Exception):
    """Something the user gave is wrong; the message says what, which rule it breaks and how to fix it.

    Values that it quotes are cut in the middle at 80 characters: they may be anything that is in a file.
    """

    def __init__(self, message: str = ""):
        super().__init__(_LONG_QUOTE.sub(r"\1\2…\3\1", message))


class IncompleteRun(Exception):
    """Work is not complete yet, for no fault of the input; the message says how to continue."""


class ReleaseLost(Exception):
    """A release was lost on the way, which is no evidence of anything: its block has to be run again."""


@contextmanager
def naming_arguments(*names: tuple[str, str]) -> Iterator[None]:
    """Name the arguments of a Python call in messages that name the keys of a plan: pairs (key, argument).

    >>> with naming_arguments(("challenger.claim.", "")):
    ...     raise BadInput("challenger.claim.steps: must be a whole number, got '4'")
    Traceback (most recent call last):
    leakgauge.core.errors.BadInput: steps: must be a whole number, got '4'
    """
    try:
        yield
    except BadInput as error:
        message = str(error)
        for key, argument in names:
            message = message.replace(key, argument)
        raise BadInput(message) from None
