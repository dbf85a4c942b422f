"""What stands below the verdicts on the terminal; not a command."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakgauge.verdict import Verdict


def footnotes(verdicts: "Sequence[Verdict]") -> list[str]:
    """How to read the numbers, what is undecided, how sure all is, and if the instrument was in order."""
    lines = (_averages(verdicts), _undecided(verdicts), _certainty(verdicts), _instrument(verdicts))
    return [line for line in lines if line]


def _averages(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.pages.standing import AVERAGED, averaged

    means = [averaged(verdict, "accuracy") for verdict in verdicts]
    if not any(means):
        return ""
    where = "" if all(means) else " where several are the same in all rounds"
    return f"Accuracy and AUC: {AVERAGED}{where}, each with a threshold of its own."


def _undecided(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.pages.headline import too_weak

    undecided = [verdict for verdict in verdicts if verdict.finding == "undecided"]
    if undecided and too_weak(undecided):
        return ""
    open_ones = [verdict for verdict in verdicts if verdict.finding in ("undecided", None)]
    bounds = [verdict.metrics["epsilon"] for verdict in open_ones if "epsilon" in verdict.metrics]
    if reasons := {str(bound.reason) for bound in bounds if bound.low is None}:
        return f"No bound on ε: {'; '.join(sorted(reasons))}."
    if not undecided:
        return ""
    needed = [verdict.rounds_needed for verdict in undecided]
    if None in needed:
        return "Undecided: for some promises no number of rounds would do."
    return f"Undecided: a violation could show from {max(n for n in needed if n is not None):,} rounds on."


def _certainty(verdicts: "Sequence[Verdict]") -> str:
    from leakgauge.pages.numbers import times

    confidences = sorted(
        {estimate.confidence for verdict in verdicts for estimate in verdict.metrics.values()}
    )
    shares = " and ".join(f"{confidence:.4g}" for confidence in confidences)
    n = max(verdict.corrected_for for verdict in verdicts)
    early = sum(verdict.stopped_early for verdict in verdicts)
    stopped = f" {early} stopped early." if early else ""
    return f"Confidence {shares} per verdict; findings corrected for {times(n, 'verdict')}.{stopped}"


def _instrument(verdicts: "Sequence[Verdict]") -> str:
    """Return the least favourable instrument check."""
    from leakgauge.pages.numbers import number, percent
    from leakgauge.pages.words import has_bound

    nulls = [verdict.instrument["null"] for verdict in verdicts if verdict.instrument.get("null")]
    planted = [verdict.instrument["planted"] for verdict in verdicts if verdict.instrument.get("planted")]
    if not nulls or not planted:
        return ""
    null = max(nulls, key=lambda check: check["rate"])
    able = [verdict for verdict in verdicts if verdict.instrument.get("planted") and has_bound(verdict)]
    seen = [verdict.instrument["planted"]["epsilon"] for verdict in able]
    smallest = "none at these rounds" if None in seen else number(max(seen, default=None))
    if not able:
        smallest = "none, without a bound on ε"
    elif len(able) < len(planted):
        smallest += " (where there is a bound on ε)"
    return (
        f"Instrument: false alarms on a null release {percent(null['rate'])} ({percent(null['low'])} to "
        f"{percent(null['high'])}); smallest ε it could have detected: {smallest}."
    )
