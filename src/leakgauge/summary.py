"""The answer of a whole run: is the promise kept, is the risk within the limits, and the exit code."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.limits import NO_LIMITS, Limits, read_limits
from leakgauge.risk import ANY_ATTACKER, LimitResult, Risk, RiskStatus, change_risk, limit_result
from leakgauge.support.result_views import result_views
from leakgauge.verdict import (
    Finding,
    Verdict,
    json_table,
    not_read,
    risk_from_json,
    verdicts_from_json,
    verdicts_to_json,
    why_not_as_stated,
    why_not_compared,
    why_untestable,
)

_BEWARE = "beware: "
WEAK_ACCURACY = 0.75  # a promise that allows an attacker this accuracy is weak
TOO_WEAK_ACCURACY = 0.90  # and one that allows this much protects nobody
NO_PROMISE = "no promise"
TOO_WEAK_TO_TEST = "the promise is too weak to test: even certain identification would not violate it"
_WORST_FINDING_FIRST = (
    Finding.VIOLATED,
    Finding.UNTESTABLE,
    Finding.UNDECIDED,
    Finding.NOT_VIOLATED,
    None,
)
_WORST_RISK_FIRST = (RiskStatus.OVER, RiskStatus.UNDECIDED, RiskStatus.NO_LIMIT, RiskStatus.WITHIN)
CONTROL_PASSED = ("passed", "not needed")
WITHIN_YOUR_LIMITS = "within your limits"  # and for whom, where the promise is too weak to protect
VIOLATED, NOT_AS_STATED = "the promise is violated", "the mechanism is not as stated"


class PromiseStrength(StrEnum):
    """How much a promise protects, if it is kept.

    Attributes:
        STRICT: It keeps any attacker's accuracy below 75 %.
        WEAK: It allows an accuracy of 75 % or more.
        TOO_WEAK: It allows an accuracy of 90 % or more, or one above the owner's limit: it protects nobody.
    """

    STRICT = "strict"
    WEAK = "weak"
    TOO_WEAK = "too weak to protect"


EXPOSE_COMMAND = "leakgauge expose PLAN --out DIR"
RUN_EXPOSE = f"count them with: {EXPOSE_COMMAND}"  # with plan and folder of the run
NOT_COUNTED_HERE = "this result cannot count them, so limit accuracy instead"
CONTROL_FAILED = (
    "no attacker with this knowledge recognised anybody even in the positive control, so its failure says "
    "nothing; add a stronger attack with this knowledge, or name in attackers below [limits] those that count"
)


@dataclass(frozen=True, kw_only=True)
class PromiseSummary:
    """Whether the promise of a run is kept, and how much it is worth.

    Attributes:
        status: The worst finding of all attackers, or "no promise".
        strength: How much this promise protects; None where nothing is promised.
        epsilon: Its epsilon, for `unit`; None where it is infinite or nothing is promised.
        delta: Its delta.
        unit: Whom or what it protects.
        nominal_epsilon: The stated epsilon, perhaps for a smaller unit.
        nominal_unit: What the stated epsilon protects.
        allowed_accuracy: How often an attacker may be right while the promise is kept.
        testable: Whether any number of rounds could show a violation.
        rounds_needed: In how many rounds one could show; None where it could already, or never.
        attacker: The label of the attacker that shows a violation, if there is one.
        audit: The audit with the worst finding.
        no_bound: Why these trials allow no comparison with the promise, if they do not.
        least_protected: Epsilon, allowed accuracy and number of parts of the person of the data to whom least
            is promised, where people differ in that; `epsilon` is then that of the target who owns most.
    """

    status: str
    strength: PromiseStrength | None = None
    epsilon: float | None = None
    delta: float | None = None
    unit: str | None = None
    nominal_epsilon: float | None = None
    nominal_unit: str | None = None
    allowed_accuracy: float | None = None
    testable: bool = True
    rounds_needed: int | None = None
    attacker: str | None = None
    audit: str | None = None
    no_bound: str | None = None
    least_protected: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The two answers of a run, and its exit code.

    Attributes:
        promise: Whether the promise is kept.
        risk: How well people can be identified, and whether that is within the owner's limits.
        audit: The audit that the risk is taken from.
        covers: The audits that the exit code covers: all, or the one that the plan publishes.
        exit_code: 0, 1 or 3, as documented for the commands.
        reasons: Why the exit code is not 0, in plain sentences; empty where it is 0.
        limits: The limits, as a plan writes them.
        besides: What alone would have given another exit code; never the reason for this one.
        warnings: What to beware of, whatever the exit code; never the reason for it.
        recognised: The people recognised beside their limit, if there is one.
        limit_results: Every stated limit with its own status, value and attacker.
        assumed: The keys of the plan that nobody stated and that an answer rests on: none of it is green.
    """

    promise: PromiseSummary
    risk: Risk
    audit: str | None
    covers: tuple[str, ...]
    exit_code: int
    reasons: tuple[str, ...]
    limits: dict[str, Any]
    besides: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    recognised: Risk | None = None
    limit_results: tuple[LimitResult, ...] = ()
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class RunResult(Sequence[Verdict]):
    """What a run found: a sequence of verdicts, one per attacker, with the summary of all of them.

    Attributes:
        verdicts: The verdicts, in the order of the plan.
        summary: The two answers of the run: promise and risk.
        notes: How the data were read and what the numbers assume, where there is no run folder.
        judge_again: Judges the same trials by other limits.
        manifest: Returns what a report shows besides the verdicts, where there is a run folder.
        exposure: Computes how exposed each record is, where the result is about a finished model.
    """

    verdicts: tuple[Verdict, ...]
    summary: RunSummary
    notes: tuple[str, ...] = field(default=(), compare=False)
    judge_again: "Callable[[Limits], RunResult] | None" = field(default=None, compare=False, repr=False)
    manifest: "Callable[[RunResult], Mapping[str, Any]] | None" = field(
        default=None, compare=False, repr=False
    )

    exposure: "Callable[..., Any] | None" = field(default=None, compare=False, repr=False)
    _exposed: Any = field(default=None, init=False, compare=False, repr=False)  # everybody's exposure

    def __repr__(self) -> str:
        answers = f"risk {self.summary.risk.status.value!r}, promise {self.summary.promise.status!r}"
        return f"RunResult({len(self.verdicts)} verdicts, {answers}, exit code {self.summary.exit_code})"

    def check(self, limits: "Limits | Mapping[str, Any]") -> RunSummary:
        """Judge the same trials by limits, such as {"accuracy": 0.6}; the answer has an `exit_code`."""
        if self.judge_again is None:
            raise BadInput(
                "check: this result keeps no trials; state limits in the plan, or use leakgauge judge DIR "
                "--policy FILE"
            )
        stated = limits if isinstance(limits, Limits) else read_limits(limits, "limits")
        judged = self.judge_again(stated)
        return judged.summary if self._exposed is None else _with_people(judged, self._exposed, stated)

    def expose(
        self,
        *,
        out: str | Path | None = None,
        targets: Sequence[str | int] | None = None,
        shadows: int = 64,
        workers: int = 1,
    ) -> Any:
        """Compute how exposed each record of a finished model is; only for the result of `audit_model`.

        From then on `summary` and `check` compare the share of records recognised with a limit on it, unless
        `targets` leaves some out.

        Args:
            out: A folder for `exposure.csv` (the only file that lists records, readable by its owner alone),
                `exposure.json` and `exposure.html`. Without it nothing is written.
            targets: The names of the records whose exposure is stated; all unless given.
            shadows: How many shadow models `train` trains, unless predictions of some were given.
            workers: How many of them are trained at the same time.

        Raises:
            BadInput: If the result is of another kind, or an argument cannot be used.
        """
        if self.exposure is None:
            raise BadInput(
                "expose: only the result of audit_model holds records; for a plan use leakgauge.expose"
            )
        exposed = self.exposure(out=out, targets=targets, shadows=shadows, workers=workers)
        if targets is None:
            limits = read_limits(self.summary.limits, "limits")
            object.__setattr__(self, "_exposed", exposed)
            object.__setattr__(self, "summary", _with_people(self, exposed, limits))
        return exposed

    def to_frame(self) -> Any:
        """One row for each metric of each attacker: a frame of pandas or polars, or a dict of columns."""
        return result_views().result_frame(self.verdicts)

    def plot(self) -> Any:
        """Draw how often each attacker is right, beside limit and promise: a chart of Altair."""
        return result_views().result_chart(self.verdicts, self._shown())

    def save_report(self, path: str | Path) -> Path:
        """Write the report as one HTML file."""
        return result_views().save_result(self.verdicts, path, self._shown())

    def _repr_html_(self) -> str:
        return result_views().result_html(self.verdicts, self._shown())

    @property
    def _audits(self) -> list[str]:
        return list(dict.fromkeys(found.audit for found in self.verdicts))

    def _shown(self) -> dict[str, Any]:
        """What a report shows besides the verdicts."""
        known = {} if self.manifest is None else self.manifest(self)
        notes = {} if not self.notes else {"notes": dict.fromkeys(self.notes, self._audits)}
        return {**known, **notes, "summary": self.summary}

    def __getitem__(self, place: Any) -> Any:
        return self.verdicts[place]

    def __len__(self) -> int:
        return len(self.verdicts)


