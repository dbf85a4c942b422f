"""A promise in words: epsilon, delta, what is protected and which data sets are compared."""

from collections.abc import Mapping
from typing import Any

from leakgauge.report import number_format
from leakgauge.report.adversary_names import clip

UNITS: Mapping[str, str] = {
    "event": "one event",
    "user-day": "one day of one person",
    "user": "one person",
    "record": "one record",
    "client": "one client",
    "group": "all records of a release together",
}

RELATIONS: Mapping[str, str] = {
    "add_remove": "data with and without it",
    "replace_one": "data in which it is replaced by another",
}

_EQUALS = "\u00a0=\u00a0"  # keeps an equation in one line


def promise_text(promised: Mapping[str, Any]) -> str:
    """A promise, short.

    >>> promise_text({"epsilon": 1.0, "delta": 1e-5, "unit": "user"})
    'ε\xa0=\xa01, δ\xa0=\xa010⁻⁵ for one person'
    """
    unit, epsilon, delta = str(promised.get("unit") or ""), promised.get("epsilon"), promised.get("delta")
    return (
        f"ε{_EQUALS}{'∞' if epsilon is None else number_format.number(epsilon)}"
        + (f", δ{_EQUALS}{number_format.number(delta)}" if delta else "")
        + (f" for {UNITS.get(unit, clip(unit))}" if unit else "")
    )
