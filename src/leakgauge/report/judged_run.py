"""A judged run, and which of its verdicts a section shows when there are too many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakgauge import catalog
from leakgauge.core.domain import Domain
from leakgauge.verdict import Finding, Verdict


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """The verdicts of a run and its manifest; of the latter, any entry may be missing."""

    verdicts: Sequence[Verdict]
    manifest: Mapping[str, Any]


_SEVERITY = {Finding.VIOLATED: 0, Finding.UNDECIDED: 1, None: 2, Finding.NOT_VIOLATED: 3}


def most_severe(verdicts: Sequence[Verdict], most: int) -> list[Verdict]:
    """The gravest verdicts, and of equally grave ones those that show most, in the order of the plan."""
    if len(verdicts) <= most:
        return list(verdicts)
    kept = sorted(range(len(verdicts)), key=lambda place: _severity(verdicts[place]))[:most]
    return [verdicts[place] for place in sorted(kept)]


def severest_first(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """All of them, gravest first."""
    return sorted(verdicts, key=_severity)


def by_audit(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts of each audit, in the order of the plan."""
    audits: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        audits.setdefault(verdict.audit, []).append(verdict)
    return audits


def domains_of(verdicts: Sequence[Verdict]) -> list[Domain]:
    """The domains of the verdicts, each once; scores that were computed elsewhere have none."""
    found = (catalog.find_domain(name) for name in sorted({verdict.domain for verdict in verdicts}))
    return [domain for domain in found if domain is not None]


def omission_note(shown: int, of: int, things: str) -> str:
    """A sentence that owns up to what is not shown; empty if nothing is missing.

    >>> omission_note(2, 2, "adversaries"), omission_note(100, 200, "adversaries")
    ('', 'Shown are the 100 most telling of 200 adversaries; verdicts.json holds them all.')
    """
    if shown >= of:
        return ""
    return f"Shown are the {shown:,} most telling of {of:,} {things}; verdicts.json holds them all."


def _severity(verdict: Verdict) -> tuple[int, float]:
    estimate = verdict.metrics.get("epsilon")
    shown = estimate.low if estimate and estimate.low is not None else 0.0
    return _SEVERITY[verdict.finding], -shown
