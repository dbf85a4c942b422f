"""Compare a run with an earlier one: whether any attacker is right more often now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
from leakgauge.plan import Audit, Contender, Stop
from leakgauge.referee.accuracy_difference import Pairing, accuracy_difference
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_evaluation import is_only_release
from leakgauge.runner import manifest
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.runner.manifest import Manifest
from leakgauge.runner.positive_control import counted_contenders
from leakgauge.runner.risk_context import changed_rounds
from leakgauge.runner.run_verdicts import collect_blocks
from leakgauge.summary import RunSummary

FINISHED = (
    "a finished release is one round, to which none can be added, so the difference of two has no interval; "
    "compare the intervals in both reports, which more members and others make narrower"
)
TOLERANCE = 0.02  # an increase of accuracy that still counts as no worse
MOST_KEYS = 6  # that are listed where two audits differ
_LONGEST_VALUE = 30  # characters; of longer values only the key is listed
_ABSENT = object()


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """How much more often one attacker is right than in the earlier run.

    Attributes:
        audit: The name of the audit.
        label: The name of the attacker.
        difference: The increase of accuracy; its bounds are one-sided, corrected for all attackers.
        status: "worse", "not worse" or "undecided".
        reason: Why the two runs cannot be compared for this attacker; nothing where they can.
    """

    audit: str
    label: str
    difference: Estimate
    status: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class BaselineResult:
    """The comparison of every attacker, and in which keys the plans of the two runs differ."""

    comparisons: tuple[BaselineComparison, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _AuditPair:
    """The same audit in both runs, with its trials."""

    now: Audit
    before: Audit
    runs: tuple[Manifest, Manifest]
    trials: tuple[BlockSequence, BlockSequence]

    @property
    def obstacle(self) -> str | None:
        """Why no interval of the difference holds; nothing where it does."""
        for audit, run, which in zip((self.now, self.before), self.runs, ("this run", "the baseline")):
            if audit.stop is Stop.DECIDED:
                return (
                    f"{which} has stop = 'decided': the difference at a time that the trials chose has no "
                    "interval; compare runs with stop = 'rounds'"
                )
            if changed_rounds(audit, run):
                return (
                    f"the rounds of {which} were changed after a result was known, so that the difference "
                    "has no interval; start over with --fresh and another --seed"
                )
        return None

    @property
    def same_targets(self) -> bool:
        """Whether both are about the same targets of the same data, as far as the runs tell."""
        new, old = (run.metadata[self.now.name] for run in self.runs)
        if new.targets is not None and old.targets is not None:
            return new.targets == old.targets
        same_tables = self.now.data == self.before.data and self.now.challenger == self.before.challenger
        return same_tables and self.runs[0].plan.seed == self.runs[1].plan.seed

    @property
    def pairing(self) -> Pairing:
        """How the rounds of both belong together."""
        if self.runs[0].plan.seed != self.runs[1].plan.seed:
            return Pairing.INDEPENDENT
        return Pairing.ROUNDS if self.same_targets else Pairing.UNKNOWN


def compare_with_baseline(
    folder: Path, baseline: Path, covers: tuple[str, ...] | None = None
) -> BaselineResult:
    """Compare every attacker of the audits that count (all, if ``covers`` is not given).

    An attacker is worse if the lower bound of the increase exceeds the tolerance, at an error divided by the
    number of attackers; not worse if the upper bound is below it. Attackers that only one of the runs has are
    undecided. Runs that are about something else are refused.
    """
    pairs, missing = _audit_pairs(folder, baseline, covers)
    common = [(pair, label) for pair in pairs for label in _common(pair)]
    if not common:
        raise BadInput(
            f"{baseline}: has no attacker of the same audit and label as {folder}; nothing to compare"
        )
    comparisons = [_compare(pair, label, len(common)) for pair, label in common]
    for pair in pairs:
        now, before = _seeing(pair.now), _seeing(pair.before)
        comparisons += [
            _not_compared(pair.now, label, "the baseline lacks it") for label in only_in(now, before)
        ]
        comparisons += [
            _not_compared(pair.now, label, "only the baseline has it") for label in only_in(before, now)
        ]
    comparisons += [
        _not_compared(audit, label, "the baseline lacks this audit")
        for audit in missing
        for label in _seeing(audit)
    ]
    return BaselineResult(comparisons=tuple(comparisons), notes=tuple(_notes(pairs)))


def with_baseline(summary: RunSummary, comparisons: tuple[BaselineComparison, ...]) -> RunSummary:
    """Return the summary with the exit code and the reasons that follow from the comparison.

    Only what leads to the exit code is among its reasons; what else was found is said besides.
    """
    worse = [one for one in comparisons if one.status == "worse"]
    undecided = [one for one in comparisons if one.status == "undecided" and one.reason is None]
    failed = [f"worse than the baseline: {names_of(worse)}"] if worse else []
    unclear = []
    if undecided:
        unclear.append(f"not clear whether worse than the baseline: {names_of(undecided)}; use more rounds")
    for reason in dict.fromkeys(one.reason for one in comparisons if one.reason is not None):
        affected = names_of([one for one in comparisons if one.reason == reason])
        unclear.append(f"not compared with the baseline: {affected}: {reason}")
    codes = {summary.exit_code, 1 if failed else 3 if unclear else 0}
    code = 1 if 1 in codes else max(codes)
    by_code = [(summary.exit_code, summary.reasons), (1, failed), (3, unclear)]
    return replace(
        summary,
        exit_code=code,
        reasons=tuple(reason for own, reasons in by_code if own == code for reason in reasons),
        besides=tuple(reason for own, reasons in by_code if own != code for reason in reasons),
    )


def names_of(comparisons: list[BaselineComparison]) -> str:
    """Name the attackers of some comparisons."""
    return ", ".join(f"{comparison.audit} {comparison.label}" for comparison in comparisons)


def compare_trials(
    now: Trials, before: Trials, confidence: float, n_attackers: int, pairing: Pairing
) -> tuple[Estimate, str]:
    """The increase of accuracy of one attacker of several, and whether it is worse."""
    error = 1 - confidence
    below = accuracy_difference(now, before, 1 - 2 * error / n_attackers, pairing)
    above = below if n_attackers == 1 else accuracy_difference(now, before, 1 - 2 * error, pairing)
    difference = replace(below, high=above.high, confidence=confidence)
    return difference, _status(difference)


def _compare(pair: _AuditPair, label: str, n_attackers: int) -> BaselineComparison:
    now, before = (sequence.trials(label) for sequence in pair.trials)
    where = f"audit {pair.now.name!r}, {label!r}"
    if (now.reading.threshold is None) != (before.reading.threshold is None):
        raise BadInput(
            f"{where}: in only one of the runs the attack decides by a threshold of its own, so that the two "
            "accuracies do not mean the same; run the baseline again"
        )
    if now.coins is not before.coins:
        raise BadInput(
            f"{where}: membership is decided in another way in the baseline ({before.coins} before, "
            f"{now.coins} now), so that the two accuracies do not mean the same; run the baseline again"
        )
    unchanged = pair.now == pair.before and _same(now, before)
    if not unchanged and (is_only_release(now) or is_only_release(before)):
        return _not_compared(pair.now, label, FINISHED)
    try:
        difference, status = compare_trials(
            now, before, pair.now.metrics.confidence, n_attackers, pair.pairing
        )
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None
    status = "not worse" if unchanged else status
    if pair.obstacle is None or unchanged:
        return BaselineComparison(audit=pair.now.name, label=label, difference=difference, status=status)
    return BaselineComparison(
        audit=pair.now.name,
        label=label,
        difference=replace(difference, low=None, high=None, reason=pair.obstacle),
        status="undecided",
        reason=pair.obstacle,
    )


def _status(difference: Estimate) -> str:
    if difference.low is not None and difference.low > TOLERANCE:
        return "worse"
    return "not worse" if difference.high is not None and difference.high < TOLERANCE else "undecided"


def _audit_pairs(
    folder: Path, baseline: Path, covers: tuple[str, ...] | None
) -> tuple[list[_AuditPair], list[Audit]]:
    """The audits that both runs have, and those of the first that the baseline lacks."""
    contents = [manifest.load(one) for one in (folder, baseline)]
    new, old = (manifest.from_json(content, one) for content, one in zip(contents, (folder, baseline)))
    earlier, pairs, missing = {audit.name: audit for audit in old.plan.audits}, [], []
    for now in new.plan.audits:
        if covers is not None and now.name not in covers:
            continue
        if (before := earlier.get(now.name)) is None:
            missing.append(now)
            continue
        if before.domain != now.domain:
            raise BadInput(
                f"audit {now.name!r}: is about {now.domain} in {folder} and about {before.domain} in "
                f"{baseline}, which cannot be compared; choose another --baseline"
            )
        trials = (
            collect_blocks(now, new, contents[0], folder),
            collect_blocks(before, old, contents[1], baseline),
        )
        pairs.append(_AuditPair(now, before, (new, old), trials))
    return pairs, missing


def _seeing(audit: Audit) -> dict[str, Contender]:
    """The attackers that see a release, by label."""
    return {contender.label: contender for contender in counted_contenders(audit)}


def _common(pair: _AuditPair) -> list[str]:
    before = _seeing(pair.before)
    return [label for label in _seeing(pair.now) if label in before]


def _not_compared(audit: Audit, label: str, reason: str) -> BaselineComparison:
    confidence = audit.metrics.confidence
    none = Estimate(value=None, confidence=confidence, method="difference of accuracies", reason=reason)
    return BaselineComparison(
        audit=audit.name, label=label, difference=none, status="undecided", reason=reason
    )


def _notes(pairs: list[_AuditPair]) -> Iterator[str]:
    """One line for each way in which audits differ from the baseline, and one where targets do."""
    seeds = {(pair.runs[0].plan.seed, pair.runs[1].plan.seed) for pair in pairs}
    other_seed = [f"seed ({old} before, {new} now)" for new, old in seeds if new != old]
    differing: dict[str, list[str]] = {}
    for pair in pairs:
        if keys := [*audit_differences(pair.now, pair.before), *other_seed]:
            differing.setdefault(as_list(keys), []).append(pair.now.name)
    for text, audits in differing.items():
        where = "" if len(audits) == len(pairs) else f" for {as_list(audits)}"
        yield f"the plan of the baseline differs{where} in {text}"
    if others := [pair.now.name for pair in pairs if not pair.same_targets]:
        yield (
            f"targets or data may be others than in the baseline for {as_list(others)}: the runs are not "
            "compared round by round"
        )


def _same(now: Trials, before: Trials) -> bool:
    """Whether these are the same trials, so that nothing changed."""
    return np.array_equal(now.scores, before.scores) and np.array_equal(now.members, before.members)


def audit_differences(now: Audit, before: Audit) -> list[str]:
    """List the keys in which two audits differ, with short values before and now; nothing private is shown.

    Attackers that only one of them has are not listed.
    """
    found = list(_differing_keys(_shown_tables(before), _shown_tables(now)))
    hidden = [
        name
        for name in ("data", "challenger", "mechanism")
        if vars(now)[name] != vars(before)[name] and not any(key.startswith(name) for key in found)
    ]
    earlier = {contender.label: contender for contender in before.contenders}
    changed = [who.label for who in now.contenders if who.label in earlier and earlier[who.label] != who]
    return [*found, *hidden, *(f"the attack of {label}" for label in changed)]


def as_list(keys: list[str]) -> str:
    """Join keys; the last of many are only counted."""
    more = len(keys) - MOST_KEYS
    return ", ".join(keys) if more <= 0 else f"{', '.join(keys[:MOST_KEYS])} and {more} more"


def only_in(these: Mapping[str, Contender], those: Mapping[str, Contender]) -> list[str]:
    """The labels that only the first have."""
    return [label for label in these if label not in those]


def _shown_tables(audit: Audit) -> dict[str, Any]:
    return {
        "data": audit.data,
        "challenger": catalog.redacted_challenger(audit.domain, audit.challenger),
        "mechanism": audit.mechanism,
        "rounds": audit.rounds,
        "stop": audit.stop.value,
        "metrics.confidence": audit.metrics.confidence,
    }


def _differing_keys(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key in dict.fromkeys([*before, *now]):
        old, new, name = before.get(key, _ABSENT), now.get(key, _ABSENT), f"{prefix}{key}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _differing_keys(old, new, f"{name}.")
        elif old is _ABSENT or new is _ABSENT or old != new:
            values = f"{_short(old)} before, {_short(new)} now"
            yield f"{name} ({values})" if "…" not in values else name


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "none"
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else "…"
