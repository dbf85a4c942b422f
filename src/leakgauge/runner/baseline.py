"""Compare a run with an earlier one: whether any attacker is right more often now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.referee.accuracy_difference import accuracy_difference
from leakgauge.referee.estimate import Estimate
from leakgauge.runner import manifest
from leakgauge.runner.run_verdicts import collect_blocks
from leakgauge.summary import RunSummary

TOLERANCE = 0.02  # an increase of accuracy that still counts as no worse


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """How much more often one attacker is right than in the earlier run.

    Attributes:
        audit: The name of the audit.
        label: The name of the attacker.
        difference: The increase of accuracy; its bounds are one-sided, corrected for all attackers.
        status: "worse", "not worse" or "undecided".
    """

    audit: str
    label: str
    difference: Estimate
    status: str


def compare_with_baseline(folder: Path, baseline: Path) -> list[BaselineComparison]:
    """Compare every attacker that both runs have.

    An attacker is worse if the lower bound of the increase exceeds the tolerance, at an error divided by the
    number of attackers; not worse if the upper bound is below it.
    """
    now, before = _trials(folder), _trials(baseline)
    common = [key for key in now if key in before]
    if not common:
        raise BadInput(
            f"{baseline}: has no attacker of the same audit and label as {folder}; nothing to compare"
        )
    comparisons = []
    for audit, label in common:
        trials, confidence = now[audit, label]
        earlier = before[audit, label][0]
        error = 1 - confidence
        below = accuracy_difference(trials, earlier, 1 - 2 * error / len(common))
        above = accuracy_difference(trials, earlier, 1 - 2 * error)
        difference = Estimate(
            value=below.value,
            low=below.low,
            high=above.high,
            confidence=confidence,
            method=below.method,
            reason=below.reason,
        )
        same = np.array_equal(trials.scores, earlier.scores) and np.array_equal(
            trials.members, earlier.members
        )
        status = "not worse" if same else _status(difference)  # the same trials: nothing changed
        comparisons.append(BaselineComparison(audit=audit, label=label, difference=difference, status=status))
    return comparisons


def with_baseline(summary: RunSummary, comparisons: list[BaselineComparison]) -> RunSummary:
    """Return the summary with the exit code and the reasons that follow from the comparison."""
    worse = [comparison for comparison in comparisons if comparison.status == "worse"]
    undecided = [comparison for comparison in comparisons if comparison.status == "undecided"]
    reasons = [f"worse than the baseline: {names_of(worse)}"] if worse else []
    if undecided:
        reasons.append(f"not clear whether worse than the baseline: {names_of(undecided)}; use more rounds")
    codes = {summary.exit_code, 1 if worse else 3 if undecided else 0}
    return replace(summary, exit_code=1 if 1 in codes else max(codes), reasons=(*summary.reasons, *reasons))


def names_of(comparisons: list[BaselineComparison]) -> str:
    """Name the attackers of some comparisons."""
    return ", ".join(f"{comparison.audit} {comparison.label}" for comparison in comparisons)


def _status(difference: Estimate) -> str:
    if difference.low is not None and difference.low > TOLERANCE:
        return "worse"
    return "not worse" if difference.high is not None and difference.high < TOLERANCE else "undecided"


def _trials(folder: Path) -> Mapping[tuple[str, str], tuple[Trials, float]]:
    """The trials of every attacker of a complete run, and the confidence of its audit."""
    content = manifest.load(folder)
    run = manifest.from_json(content, folder)
    found = {}
    for audit in run.plan.audits:
        sequence = collect_blocks(audit, run, content, folder)
        for contender in audit.contenders:
            found[audit.name, contender.label] = (
                sequence.trials(contender.label),
                audit.metrics.confidence,
            )
    return found
