"""Audits without a run folder: of a mechanism given as a function, and of scores from elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge import verdict
from leakgauge.catalog import PreparedAudit, domain_with_function_audit
from leakgauge.core.domain import Domain, FunctionAudit
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, NoControl, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.limits import NO_LIMITS, Limits, read_limits
from leakgauge.plan import MOST_ROUNDS, MetricsTable
from leakgauge.promise_tests import PromiseTest
from leakgauge.referee.conformance import Conformance
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.instrument_check import no_positive_control
from leakgauge.risk import RiskContext, assess_risk, count_comparisons
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.runner.engines import Engine, check_engine, map_in_order, open_engine
from leakgauge.runner.external_scores import read_scores, trials_from_arrays
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.positive_control import control_seed, judge_control, judge_no_control, play_control
from leakgauge.summary import RunResult, apply_controls, summarise_run
from leakgauge.support.global_rng import refuse_own_generator
from leakgauge.support.table_reader import convert_value, require_known

ROUNDS_PER_BLOCK = 1000


def audit_mechanism(
    release: Callable[[Any, np.random.Generator], Any],
    pair: tuple[Any, Any] | Sequence[tuple[Any, Any]],
    *,
    epsilon: float | None,
    delta: float = 0.0,
    rounds: int = 20_000,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
) -> verdict.Verdict:
    """Test whether a mechanism, given as a function, keeps its promise.

    The attack knows nothing about the mechanism. It learns from releases of its own which outputs distinguish
    the two inputs; then as many new releases are counted. `metrics["epsilon"].low` of the result is a lower
    bound on the true epsilon.

    A mechanism that keeps its promise with nothing to spare is found `violated` in at most a share
    `1 - confidence` of all audits, so for a test suite `confidence=0.999` is a good choice: at most one false
    alarm in 1,000 runs with different seeds. With a fixed seed a run gives the same result every time.

    Several pairs are corrected together: each is audited at an error of `(1 - confidence)` divided by the
    number of pairs, and the result is the verdict of the pair with the largest bound. Its intervals have that
    confidence, `corrected_for` is the number of pairs, and `parameters["challenger"]["pair"]` says which pair
    it is, counted from 0.

    Args:
        release: A function `release(dataset, rng)`. It may return numbers, text, arrays, data frames, images
            and more, also nested in lists and dicts; the page on first audits has the whole list. It must
            draw all noise from `rng`.
        pair: Two neighbouring inputs as a tuple: without the target and with it. Or a list of such tuples.
        epsilon: The promised epsilon; None if nothing is promised.
        delta: The promised delta.
        rounds: How many releases are counted, for each pair.
        confidence: The confidence level of the finding and of all intervals.
        seed: The seed of all random numbers.
        workers: How many processes call a slow `release` at the same time.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    whole, seed = convert_value(int, rounds, "rounds"), check_seed(seed)
    if not 1 <= whole <= MOST_ROUNDS:
        raise BadInput(f"rounds must be in 1..{MOST_ROUNDS}, got {rounds}; 20000 is usual")
    check_engine("local", workers, None)
    promise, metrics = _promise(epsilon, delta), MetricsTable(confidence=_confidence(confidence))
    if workers > 1:
        refuse_own_generator(release, "release")
    if not _several_pairs(pair):
        return _audit_pair(release, pair, promise, whole, seed, workers, metrics, {})
    if not pair:
        raise BadInput("pair: the list of pairs is empty; give at least one pair of neighbouring inputs")
    _refuse_useless_pairs(release, pair, promise, whole, seed)
    metrics = replace(metrics, confidence=1 - (1 - metrics.confidence) / len(pair))
    verdicts = [
        _audit_pair(release, one, promise, whole, seed, workers, metrics, {"pair": number})
        for number, one in enumerate(pair)
    ]
    largest = max(verdicts, key=_epsilon_bound)
    return verdict.keep_trials(
        replace(largest, corrected_for=len(pair)),
        lambda limits: replace(largest.judged_again(limits), corrected_for=len(pair)),
    )


def rounds_to_decide(
    pair: Any, *, epsilon: float, delta: float = 0.0, confidence: float = 0.95
) -> int | None:
    """In how many rounds for each pair a promise can be tested; None if in none.

    With fewer of them `audit_mechanism` finds `undecided` whatever the mechanism does.
    """
    promise, metrics = _promise(epsilon, delta), MetricsTable(confidence=_confidence(confidence))
    n_pairs = max(len(pair), 1) if _several_pairs(pair) else 1
    if promise is None:
        return None
    return PromiseTest(
        metrics=metrics, guarantee=promise, n_verdicts=n_pairs, schedule=None, trials_per_round=1.0
    ).rounds_needed


