"""The risk of one setting before it is confirmed: computed where that is possible, else simulated.

Nothing here decides about a release. Simulated releases of the search have a seed of their own, so that those
by which a setting is confirmed are new.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure
from leakgauge.core.game import Challenger, Coins, Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.limits import Limits, metrics_under_limit
from leakgauge.parameter_search.dimensions import Setting, with_setting
from leakgauge.plan import Audit, Contender, Plan
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.metric_evaluation import evaluate_rate, rate_metrics
from leakgauge.risk import Risk, RiskContext, RiskStatus, assess_risk
from leakgauge.runner.block_store import split_rounds
from leakgauge.runner.early_stop import BlockSequence
from leakgauge.runner.engines import Engine, map_in_order
from leakgauge.runner.play_block import study_attacks
from leakgauge.theory.metric_bounds import metric_bounds

ANY_ATTACKER, COMPUTED, SIMULATED = "any attacker", "computed", "simulated"
RECOGNISED = "recognised"
_SEARCH = 1_000_003  # a block of the stream of ties that nothing else uses


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """The risk of one setting, as the search knows it.

    Attributes:
        setting: The value of each varied key.
        metric: The limited metric that is closest to its limit, or furthest above.
        value: Its value for the strongest attacker.
        limit: Its limit.
        excess: How far it is above the limit; of simulated releases, how far its upper confidence bound is.
        rate_excess: The same over the limits on attackers alone, without that on people recognised, which no
            simulated release decides.
        attacker: Whose success it is.
        basis: How it is known: computed for any attacker, computed for these attackers, or simulated.
        error: How precisely the value is known.
        utility: How useful the release is, by name.
    """

    setting: Setting
    metric: str
    value: float
    limit: float
    excess: float
    rate_excess: float
    attacker: str
    basis: str
    error: float = 0.0
    utility: dict[str, float] | None = None


def search_seed(seed: int) -> int:
    """The seed of releases that are simulated for the search; none of them is one of a counted round.

    >>> search_seed(7) == search_seed(7) != search_seed(8)
    True
    """
    return int(stream(seed, Role.TIES, _SEARCH).integers(2**62))


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskAssessor:
    """Assesses settings of one audit; ``confidence`` is that at which a setting will be confirmed."""

    plan: Plan
    audit: Audit
    confidence: float
    engine: Engine
    show_message: Callable[[str], None] = lambda _: None
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        return self.plan.limits

    @property
    def counted(self) -> list[Contender]:
        """The attackers whose success counts."""
        controls = catalog.get_domain(self.audit.domain).controls
        return [
            contender
            for contender in self.audit.contenders
            if contender.knowledge not in controls
            and self.limits.counts(contender.knowledge, contender.label)
        ]

    def challenger(self, setting: Setting) -> Challenger[Any]:
        """Build the challenger of a setting; the last one is kept."""
        audit, key = with_setting(self.audit, setting), repr(sorted(setting.items()))
        if self._kept.get("key") != key:
            with catalog.audit_error_context(self.audit, self.plan):
                made = catalog.build_challenger(audit, self.plan, audit.contenders)
            self._kept.update(key=key, challenger=made)
        return self._kept["challenger"]

    def for_any_attacker(self, setting: Setting) -> Assessment | None:
        """The risk by the exact noise distribution, which nobody exceeds; nothing where none is known."""
        if not self.limits.metrics:
            return None
        challenger = self.challenger(setting)
        guarantee = challenger.guarantee
        if guarantee is None or guarantee.curve is None or challenger.coins is not Coins.FAIR:
            return None
        bounds = metric_bounds(guarantee, LOW_FPRS)
        if not set(self.limits.metrics) <= set(bounds):
            return None
        values = {name: (bounds[name], 0.0, "any attacker") for name in self.limits.metrics}
        return self._worst(setting, values, ANY_ATTACKER)

    def for_these_attackers(self, setting: Setting) -> Assessment | None:
        """The risk to the targets of the plan as ``expose`` computes it; nothing where it cannot be."""
        spec = catalog.get_domain(self.audit.domain).exposure
        if spec is None:
            return None
        names = {contender.knowledge for contender in self.counted}
        found: Sequence[AdversaryExposure] | None = ()
        if self.limits.metrics:
            found = self._exposures(setting, _strongest(names, spec.attackers), everyone=False)
        if found is None:
            return None
        values = {}
        for name in self.limits.metrics:
            each = [(value, one) for one in found if (value := one.limited(name)) is not None]
            if not each:
                return None
            value, strongest = max(each, key=lambda entry: entry[0])
            values[name] = (value, strongest.error, strongest.adversary)
        return self._worst(setting, values, COMPUTED)

    def _worst(
        self, setting: Setting, values: dict[str, tuple[float, float, str]], basis: str
    ) -> Assessment | None:
        """The assessment of the metric closest to its limit; people recognised are counted too."""
        limits = dict(self.limits.metrics)
        rates = [value + error - limits[name] for name, (value, error, _) in values.items()]
        if self.limits.recognised is not None:
            recognised = self._share_recognised(setting)
            if recognised is None:
                return None
            values, limits = (
                {**values, RECOGNISED: recognised},
                {**limits, RECOGNISED: self.limits.recognised},
            )
        worst = max(values, key=lambda name: values[name][0] + values[name][1] - limits[name])
        value, error, attacker = values[worst]
        return Assessment(
            setting=dict(setting),
            metric=worst,
            value=value,
            limit=limits[worst],
            excess=value + error - limits[worst],
            rate_excess=max(rates, default=-1.0),
            attacker=attacker,
            basis=basis,
            error=error,
            utility=self.challenger(setting).utility,
        )

    def _share_recognised(self, setting: Setting) -> tuple[float, float, str] | None:
        spec = catalog.get_domain(self.audit.domain).exposure
        if spec is None:
            return None
        counted = [name for name in spec.attackers if self.limits.counts(name, name)]
        found = self._exposures(setting, tuple(counted[:1]), everyone=True)
        if not found:
            return None
        (one,) = found
        shares = np.mean(one.accuracies + one.error >= self.limits.recognised_at, axis=1)
        return float(shares.max()), 0.0, one.adversary

    def _exposures(
        self, setting: Setting, attackers: tuple[str, ...], *, everyone: bool
    ) -> Sequence[AdversaryExposure] | None:
        domain = catalog.get_domain(self.audit.domain)
        if domain.exposure is None or domain.exposure.computed is None or not attackers:
            return None
        compute = domain.load(domain.exposure.computed)
        found: Sequence[AdversaryExposure] | None = compute(
            self.challenger(setting), attackers, everyone=everyone
        )
        return found

    def simulate(self, setting: Setting) -> Assessment:
        """Simulate releases with the seed of the search, until the limits are decided or rounds are over."""
        audit = with_setting(self.audit, setting)
        prepared = catalog.prepare_audit(audit, self.plan)
        seed, labels = search_seed(self.plan.seed), tuple(one.label for one in self.counted)
        sequence = BlockSequence(tuple(one.label for one in audit.contenders), None)
        play_block = study_attacks(prepared, seed, self.engine, self.show_message)
        blocks, risks = split_rounds(audit.rounds, audit.block), []
        for first in range(0, len(blocks), self.engine.workers):
            for played in map_in_order(self.engine, play_block, blocks[first : first + self.engine.workers]):
                sequence.add(played)
            self.show_message(
                f"simulated {sum(len(block.rounds) for block in blocks[: first + 1]):,} releases"
            )
            risks = [self._risk(sequence.trials(one.label), one, prepared.challenger) for one in self.counted]
            if _is_decided(risks):
                break
        utility = {**(prepared.challenger.utility or {}), **_mean_utility(sequence.trials(labels[0]))}
        return self._with_recognised(_simulated(setting, risks, utility or None))

    def _with_recognised(self, simulated: Assessment) -> Assessment:
        """The same, unless the share of people recognised is further above its limit."""
        if (limit := self.limits.recognised) is None:
            return simulated
        if (found := self._share_recognised(simulated.setting)) is None:
            raise BadInput(
                "recognised: people cannot be counted here without training; limit accuracy instead"
            )
        share, _, attacker = found
        if share - limit <= simulated.excess:
            return simulated
        return replace(
            simulated,
            metric=RECOGNISED,
            value=share,
            limit=limit,
            excess=share - limit,
            attacker=attacker,
            error=0.0,
        )

    def _risk(self, trials: Trials, contender: Contender, challenger: Challenger[Any]) -> Risk:
        names = {name for limit in self.limits.metrics for name in (*metrics_under_limit(limit)[0], limit)}
        level = 2 * self.confidence - 1  # of an interval whose upper end has this confidence
        estimates = {
            name: evaluate_rate(rate_metrics()[name](confidence=level), trials, level) for name in names
        }
        return assess_risk(
            trials,
            estimates,
            limits=self.limits,
            attacker=contender.label,
            counted=True,
            n_rounds=int(np.unique(trials.rounds).size),
            context=RiskContext(
                confidence=self.confidence,
                overfitted=contender.knowledge in challenger.overfitted_knowledge,
                understated=challenger.understated_knowledge.get(contender.knowledge),
            ),
        )


def _strongest(names: set[str], computed: Sequence[str]) -> tuple[str, ...]:
    """Whose success to compute: the strongest of these attackers, and of others one who knows more."""
    known = [name for name in computed if name in names]
    if not names <= set(computed):
        return tuple(computed[:1])
    return tuple(known[:1]) if known[:1] == list(computed[:1]) else tuple(known)


def _is_decided(risks: Sequence[Risk]) -> bool:
    over = any(risk.status is RiskStatus.OVER for risk in risks)
    return over or all(risk.status is RiskStatus.WITHIN for risk in risks)


def _simulated(setting: Setting, risks: Sequence[Risk], utility: dict[str, float] | None) -> Assessment:
    """The assessment of the attacker whose upper bound is furthest above its limit."""
    known = [risk for risk in risks if risk.value is not None and risk.limit is not None]
    if len(known) < len(risks) or not risks:
        reason = next((risk.reason for risk in risks if risk.value is None), None) or "no attacker counts"
        raise BadInput(f"the risk could not be estimated: {reason}")
    worst = max(known, key=_bound_above_limit)
    assert worst.value is not None
    assert worst.limit is not None
    return Assessment(
        setting=dict(setting),
        metric=worst.metric or "",
        value=worst.value,
        limit=worst.limit,
        excess=_bound_above_limit(worst),
        rate_excess=_bound_above_limit(worst),
        attacker=worst.attacker or "",
        basis=SIMULATED,
        error=(1.0 if worst.high is None else worst.high) - worst.value,
        utility=utility,
    )


def _bound_above_limit(risk: Risk) -> float:
    return (1.0 if risk.high is None else risk.high) - (risk.limit or 0.0)


def _mean_utility(trials: Trials) -> dict[str, float]:
    """The mean over releases of each number on utility."""
    _, first = np.unique(trials.rounds, return_index=True)
    columns = {name: column[first] for name, column in trials.utility.items()}
    return {name: float(np.nanmean(column)) for name, column in columns.items() if not np.isnan(column).all()}
