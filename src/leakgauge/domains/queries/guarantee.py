"""The guarantee of an oracle for one record or one person, over all its answers."""

import math
from dataclasses import replace
from functools import lru_cache

from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, Relation, Unit
from leakgauge.domains.queries.oracle import MOST_ANSWERS, OracleNoise, OracleRules
from leakgauge.mechanisms import opendp
from leakgauge.mechanisms._additive import AdditiveNoise
from leakgauge.theory import composition
from leakgauge.theory.loss_composition import tightest_epsilon

SLACK = 1e-5  # delta added by the composition, besides the delta of the answers


def oracle_guarantee(
    rules: OracleRules, stated: float | None, *, without_sessions: bool = False
) -> Guarantee | None:
    """Return the guarantee for one record or person: of all answers, where refusals bound their number.

    Otherwise (no budget, or an accountant whose refusals depend on the data) there is none, unless the owner
    has ``stated`` an epsilon. A service ``without_sessions`` refuses nothing: there the stated epsilon is
    that of the answers of a round together, and their noise distribution gives the exact curve.
    """
    if rules.bounded:
        assert rules.most_answers is not None
        return guarantee_of_answers(rules.noise, rules.most_answers, rules.unit, rules.delta)
    if stated is None:
        return None
    answer = rules.noise.guarantee
    n_answers = rules.answers_within(stated) if answer.epsilon > 0 else 0
    if without_sessions and 1 <= n_answers <= MOST_ANSWERS:
        return replace(guarantee_of_answers(rules.noise, n_answers, delta=rules.delta), epsilon=stated)
    return Guarantee(
        epsilon=stated,
        delta=rules.composed_at,
        unit=rules.unit,
        relation=Relation.ADD_REMOVE,
        sensitivity=answer.sensitivity,
        nominal_epsilon=answer.nominal_epsilon or answer.epsilon,
        nominal_unit=rules.unit,
    )


def guarantee_of_answers(
    noise: OracleNoise, n_answers: int, unit: Unit = Unit.RECORD, delta: float | None = None
) -> Guarantee:
    """Compose ``n_answers`` answers about one unit tightly, each changed by the full sensitivity.

    The nominal epsilon is that of one answer; the delta that of the noise, unless another is stated.
    """
    if isinstance(noise, opendp.Mechanism):
        return _of_measurements(noise, n_answers, unit)
    answer, moved = noise.guarantee, [(noise.sensitivity, n_answers)]
    answer = answer if delta is None else replace(answer, delta=delta)
    epsilon, best = noise.epsilon_at(moved, answer.delta), noise.best_attack(moved)
    return replace(
        answer,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=None if best is None else best.high,
        relation=Relation.ADD_REMOVE,
        unit=unit,
        nominal_epsilon=answer.nominal_epsilon or answer.epsilon,
        nominal_unit=unit,
        composed=_composed(noise, n_answers),
    )


def _of_measurements(noise: opendp.Mechanism, n_answers: int, unit: Unit) -> Guarantee:
    """Compose answers by the measurement's privacy map, and by the stated noise distribution for comparison.

    The curve of the distribution belongs to the guarantee only where the distribution supports exactly the
    epsilon of the map.
    """
    total = noise.price.times(n_answers)
    by_law = guarantee_of_answers(noise.law_at(total.delta), n_answers, unit)
    explained = noise.explained
    return replace(
        by_law,
        epsilon=total.epsilon,
        delta=total.delta,
        nominal_epsilon=noise.price.epsilon,
        curve=by_law.curve if explained else None,
        composed=by_law.composed if explained else None,
    )


def _composed(noise: AdditiveNoise, n_answers: int) -> ComposedGuarantee:
    """Compose answers by the guarantee of each and by the noise distribution, at a delta with slack."""
    known = composition.with_slack(noise.guarantee, n_answers, SLACK)
    tight = noise.epsilon_at([(noise.sensitivity, n_answers)], known.delta)
    return ComposedGuarantee(
        parts=n_answers, delta=known.delta, kairouz=known.epsilon, tight=min(tight, known.epsilon)
    )


@lru_cache(maxsize=256)
def least_epsilon(noise: OracleNoise, n_answers: int, delta: float) -> float:
    """Return an epsilon that answers about one record have at least, however tightly they are composed.

    It is 0 where none is known for certain, as for an OpenDP measurement that no distribution explains.
    """
    if n_answers == 0:
        return 0.0
    if isinstance(noise, opendp.Mechanism):
        return least_epsilon(noise.law_at(delta), n_answers, delta) if noise.explained else 0.0
    least = tightest_epsilon(noise, n_answers, delta).low
    return least if math.isfinite(least) else 0.0