def _with_people(result: RunResult, exposed: Any, limits: Limits) -> RunSummary:
    """The summary of the audit of a model by limits, once everybody's exposure is known."""
    if limits.recognised is None:
        return result.summary
    recognised = exposed.check(limits)
    return summarise_run(result.verdicts, limits=limits, caveats=doubts(result.notes), recognised=recognised)


def result_to_json(result: RunResult) -> dict[str, Any]:
    """Write a result as verdicts.json holds it."""
    return {**verdicts_to_json(result.verdicts), "summary": json_table(result.summary)}


def result_from_json(content: Mapping[str, Any]) -> RunResult:
    """Read a result back."""
    table = content["summary"]
    promise = table["promise"]
    strength = None if promise["strength"] is None else PromiseStrength(promise["strength"])
    summary = RunSummary(
        **{
            **table,
            "promise": PromiseSummary(**{**promise, "strength": strength}),
            "risk": risk_from_json(table["risk"]),
            "covers": tuple(table["covers"]),
            "reasons": tuple(one for one in table["reasons"] if one not in table.get("warnings", ())),
            "besides": tuple(table.get("besides", ())),
            "warnings": tuple(table.get("warnings", ())),
            "assumed": tuple(table.get("assumed", ())),
            "recognised": None if table.get("recognised") is None else risk_from_json(table["recognised"]),
            "limit_results": tuple(
                LimitResult(**{**one, "status": RiskStatus(one["status"])})
                for one in table.get("limit_results", ())  # nothing in runs that an earlier version judged
            ),
        }
    )
    return RunResult(tuple(verdicts_from_json(content)), summary)


