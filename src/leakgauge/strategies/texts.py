"""What can be read out of texts: their length, their words and numbers, their characters."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from leakgauge.strategies.cells import MISSING

MANY = 64  # so many different texts are no mere labels any more, and are worth taking apart

_TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+")
_MOST_TOKENS = 16
_MOST_CHARACTERS = 32


def parts(texts: Sequence[str | None]) -> Iterator[tuple[tuple[str | int, ...], list[Any]]]:
    """Yield the parts of texts, each with its value in every round; numbers among the words are numbers."""
    words = {text: _tokens(text) for text in set(texts) if text is not None}
    yield ("#text length",), [MISSING if text is None else len(text) for text in texts]
    for name, rows in (
        ("#word", [[] if text is None else words[text] for text in texts]),
        ("#character", [[] if text is None else list(text[:_MOST_CHARACTERS]) for text in texts]),
    ):
        for position, column in enumerate(zip_longest(*rows, fillvalue=MISSING)):
            yield (name, position), list(column)


def _tokens(text: str) -> list[str | float]:
    return [_number(token) for token in _TOKEN.findall(text)[:_MOST_TOKENS]]


def _number(token: str) -> str | float:
    try:
        return float(token)
    except ValueError:
        return token