def _refuse_useless_pairs(
    release: Callable[[Any, np.random.Generator], Any],
    pairs: Sequence[tuple[Any, Any]],
    promise: Guarantee | None,
    rounds: int,
    seed: int,
) -> None:
    """Refuse a pair that cannot be audited, by its number, before the first one is."""
    _, set_up = domain_with_function_audit()
    for number, one in enumerate(pairs):
        try:
            set_up(release, one, promise, rounds, seed)
        except BadInput as error:
            raise BadInput(f"pair {number} of the list: {str(error).removeprefix('pair: ')}") from None


def _several_pairs(pair: Any) -> bool:
    """Whether these are several pairs: a list of tuples of two. Anything else has to be one pair."""
    return isinstance(pair, list) and all(isinstance(one, tuple) and len(one) == 2 for one in pair)


def _epsilon_bound(judged: verdict.Verdict) -> float:
    low = judged.metrics["epsilon"].low
    return -np.inf if low is None else low


def _audit_pair(
    release: Callable[[Any, np.random.Generator], Any],
    pair: Any,
    promise: Guarantee | None,
    rounds: int,
    seed: int,
    workers: int,
    metrics: MetricsTable,
    which: dict[str, int],
) -> verdict.Verdict:
    """Audit a mechanism on one pair of inputs."""
    domain, set_up = domain_with_function_audit()
    name = getattr(release, "__name__", type(release).__name__)
    return play_function_audit(
        domain,
        set_up(release, pair, promise, rounds, seed),
        name=name,
        challenger={"release": name, **which},
        mechanism={} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta},
        promise=promise,
        rounds=rounds,
        seed=seed,
        workers=workers,
        metrics=metrics,
    )


def play_function_audit(
    domain: Domain,
    audit: FunctionAudit,
    *,
    name: str,
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    promise: Guarantee | None,
    rounds: int,
    seed: int,
    workers: int,
    metrics: MetricsTable,
    block: int = ROUNDS_PER_BLOCK,
) -> verdict.Verdict:
    """Play an audit without a run folder; the tables are those that a plan would have."""
    label = f"{audit.attack_name}-{audit.knowledge_name}"
    subject = verdict.VerdictSubject(
        audit=name,
        domain=domain.name,
        label=label,
        attack=audit.attack_name,
        knowledge=audit.knowledge_name,
        parameters={
            "data": {},
            "challenger": challenger,
            "mechanism": mechanism,
            "attack": audit.attack_parameters,
        },
        seed=seed,
    )
    unprotected = audit.challenger.control()
    if isinstance(unprotected, NoControl) and unprotected.nothing_to_audit:
        return verdict.verdict_without_rounds(
            unprotected.reason,
            guarantee=promise,
            subject=subject,
            metrics=metrics,
            n_targets=audit.challenger.n_targets,
            coins=audit.challenger.coins,
        )
    prepared = PreparedAudit(
        audit.challenger, {label: audit.knowledge}, {label: audit.attack}, audit.challenger.digest
    )
    blocks = BlockSequence((label,), None)
    with open_engine("local", workers) as engine:
        control = _function_control(domain, audit, label, seed, engine)
        play_block = study_attacks(prepared, seed, engine)
        for played in map_in_order(engine, play_block, split_rounds(rounds, block)):
            blocks.add(played)
    trials = blocks.trials(label)
    found = verdict.judge_trials(
        trials,
        guarantee=promise,
        subject=subject,
        metrics=metrics,
        control=control,
        conformance=_conformance(domain, audit, trials, challenger, mechanism),
    )
    (found,) = verdict.mark_untestable([found], [label])
    return _with_limits(found, trials, NO_LIMITS, metrics.confidence)


def _conformance(
    domain: Domain,
    audit: FunctionAudit,
    trials: Trials,
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
) -> Conformance | None:
    """Compare the transcripts with the tables, and name what was not read; nothing where there is none."""
    unread = Conformance(unread=audit.challenger.unread) if audit.challenger.unread else None
    if domain.conformance is None or not trials.transcripts:
        return unread
    compare = domain.load(domain.conformance)
    found = compare(trials.transcripts, challenger=challenger, mechanism=mechanism, folder=Path())
    return found if unread is None else replace(found, unread=(*found.unread, *unread.unread))


def _function_control(
    domain: Domain, audit: FunctionAudit, label: str, seed: int, engine: Engine
) -> dict[str, Any]:
    """Play the positive control of a function."""
    control = audit.challenger.control()
    if isinstance(control, NoControl):
        return judge_no_control(control)

    def prepare(label: str) -> PreparedAudit:
        knowledge = domain.build_knowledge(audit.knowledge_name, {}, control, control_seed(seed))
        return PreparedAudit(control, {label: knowledge}, {label: audit.attack}, control.digest)

    return judge_control(play_control(control, prepare, [label], seed, engine)[label])