def apply_controls(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Let no attacker of an audit be within its limits where none with its knowledge passed the control.

    Where no control is possible, the scope says so; a limit above the exact optimum needs none.
    """
    statuses: dict[str, set[str]] = {}
    for verdict in verdicts:
        statuses.setdefault(verdict.knowledge, set()).add(control_status(verdict))

    def controlled(verdict: Verdict) -> Verdict:
        known, notes = statuses[verdict.knowledge], verdict.notes
        if verdict.risk is None:
            return verdict
        risk = change_risk(verdict.risk, lambda risk: _risk_after_control(risk, known, notes))
        return replace(verdict, risk=risk)

    return [controlled(verdict) for verdict in verdicts]


def control_status(verdict: Verdict) -> str:
    """How an attacker did in the positive control; "not possible" where there was none."""
    return (verdict.instrument.get("control") or {}).get("status", "not possible")


def _risk_after_control(risk: Risk, statuses: Collection[str], notes: Sequence[str]) -> Risk:
    passed = any(status in CONTROL_PASSED for status in statuses)
    if risk.status is RiskStatus.UNDECIDED and "failed" in statuses and not passed:
        return replace(risk, reason=CONTROL_FAILED, rounds_needed=None)  # more rounds would not help
    if risk.status is not RiskStatus.WITHIN or risk.scope == ANY_ATTACKER:
        return risk
    if notes:  # the counted rounds themselves say that they are no evidence
        return replace(risk, status=RiskStatus.UNDECIDED, reason=notes[0], rounds_needed=None)
    if passed:
        return risk
    if "missing" in statuses:
        reason = "the positive control is missing from the run folder; run the plan again"
        return replace(risk, status=RiskStatus.UNDECIDED, reason=reason, rounds_needed=None)
    if "failed" in statuses:
        return replace(risk, status=RiskStatus.UNDECIDED, reason=CONTROL_FAILED, rounds_needed=None)
    return replace(risk, scope=f"{risk.scope}; a positive control is not possible here")


def doubts(notes: Iterable[str]) -> list[str]:
    """Those notes on data that a reader must know before the answer: they begin with "beware: "."""
    return [note.removeprefix(_BEWARE) for note in notes if note.startswith(_BEWARE)]


def summarise_run(
    verdicts: Sequence[Verdict],
    *,
    limits: Limits = NO_LIMITS,
    publish: str | None = None,
    blind_over: Collection[str] = (),
    recognised: Risk | None = None,
    changed_rounds: bool = False,
    caveats: Collection[str] = (),
) -> RunSummary:
    """Give the two answers of a run.

    ``blind_over`` names the audits where even an attacker who never sees the release is over a limit;
    ``recognised`` is the answer of ``expose``, where there is a limit on people recognised, which is
    undecided without it.
    ``changed_rounds`` says that the number of rounds was changed after a result was known;
    ``caveats`` are what positive controls that were passed could not show, and what the data may be wrong in.
    """
    covered = [verdict for verdict in verdicts if publish is None or verdict.audit == publish]
    promise = _summarise_promise(covered, limits)
    counted = _counted_risks(covered, limits, blind_over)
    risk, audit = _worst_risk(counted)
    audits = tuple(dict.fromkeys(verdict.audit for verdict in covered))
    if recognised is None:
        recognised = recognised_risk(None, audits, limits, way_out=NOT_COUNTED_HERE)
    if recognised is not None and (not limits.metrics or _risk_rank(recognised) < _risk_rank(risk)):
        risk, audit = recognised, None
    code, reasons = _exit_code(covered, promise, risk, limits)
    accepted = (TOO_WEAK_TO_TEST,) if code == 0 and not promise.testable else ()
    unprotected = unprotected_words(promise, risk, covered)
    if code == 0 and promise.testable and unprotected is not None:
        accepted = (f"{WITHIN_YOUR_LIMITS} {unprotected}",)
    warnings = (
        *accepted,
        *_warnings(verdicts, covered, promise, changed_rounds),
        *dict.fromkeys(caveats),
    )
    return RunSummary(
        promise=promise,
        risk=risk,
        audit=audit,
        covers=audits,
        exit_code=code,
        reasons=reasons,
        limits=limits.table(),
        warnings=warnings,
        recognised=recognised,
        limit_results=_limit_results(counted, limits, recognised),
        assumed=_assumed_by(covered, promise, risk),
    )


def _assumed_by(verdicts: Sequence[Verdict], promise: PromiseSummary, risk: Risk) -> tuple[str, ...]:
    """The keys that nobody stated and that an answer rests on: the risk on all, the promise on no limit."""
    keys = dict.fromkeys(key for verdict in verdicts for key in verdict.assumed)
    if risk.status in (RiskStatus.OVER, RiskStatus.WITHIN):
        return tuple(keys)
    if promise.status in (Finding.VIOLATED, Finding.NOT_VIOLATED):
        return tuple(key for key in keys if not key.startswith("limits"))
    return ()


def refuted_audits(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """The audits in which an attacker refuted the stated noise distribution, with what was found."""
    found = {
        audit: why_not_as_stated([verdict for verdict in verdicts if verdict.audit == audit])
        for audit in dict.fromkeys(verdict.audit for verdict in verdicts)
    }
    return {audit: why for audit, why in found.items() if why is not None}


def recognised_risk(
    exposure: Mapping[str, Any] | None,
    audits: Collection[str],
    limits: Limits,
    refuted: Mapping[str, str] = MappingProxyType({}),
    way_out: str = RUN_EXPOSE,
) -> Risk | None:
    """Compare the share of people recognised, as ``expose`` counted them, with its limit.

    The counts of ``expose`` are exact up to a numerical error and, where what an attacker has is drawn at
    random, up to the range over the draws. Both count against the release. They rest on the stated noise
    distribution: where an audit is ``refuted``, they clear nobody.
    ``way_out`` says what to do where nobody was counted.
    """
    if limits.recognised is None:
        return None
    entries = [entry for entry in (exposure or {}).get("audits", ()) if entry["audit"] in audits]
    exposed = {entry["audit"] for entry in entries}
    uncounted = [entry for entry in entries if not _counted_in_exposure(entry, limits)]
    shares = [share for entry in entries for share in _recognised_shares(entry, limits)]
    worst = max(shares, key=lambda share: share[1], default=None)
    over = [share for share in shares if share[0] > limits.recognised]
    status, reason = RiskStatus.WITHIN, None
    if over:
        status, worst = RiskStatus.OVER, max(over, key=lambda share: share[0])
    elif missing := sorted(set(audits) - exposed):
        status = RiskStatus.UNDECIDED
        reason = f"people recognised are not counted yet for {', '.join(missing)}; {way_out}"
    elif uncounted:
        status, reason = RiskStatus.UNDECIDED, _no_counted_attacker(uncounted, limits)
    elif worst is None or not worst[1] < limits.recognised:
        status = RiskStatus.UNDECIDED
        reason = "the limit is inside the range over random draws, or inside the numerical error, of expose"
    elif wrong := [why for audit, why in refuted.items() if audit in exposed]:
        status = RiskStatus.UNDECIDED
        reason = f"expose counts people by the stated noise distribution, which does not hold: {wrong[0]}"
    return Risk(
        status=status,
        metric="recognised",
        value=None if worst is None else worst[3],
        low=None if worst is None else worst[0],
        high=None if worst is None else worst[1],
        limit=limits.recognised,
        attacker=None if worst is None else worst[2],
        scope="everybody in the data",
        reason=reason,
    )


def _recognised_shares(entry: Mapping[str, Any], limits: Limits) -> list[tuple[float, float, str, float]]:
    """The share recognised by each attacker that counts: at least, at most, who, and as it is shown."""
    people = max(1, entry["people"])
    shares = []
    for attacker in _counted_in_exposure(entry, limits):
        at_least, at_most = _people_above(attacker, limits.recognised_at)
        shown = attacker.get("recognised", {})
        same = shown.get("accuracy") == limits.recognised_at
        counted = shown["people"] if same else (at_least + at_most) / 2
        shares.append((at_least / people, at_most / people, attacker["attacker"], counted / people))
    return shares


def _counted_in_exposure(entry: Mapping[str, Any], limits: Limits) -> list[Mapping[str, Any]]:
    """The attackers of ``expose`` that count toward the limit."""
    return [one for one in entry["attackers"] if limits.counts(one["attacker"], one["attacker"])]


def _no_counted_attacker(entries: Sequence[Mapping[str, Any]], limits: Limits) -> str:
    """Say that a limit is about attackers for whom ``expose`` counted nobody, and which there are."""
    known = sorted({one["attacker"] for entry in entries for one in entry["attackers"]})
    return (
        f"the limit counts {', '.join(limits.attackers)} only, but expose counted the people recognised by "
        f"{', '.join(known) or 'nobody'} for {', '.join(entry['audit'] for entry in entries)}; name one of "
        "these in attackers, or leave attackers out"
    )


def _people_above(attacker: Mapping[str, Any], accuracy: float) -> tuple[int, int]:
    """How many people are identified with this accuracy: for certain, and at most."""
    identified = attacker["identified"]
    place = identified["accuracy"].index(round(accuracy, 2))
    return identified["at_least"][place], identified["at_most"][place]


def _summarise_promise(verdicts: Sequence[Verdict], limits: Limits) -> PromiseSummary:
    promised = [verdict for verdict in verdicts if verdict.promised is not None]
    if not promised:
        return PromiseSummary(status=NO_PROMISE)
    worst = min(
        promised,
        key=lambda verdict: (
            _WORST_FINDING_FIRST.index(verdict.finding),
            -_allowed_accuracy(verdict),
            -_shown_epsilon(verdict),
        ),
    )
    promise, finding = worst.promised or {}, worst.finding
    nominal = promise.get("nominal") or {}
    undecided = [
        verdict
        for verdict in promised
        if verdict.finding is Finding.UNDECIDED and verdict.about != "mechanism"  # then rounds cannot help
    ]
    not_compared = [reason for verdict in undecided if (reason := why_not_compared(verdict))]
    unfinished = [verdict.rounds_needed for verdict in undecided if not why_not_compared(verdict)]
    known = [rounds for rounds in unfinished if rounds is not None]
    return PromiseSummary(
        status=NO_PROMISE if finding is None else finding.value,
        strength=verdict_strength(worst, limits.metrics.get("accuracy")),
        epsilon=promise.get("epsilon"),
        delta=promise.get("delta"),
        unit=promise.get("unit"),
        nominal_epsilon=nominal.get("epsilon"),
        nominal_unit=nominal.get("unit"),
        allowed_accuracy=_allowed_accuracy(worst),
        testable=not unfinished or bool(known),
        rounds_needed=max(known, default=None),
        attacker=worst.label if finding is Finding.VIOLATED else None,
        audit=worst.audit,
        no_bound=not_compared[0] if not_compared else None,
        least_protected=promise.get("least_protected"),
    )


def _shown_epsilon(verdict: Verdict) -> float:
    epsilon = verdict.metrics.get("epsilon")
    return 0.0 if epsilon is None or epsilon.low is None else epsilon.low


def promise_strength(allowed_accuracy: float, accuracy_limit: float | None = None) -> PromiseStrength:
    """How much a promise protects that allows an attacker this accuracy."""
    if allowed_accuracy >= min(TOO_WEAK_ACCURACY, accuracy_limit or 1.0):
        return PromiseStrength.TOO_WEAK
    return PromiseStrength.WEAK if allowed_accuracy >= WEAK_ACCURACY else PromiseStrength.STRICT


def verdict_strength(verdict: Verdict, accuracy_limit: float | None = None) -> PromiseStrength:
    """How much the promise of one verdict protects, also the person of the data whom it protects least."""
    least = (verdict.promised or {}).get("least_protected") or {}
    return promise_strength(max(_allowed_accuracy(verdict), least.get("accuracy") or 0.0), accuracy_limit)


def unprotected_words(promise: PromiseSummary, risk: Risk, covered: Sequence[Verdict]) -> str | None:
    """For whom a risk is within its limits, and whom the promise does not protect; None if it protects."""
    if risk.status is not RiskStatus.WITHIN or promise.strength is not PromiseStrength.TOO_WEAK:
        return None
    if risk.metric == "recognised":
        return "for the people whom expose counted; the promise by itself is too weak to protect"
    counts = {verdict.n_targets for verdict in covered}
    number = f"{counts.pop():,} " if len(counts) == 1 and counts != {1} else ""
    targets = f"the {number}target{'' if counts == {1} else 's'} counted"
    if promise.least_protected is not None and promise.epsilon != promise.least_protected["epsilon"]:
        return f"for {targets}; the promise does not protect more active people"
    tried = "any attacker with this knowledge" if risk.scope == ANY_ATTACKER else "the attackers tried"
    return f"for {tried}; the promise by itself is too weak to protect"


def _allowed_accuracy(verdict: Verdict) -> float:
    allowed = verdict.bounds.get("accuracy")
    return 1.0 if allowed is None else allowed


def _counted_risks(
    verdicts: Sequence[Verdict], limits: Limits, blind_over: Collection[str]
) -> list[tuple[Risk, str | None]]:
    """The risks of the attackers that count, each with its audit."""

    def without_release(risk: Risk) -> Risk:
        reason = "members differ from others even without the release"
        return replace(risk, status=RiskStatus.UNDECIDED, reason=reason, rounds_needed=None)

    candidates: list[tuple[Risk, str | None]] = []
    for verdict in verdicts:
        if verdict.risk is None or is_control(verdict):
            continue
        if not limits.counts(verdict.knowledge, verdict.label) and limits.metrics:
            continue
        risk = verdict.risk
        if limits.metrics and verdict.audit in blind_over:
            risk = change_risk(risk, without_release)
        candidates.append((risk, verdict.audit))
    return candidates


def _limit_results(
    counted: Sequence[tuple[Risk, str | None]], limits: Limits, recognised: Risk | None
) -> tuple[LimitResult, ...]:
    """Every stated limit beside the attacker that does worst by it."""
    by_limit = {
        name: [(risk.by_limit[name], audit) for risk, audit in counted if name in risk.by_limit]
        for name in limits.metrics
    }
    results = [limit_result(name, *_worst_risk(known)) for name, known in by_limit.items() if known]
    people = () if recognised is None else (limit_result("recognised", recognised, None),)
    return (*results, *people)


def _worst_risk(candidates: Sequence[tuple[Risk, str | None]]) -> tuple[Risk, str | None]:
    """The worst of some risks, and its audit; of equal ones the largest value."""
    if not candidates:
        return Risk(status=RiskStatus.NO_LIMIT, reason="no attacker was counted"), None
    return min(candidates, key=lambda entry: (_risk_rank(entry[0]), -(entry[0].value or 0.0)))


def is_control(verdict: Verdict) -> bool:
    """Whether an attacker is a control: it never sees the release, and never counts."""
    domain = catalog.find_domain(verdict.domain)
    return domain is not None and verdict.knowledge in domain.controls


def _unlike_siblings(others: Sequence[Verdict], covered: Sequence[Verdict]) -> list[str]:
    """Other points of the same sweep, with a mechanism of the same name, that is not as stated there.

    A fault may be in the code that all points share, or in the statement of that point alone: which of them,
    the transcripts do not say. So it is a warning, and what is published is decided by its own tests.
    """

    def mechanism(verdict: Verdict) -> tuple[str, Any]:
        return verdict.audit.partition("@")[0], verdict.parameters.get("mechanism", {}).get("name")

    published = {mechanism(verdict) for verdict in covered}
    unlike = dict.fromkeys(
        verdict.audit
        for verdict in others
        if verdict.about == "mechanism" and mechanism(verdict) in published
    )
    known = {verdict.audit for verdict in covered if verdict.about == "mechanism" or verdict.evidence}
    return [] if known else list(unlike)


def _warnings(
    verdicts: Sequence[Verdict], covered: Sequence[Verdict], promise: PromiseSummary, changed_rounds: bool
) -> list[str]:
    """What to beware of, whatever the exit code."""
    others = [verdict for verdict in verdicts if verdict not in covered]
    violated = dict.fromkeys(verdict.audit for verdict in others if verdict.finding is Finding.VIOLATED)
    over = dict.fromkeys(
        verdict.audit for verdict in others if verdict.risk and verdict.risk.status is RiskStatus.OVER
    )
    warnings = []
    if violated:
        warnings.append(
            f"not covered, because it is not published: {', '.join(violated)} violates its promise"
        )
    if over:
        warnings.append(f"not covered, because not published: {', '.join(over)} is over a limit")
    if unlike := _unlike_siblings(others, covered):
        warnings.append(
            f"in {', '.join(unlike)}, which is not published, the mechanism is not as stated; what is "
            "published is made by the same mechanism with another setting, where no test shows it"
        )
    if changed_rounds and promise.status != NO_PROMISE:
        warnings.append(
            "the number of rounds was changed after a result was known, so the finding about the promise may "
            "be wrong more often than stated"
        )
    return warnings


def _risk_rank(risk: Risk) -> int:
    return _WORST_RISK_FIRST.index(risk.status)


def _violation_reason(verdicts: Sequence[Verdict]) -> str:
    """That a promise is violated, and what shows it besides the game, if anything does."""
    shown = [found for found in verdicts if found.finding is Finding.VIOLATED and found.evidence]
    if certain := [found.evidence for found in shown if found.certain]:
        return f"{VIOLATED}, for certain: {_clause(certain[0])}"
    return f"{VIOLATED}: {_clause(shown[0].evidence)}" if shown else VIOLATED


def _clause(sentences: Sequence[str]) -> str:
    """Sentences within one that has a full stop of its own."""
    return " ".join(sentences).removesuffix(".")


def _exit_code(
    verdicts: Sequence[Verdict], promise: PromiseSummary, risk: Risk, limits: Limits
) -> tuple[int, tuple[str, ...]]:
    """The exit code, and why; the first rule that applies decides."""
    assumed = _assumed_by(verdicts, promise, risk)
    of_noise = [key for key in assumed if not key.startswith("limits")]
    broken = [verdict for verdict in verdicts if verdict.finding is Finding.VIOLATED]
    failed: list[str] = []
    unsure: list[str] = []
    if broken:
        whatever_epsilon = any(verdict.for_any_epsilon for verdict in broken)
        (unsure if of_noise and not whatever_epsilon else failed).append(_violation_reason(verdicts))
    if risk.status is RiskStatus.OVER:
        (unsure if assumed else failed).append("the risk is over the limit")
    if failed:
        return 1, tuple(failed)
    findings = [verdict.finding for verdict in verdicts]
    all_within = limits.any_stated and risk.status is RiskStatus.WITHIN
    reasons: list[str] = []
    if assumed:
        reasons.append(f"{assumed_words(assumed)}, so nothing is decided; {STATE_ASSUMED}")
        reasons += [f"{text}, as assumed" for text in unsure]
    if Finding.UNTESTABLE in findings:
        reasons += dict.fromkeys(
            why_untestable(found)
            or "no attacker recognised anybody even in the positive control, so nothing was tested"
            for found in verdicts
            if found.finding is Finding.UNTESTABLE
        )
    if promise.rounds_needed is not None:
        reasons.append(f"too few rounds to test the promise; {promise.rounds_needed:,} are needed")
    if promise.no_bound is not None:
        reasons.append(f"the promise was not tested: {promise.no_bound}")
    if not promise.testable and not all_within:
        reasons.append(TOO_WEAK_TO_TEST)
    departures = dict.fromkeys(verdict.evidence for verdict in verdicts if verdict.about == "mechanism")
    reasons += [f"{NOT_AS_STATED}: {_clause(said)}" if said else NOT_AS_STATED for said in departures]
    channels = dict.fromkeys(name for verdict in verdicts for name in verdict.unread)
    if (unread := not_read(tuple(channels))) is not None:
        reasons.append(unread)
    if risk.status is RiskStatus.UNDECIDED and risk.reason not in reasons:
        reasons.append(f"the risk is undecided: {risk.reason}")
    if (unasked := _nothing_asked(verdicts, limits)) is not None:
        reasons.append(unasked)
    return (3 if reasons else 0), tuple(reasons)


STATE_ASSUMED = "state these keys in the plan, and delete their names from its list assumed"


def assumed_words(keys: Sequence[str]) -> str:
    """That keys of a plan were assumed, by name.

    >>> assumed_words(["mechanism.epsilon", "limits.accuracy"])
    'leakgauge assumed mechanism.epsilon and limits.accuracy'
    """
    *first, last = keys
    return f"leakgauge assumed {', '.join(first)}{' and ' if first else ''}{last}"


def _nothing_asked(verdicts: Sequence[Verdict], limits: Limits) -> str | None:
    """Say which audits have neither a promise nor a limit, unless the owner declares that none is meant."""
    if limits.none or limits.recognised is not None:
        return None
    asked = {verdict.audit for verdict in verdicts if _is_asked(verdict, limits)}
    audits = list(dict.fromkeys(verdict.audit for verdict in verdicts))
    unasked = [audit for audit in audits if audit not in asked]
    if not unasked and audits:
        return None
    which = f" of {', '.join(unasked)}" if asked else ""
    return (
        f"nothing was asked{which}: there is neither a promise nor a limit; state accuracy = 0.6 below "
        "[limits] in the plan or a policy file (in Python: limits={'accuracy': 0.6}), or none = true for "
        "research"
    )


def _is_asked(verdict: Verdict, limits: Limits) -> bool:
    """Whether a promise or a limit says what an attacker should not reach."""
    limited = bool(limits.metrics) and limits.counts(verdict.knowledge, verdict.label)
    return verdict.finding is not None or (limited and not is_control(verdict))
