"""Audits without a run folder: of a mechanism given as a function, and of scores from elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge import verdict
from leakgauge.catalog import PreparedAudit, domain_with_function_audit
from leakgauge.core.domain import Domain, FunctionAudit
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, NoControl
from leakgauge.core.guarantee import Guarantee
from leakgauge.plan import MetricsTable
from leakgauge.referee.instrument_check import no_positive_control
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.runner.engines import Engine, map_in_order, open_engine
from leakgauge.runner.external_scores import read_scores, trials_from_arrays
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.positive_control import control_seed, judge_control, judge_no_control, play_control
from leakgauge.support.global_rng import refuse_own_generator
from leakgauge.support.table_reader import convert_value
from leakgauge.verdict import Verdict, VerdictSubject

ROUNDS_PER_BLOCK = 1000


def audit_mechanism(
    release: Callable[[Any, np.random.Generator], Any],
    pair: tuple[Any, Any],
    *,
    epsilon: float | None,
    delta: float = 0.0,
    rounds: int = 20_000,
    seed: int = 0,
    workers: int = 1,
) -> Verdict:
    """Test whether a mechanism, given as a function, keeps its promise.

    The attack knows nothing about the mechanism. It learns from releases of its own which outputs distinguish
    the two inputs; then as many new releases are counted. `metrics["epsilon"].low` of the result is a lower
    bound on the true epsilon.

    Args:
        release: A function `release(dataset, rng)` that returns a number, a vector, a string, None, or a dict
            of them. It must draw all noise from `rng`.
        pair: Two neighbouring inputs: without the target and with it.
        epsilon: The promised epsilon; None if nothing is promised.
        delta: The promised delta.
        rounds: How many releases are counted.
        seed: The seed of all random numbers.
        workers: How many processes call a slow `release` at the same time.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    whole, seed = convert_value(int, rounds, "rounds"), convert_value(int, seed, "seed")
    if not whole >= 1:
        raise BadInput(f"rounds must be >= 1, got {rounds}; 20000 is usual")
    if not 0 <= seed < 2**63:
        raise BadInput(f"seed must be in 0..2^63-1, got {seed}")
    promise = _promise(epsilon, delta)
    if workers > 1:
        refuse_own_generator(release, "release")
    domain, set_up = domain_with_function_audit()
    audit = set_up(release, pair, promise, whole, seed)
    label = f"{audit.attack_name}-{audit.knowledge_name}"
    prepared = PreparedAudit(
        audit.challenger, {label: audit.knowledge}, {label: audit.attack}, audit.challenger.digest
    )
    blocks = BlockSequence((label,), None)
    with open_engine("local", workers) as engine:
        control = _function_control(domain, audit, label, seed, engine)
        play_block = study_attacks(prepared, seed, engine)
        for trials in map_in_order(engine, play_block, split_rounds(whole, ROUNDS_PER_BLOCK)):
            blocks.add(trials)
    name = getattr(release, "__name__", type(release).__name__)
    judged = verdict.judge_trials(
        blocks.trials(label),
        guarantee=promise,
        subject=VerdictSubject(
            audit=name,
            domain=domain.name,
            label=label,
            attack=audit.attack_name,
            knowledge=audit.knowledge_name,
            parameters={
                "data": {},
                "challenger": {"release": name},
                "mechanism": {} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta},
                "attack": audit.attack_parameters,
            },
            seed=seed,
        ),
        metrics=MetricsTable(),
        control=control,
    )
    return verdict.mark_untestable([judged], [label])[0]


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
    coins: str = "fair",
    seed: int = 0,
) -> Verdict:
    """Judge the scores of any other attack.

    Args:
        members: For each trial, whether its target is a member.
        scores: For each trial, the score of the attack; higher means more likely a member.
        rounds: For each trial, the number of its release; without it every trial has a release of its own.
        targets: For each trial, the number of its target.
        epsilon: The promised epsilon; None if nothing is promised, and then there is no finding.
        delta: The promised delta.
        confidence: The confidence level of all intervals.
        coins: "fair" if membership was decided by independent fair coins, else "given".
        seed: The seed of the random numbers that the statistics need.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    trials = trials_from_arrays(members, scores, rounds, targets, convert_value(Coins, coins, "coins"))
    judged = verdict.judge_trials(
        trials,
        guarantee=_promise(epsilon, delta),
        subject=VerdictSubject(
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
    return verdict.mark_untestable([judged], ["scores"])[0]


def _promise(epsilon: float | None, delta: float) -> Guarantee | None:
    if epsilon is None:
        return None
    return Guarantee(
        epsilon=convert_value(float, epsilon, "epsilon"), delta=convert_value(float, delta, "delta")
    )


def judge_file(path: Path, **settings: Any) -> Verdict:
    """Judge the scores in a CSV file."""
    table = read_scores(path)
    try:
        return judge(table.members, table.scores, rounds=table.rounds, targets=table.targets, **settings)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