def judge(
    members: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    rounds: npt.ArrayLike | None = None,
    targets: npt.ArrayLike | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    coins: str = "given",
    seed: int = 0,
    limits: Limits | Mapping[str, Any] = NO_LIMITS,
) -> verdict.Verdict:
    """Judge the scores of any other attack.

    Args:
        members: For each trial, whether its target is a member.
        scores: For each trial, the score of the attack; higher means more likely a member.
        rounds: For each trial, the number of its release; without it every trial has a release of its own.
        targets: For each trial, the number of its target.
        epsilon: The promised epsilon; None if nothing is promised, and then there is no finding.
        delta: The promised delta.
        confidence: The confidence level of all intervals.
        coins: "fair" if each record was a member at random, with probability one half; "given" otherwise, and
            then nothing is compared with the promise.
        seed: The seed of the random numbers that the statistics need.
        limits: What the owner of the release allows, as `Limits` or as a dict such as {"accuracy": 0.6}; the
            `risk` of the verdict is about them.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    if not isinstance(limits, Limits):
        limits = read_limits(limits, "limits")
    seed, confidence = check_seed(seed), _confidence(confidence)
    trials = trials_from_arrays(members, scores, rounds, targets, convert_value(Coins, coins, "coins"))
    found = verdict.judge_trials(
        trials,
        guarantee=_promise(epsilon, delta),
        subject=verdict.VerdictSubject(
            audit="scores",
            domain="scores",
            label="scores",
            attack="unknown",
            knowledge="unknown",
            parameters={"data": {}, "challenger": {}, "mechanism": {}, "attack": {}},
            seed=seed,
        ),
        metrics=MetricsTable(confidence=confidence),
        control=no_positive_control("only scores are given, and no release can be made"),
    )
    (found,) = verdict.mark_untestable([found], [found.label])
    if targets is None:
        found = replace(found, metrics={**found.metrics, "accuracy_worst": _without_targets(confidence)})
        if "accuracy_worst" in limits.metrics:
            raise BadInput("limits.accuracy_worst: needs to know which trials are of the same target")
    return _with_limits(found, trials, limits, confidence)


def _without_targets(confidence: float) -> Estimate:
    reason = "it is not known which trials are of the same target"
    return Estimate(value=None, confidence=confidence, method="none", reason=reason)


def _with_limits(
    found: verdict.Verdict, trials: Trials, limits: Limits, confidence: float
) -> verdict.Verdict:
    """Add how the attacker compares with limits; the verdict can be judged by others again."""
    judged = _with_risk(found, trials, limits, confidence)
    return verdict.keep_trials(judged, lambda other: _with_limits(found, trials, other, confidence))


def _with_risk(found: verdict.Verdict, trials: Trials, limits: Limits, confidence: float) -> verdict.Verdict:
    """Add how the success of the one attacker compares with limits."""
    risk = assess_risk(
        trials,
        found.metrics,
        limits=limits,
        attacker=found.label,
        counted=limits.counts(found.knowledge, found.label),
        n_rounds=found.rounds,
        context=RiskContext(confidence=confidence, comparisons=count_comparisons(limits, 1)),
    )
    return apply_controls([replace(found, risk=risk)])[0]


def _promise(epsilon: float | None, delta: float) -> Guarantee | None:
    delta = convert_value(float, delta, "delta")
    if epsilon is None and delta != 0:
        raise BadInput(f"delta = {delta:g} needs an epsilon; give epsilon too, or leave delta out")
    if epsilon is None:
        return None
    guarantee = Guarantee(epsilon=convert_value(float, epsilon, "epsilon"), delta=delta)
    if guarantee.epsilon > 1e6:
        raise BadInput(
            f"epsilon = {epsilon:g} promises nothing, so nothing could violate it; give the epsilon that is "
            "promised, or leave it out (in Python: epsilon=None)"
        )
    return guarantee


def check_seed(seed: int) -> int:
    """Refuse what is no seed."""
    whole: int = convert_value(int, seed, "seed")
    if not 0 <= whole < 2**63:
        raise BadInput(f"seed must be in 0..2^63-1, got {whole}")
    return whole


def _confidence(confidence: float) -> float:
    return convert_value(float, confidence, "confidence")


def judge_file(path: Path, *, limits: Limits | None = None, **settings: Any) -> RunResult:
    """Judge the scores in a CSV file against a promise and against limits."""
    table = read_scores(path)
    try:
        found = judge(
            table.members,
            table.scores,
            rounds=table.rounds,
            targets=table.targets,
            limits=limits or NO_LIMITS,
            **settings,
        )
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    limits = limits or NO_LIMITS
    for name in limits.attackers:
        require_known(name, [found.label, found.knowledge], f"{path}: limits.attackers: no attacker here")
    return RunResult((found,), summarise_run([found], limits=limits))
