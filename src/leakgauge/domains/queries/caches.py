"""Which questions of a round are one and the same, and get the same answer free of charge."""

from collections.abc import Hashable
from enum import StrEnum

from leakgauge.domains.queries.asked import Asked


class Cache(StrEnum):
    """How questions are compared; never by the records they select, for that would depend on the data.

    ``canonical`` knows a question by its condition in normal form: blanks, case, brackets, the order of parts
    and of values, double negation do not matter, and ids are a condition on their column. A rewording that
    it does not see through is a new question, and is charged as one.
    """

    NONE = "none"
    TEXT = "text"
    CANONICAL = "canonical"


def same(cache: Cache, asked: Asked) -> Hashable | None:
    """What questions share that are the same to a cache; nothing if none ever are."""
    match cache:
        case Cache.NONE:
            return None
        case Cache.TEXT:
            return asked.query
        case Cache.CANONICAL:
            query = asked.query
            return (query.kind, query.column, query.bound, asked.condition)
