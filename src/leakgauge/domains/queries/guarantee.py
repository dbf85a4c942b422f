"""What an oracle promises to a record, however many questions are asked."""

from dataclasses import replace

import numpy as np

from leakgauge.core.guarantee import ComposedGuarantee, Guarantee, Relation, TradeoffCurve, Unit
from leakgauge.domains.queries.oracle_rules import OracleNoise, OracleRules
from leakgauge.mechanisms import gaussian, geometric, opendp
from leakgauge.theory import composition, gdp, loss_composition, privacy_loss, tradeoff

SLACK = 1e-5  # of delta, beyond what the answers give up themselves


def oracle_guarantee(rules: OracleRules, stated: float | None) -> Guarantee | None:
    """The promise to a record: that of all answers about it, where refusals bound their number.

    Where they do not (no budget, or an accountant whose refusals depend on the data), there is none, unless
    the owner has ``stated`` an epsilon.
    """
    if rules.bounded:
        assert rules.most_answers is not None
        return guarantee_of_answers(rules.noise, rules.most_answers)
    if stated is None:
        return None
    one = rules.noise.guarantee
    return Guarantee(
        epsilon=stated,
        delta=one.delta,
        unit=Unit.RECORD,
        relation=Relation.ADD_REMOVE,
        sensitivity=one.sensitivity,
        nominal_epsilon=one.nominal_epsilon or one.epsilon,
        nominal_unit=Unit.RECORD,
    )


def guarantee_of_answers(noise: OracleNoise, n_answers: int) -> Guarantee:
    """So many answers about one record, each moved by as much as a record can: tight composition.

    The nominal epsilon is that of one answer.
    """
    if isinstance(noise, opendp.Mechanism):
        return _of_measurements(noise, n_answers)
    one = noise.guarantee
    if isinstance(noise, gaussian.Mechanism):
        mu = float(np.sqrt(n_answers)) * noise.sensitivity / noise.noise_scale
        epsilon = gdp.epsilon_at(mu, noise.delta)
    else:
        epsilon = n_answers * one.epsilon
    curve = _curve(noise, n_answers)
    return replace(
        one,
        epsilon=epsilon,
        exact_epsilon=epsilon,
        curve=curve,
        relation=Relation.ADD_REMOVE,
        unit=Unit.RECORD,
        nominal_epsilon=one.nominal_epsilon or one.epsilon,
        nominal_unit=Unit.RECORD,
        composed=_composed(noise, n_answers, curve),
    )


def _of_measurements(noise: opendp.Mechanism, n_answers: int) -> Guarantee:
    """So many answers, each at the price of the measurement's map; the law stands beside it.

    The law's curve is the whole promise where the law supports just what the map promises, and no part of it
    where the map promises more or less.
    """
    total = noise.price.times(n_answers)
    by_law = guarantee_of_answers(noise.law_at(total.delta), n_answers)
    explained = noise.explained
    return replace(
        by_law,
        epsilon=total.epsilon,
        delta=total.delta,
        nominal_epsilon=noise.price.epsilon,
        curve=by_law.curve if explained else None,
        composed=by_law.composed if explained else None,
    )


def _composed(noise: OracleNoise, n_answers: int, curve: TradeoffCurve) -> ComposedGuarantee:
    known = composition.with_slack(noise.guarantee, n_answers, SLACK)
    if isinstance(noise, gaussian.Mechanism):
        mu = float(np.sqrt(n_answers)) * noise.sensitivity / noise.noise_scale
        tight = gdp.epsilon_at(mu, known.delta)
    else:
        tight = tradeoff.epsilon_at(curve, known.delta)
    return ComposedGuarantee(
        parts=n_answers, delta=known.delta, kairouz=known.epsilon, tight=min(tight, known.epsilon)
    )


def _curve(noise: OracleNoise, n_answers: int) -> TradeoffCurve:
    """The best attack on so many answers, never below the exact one."""
    if isinstance(noise, gaussian.Mechanism):
        return gdp.curve(float(np.sqrt(n_answers)) * noise.sensitivity / noise.noise_scale)
    if isinstance(noise, geometric.Mechanism):
        worst = privacy_loss.GeometricCell(1 / noise.noise_scale, int(noise.sensitivity))
        return loss_composition.best_attack([(worst, n_answers)]).high
    return loss_composition.best_attack(
        [(privacy_loss.LaplaceCell(noise.sensitivity / noise.noise_scale), n_answers)]
    ).high
