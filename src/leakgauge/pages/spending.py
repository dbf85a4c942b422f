"""The budget from both sides in words: what an adversary got out of an oracle, and what was believed."""

from collections.abc import Mapping

from leakgauge.pages.numbers import NOTHING, number
from leakgauge.verdict import Verdict

OBTAINED, BELIEVED = "obtained", "believed"


def spent(verdict: Verdict, name: str) -> str:
    """An epsilon that was spent: one number, or from the least to the most of any round."""
    span = (verdict.spent or {}).get(name)
    return NOTHING if span is None else written(span)


def written(span: Mapping[str, float]) -> str:
    """A span, as short as it can be.

    >>> written({"least": 3.0, "mean": 3.0, "most": 3.0}), written({"least": 3.0, "mean": 31.1, "most": 60.0})
    ('3', '3 to 60')
    """
    least, most = number(span["least"]), number(span["most"])
    return most if least == most else f"{least} to {most}"


def accountants(verdict: Verdict) -> list[str]:
    """The accountants that counted, by their names."""
    return sorted(set(verdict.spent or {}) - {OBTAINED, BELIEVED})
