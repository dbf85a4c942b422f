"""Which promises are too weak to be tested."""

from collections.abc import Sequence

from leakgauge.verdict import Finding, Verdict

HUGE_EPSILON = 15.0  # an epsilon that allows odds of millions to one


def all_promises_too_weak(verdicts: Sequence[Verdict]) -> bool:
    """Whether every finding is undecided because the promise allows almost anything."""
    return all(
        verdict.finding is Finding.UNDECIDED
        and ((verdict.promised or {}).get("epsilon") or 0.0) > HUGE_EPSILON
        for verdict in verdicts
    )
