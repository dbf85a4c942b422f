"""Likelihood ratios of a noisy mean: the noise distribution around sums that are known or simulated."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.game import Mechanism, Reading, Scorer
from leakgauge.domains.models.noisy_mean.knowledge import (
    ComponentsMeanKnowledge,
    NoisyMeansView,
    ReferenceMeanKnowledge,
    StrongMeanKnowledge,
)
from leakgauge.domains.models.property_inference import mixture_ratio

LOG_RATIO_READING = Reading(threshold=0.0, signed=True)
_MAX_DISTINCT, _BINS = 64, 32  # more different values than the first are binned


@dataclass(frozen=True, eq=False)
class NoisySumDistribution:
    """The distribution of a noisy sum: noise on one of several sums, which have weights."""

    sums: Reals
    weights: Reals
    noise: Mechanism

    def log(self, outputs: Reals) -> Reals:
        terms = self.noise.log_law(outputs[:, None], self.sums[None, :]) + np.log(self.weights)
        return np.logaddexp.reduce(terms, axis=1)


def noisy_sum_distribution(imagined: Reals, noise: Mechanism) -> NoisySumDistribution:
    """Noise on sums that are equally likely."""
    sums, counts = np.unique(imagined, return_counts=True)
    return NoisySumDistribution(sums, counts / imagined.size, noise)


@dataclass(frozen=True, eq=False)
class MembershipLogRatios:
    """For each target the distributions of the sum with it and without it."""

    distributions: tuple[tuple[NoisySumDistribution, NoisySumDistribution], ...]

    def __call__(self, view: NoisyMeansView, rng: Generator) -> Reals:
        return np.column_stack(
            [inside.log(view.sums) - outside.log(view.sums) for inside, outside in self.distributions]
        )


def strong_likelihood_ratio(knowledge: StrongMeanKnowledge) -> Scorer[NoisyMeansView]:
    """Of the sum with the target against the sum with its substitute."""
    inside, outside = (
        noisy_sum_distribution(np.array([knowledge.others + value]), knowledge.noise)
        for value in (knowledge.target, knowledge.substitute)
    )
    return Scorer(MembershipLogRatios(((inside, outside),)), LOG_RATIO_READING)


def reference_likelihood_ratio(
    knowledge: ReferenceMeanKnowledge, imagined: int, rng: Generator
) -> Scorer[NoisyMeansView]:
    """For each target, of sums with it against sums without it; the other values are simulated."""
    own, n = knowledge.values, knowledge.n_members
    distributions = []
    for number, value in enumerate(knowledge.targets):
        rest = np.delete(knowledge.targets, number)
        coins = rng.random((imagined, rest.size)) < 0.5
        taken = np.full(imagined, rest.size) if knowledge.empty else coins.sum(axis=1)
        others = np.array([rng.choice(own, n - 1 - slots).sum() for slots in taken]) + coins @ rest
        absent = np.zeros(imagined) if knowledge.empty else rng.choice(own, imagined)
        distributions.append(
            (
                noisy_sum_distribution(others + value, knowledge.noise),
                noisy_sum_distribution(others + absent, knowledge.noise),
            )
        )
    return Scorer(MembershipLogRatios(tuple(distributions)), LOG_RATIO_READING)


def components_likelihood_ratio(
    knowledge: ComponentsMeanKnowledge, imagined: int, rng: Generator
) -> Scorer[NoisyMeansView]:
    """That a record is of the members' component, from the distribution of the sum in each component."""
    whole, rest = (
        tuple(
            noisy_sum_distribution(_sums_of_rows(own, n, imagined, rng), knowledge.noise)
            for own in knowledge.components
        )
        for n in (knowledge.n_members, knowledge.n_members - 1)
    )
    return Scorer(MixtureLogRatios(whole, rest, value_distributions(knowledge.components)), LOG_RATIO_READING)


@dataclass(frozen=True, eq=False)
class ValueDistributions:
    """How often each value, or range of values, occurs in each component."""

    edges: Reals
    logs: Reals  # values x components

    def __call__(self, values: Reals) -> Reals:
        return self.logs[np.searchsorted(self.edges, values)]


def value_distributions(components: tuple[Reals, ...]) -> ValueDistributions:
    """Count the values of each component; a new value counts as the nearest known one."""
    together = np.concatenate(components)
    distinct = np.unique(together)
    if distinct.size > _MAX_DISTINCT:
        edges = np.unique(np.quantile(together, np.linspace(0, 1, _BINS + 1)[1:-1]))
    else:
        edges = (distinct[1:] + distinct[:-1]) / 2
    counts = [
        np.bincount(np.searchsorted(edges, own), minlength=edges.size + 1) / own.size for own in components
    ]
    with np.errstate(divide="ignore"):  # a value that a component does not have excludes it
        return ValueDistributions(edges, np.log(np.column_stack(counts)))


@dataclass(frozen=True, eq=False)
class MixtureLogRatios:
    """Combines the component of the sum with the component of the value."""

    sums: tuple[NoisySumDistribution, ...]  # one for each component
    sums_without_one: tuple[NoisySumDistribution, ...]  # of all members but the record in question
    values: ValueDistributions

    def __call__(self, view: NoisyMeansView, rng: Generator) -> Reals:
        of_model = np.column_stack([distribution.log(view.sums) for distribution in self.sums])
        with_record = np.stack(
            [
                np.column_stack(
                    [distribution.log(view.sums - value) for distribution in self.sums_without_one]
                )
                for value in view.shown.T
            ],
            axis=1,
        )
        return mixture_ratio(of_model[:, None, :], self.values(view.shown), with_record)


def _sums_of_rows(own: Reals, n: int, imagined: int, rng: Generator) -> Reals:
    """Sums of n of these rows; with replacement only where there are too few."""
    if (own == own[0]).all():
        return np.array([n * own[0]])
    return np.array([rng.choice(own, n, replace=own.size < n).sum() for _ in range(imagined)])
