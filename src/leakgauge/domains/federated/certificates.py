"""Certificates of crafted neurons: bounds on how often they are active, from new draws of the noise.

Bounds on the value of a neuron hold over all rows in a box.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import feature_distributions, network, perturbed_rows
from leakgauge.domains.federated.release import ClientTraining
from leakgauge.support.parallel import parallel_map
from leakgauge.theory import hoeffding_certificate

UnitIndices: TypeAlias = npt.NDArray[np.intp]

CERTIFICATE_ERROR = 1e-8  # error probability of each bound (delta of Nguyen et al.)
DRAWS = 4_000  # of the perturbed target (Nguyen et al., section 5)


def value_range(crafted: network.CraftedNeuron, low: Reals, high: Reals) -> tuple[float, float]:
    """Return bounds on the value over all rows in a box, one interval per feature; ends may be infinite.

    The range of all units of one feature is exact: their sum is piecewise linear in that feature, so its
    extremes are at a corner or at an end. For units of many features it is a bound, by intervals or by linear
    relaxation (Zhang et al. 2018), whichever is narrower.
    """
    used = crafted.first != 0
    single = used.sum(axis=1) == 1
    least, most = _range_of_many_features(crafted, ~single, low, high)
    for place, units in _units_by_feature(used, single):
        lower, upper = _range_of_one_feature(crafted, units, place, low[place], high[place])
        least, most = least + lower, most + upper
    return least + crafted.bias, most + crafted.bias


def _units_by_feature(used: Bits, single: Bits) -> list[tuple[int, UnitIndices]]:
    units = np.flatnonzero(single)
    features = used[units].argmax(axis=1) if units.size else units
    order = np.argsort(features, kind="stable")
    cuts = np.flatnonzero(np.diff(features[order])) + 1
    groups = [group for group in np.split(order, cuts) if group.size]
    return [(int(features[group[0]]), units[group]) for group in groups]


def _range_of_one_feature(
    crafted: network.CraftedNeuron, units: UnitIndices, place: int, low: float, high: float
) -> tuple[float, float]:
    """Return the exact range of the sum of the units of one feature."""
    slopes, biases, weights = (
        part.astype(np.float64)
        for part in (crafted.first[units, place], crafted.first_bias[units], crafted.second[units])
    )
    corners = np.clip(-biases / slopes, low, high)
    ends = [end for end in (low, high) if np.isfinite(end)]
    points = np.concatenate([corners, ends])
    values = np.maximum(np.outer(points, slopes) + biases, 0) @ weights
    least, most = float(values.min()), float(values.max())
    for direction, end in ((-1, low), (1, high)):
        if np.isinf(end):
            # fsum: slopes that cancel must sum to exactly zero.
            rise = fsum((direction * weights * slopes)[direction * slopes > 0])
            least, most = (least, np.inf) if rise > 0 else (-np.inf, most) if rise < 0 else (least, most)
    return least, most


def _range_of_many_features(
    crafted: network.CraftedNeuron, units: Bits, low: Reals, high: Reals
) -> tuple[float, float]:
    """Return bounds on the sum of units that use several features, or none."""
    matrix, biases, weights = (
        part[units].astype(np.float64) for part in (crafted.first, crafted.first_bias, crafted.second)
    )
    if not weights.any():
        return 0.0, 0.0
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return -np.inf, np.inf
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    lows, highs = up @ low + down @ high + biases, up @ high + down @ low + biases

    def most(weights: Reals) -> float:
        plain = float(np.maximum(weights * np.maximum(lows, 0), weights * np.maximum(highs, 0)).sum())
        # Above ReLU lies its chord; below it lie zero and the identity.
        chord = np.maximum(highs, 0) / np.maximum(highs - np.minimum(lows, 0), np.finfo(np.float64).tiny)
        below = np.where(lows >= 0, 1.0, (highs > -lows).astype(np.float64))
        slope = np.where(weights > 0, np.where(lows >= 0, 1.0, chord), below)
        lift = np.where((weights > 0) & (lows < 0), -chord * np.minimum(lows, 0), 0.0)
        line = (weights * slope) @ matrix
        straight = float(weights @ (slope * biases + lift) + np.maximum(line * low, line * high).sum())
        return min(plain, straight)

    return -most(-weights), most(weights)


@dataclass(frozen=True, kw_only=True)
class NeuronCertificate:
    """Values of one target's neuron on new draws, and the bounds that follow.

    The bound for the target holds over its noise. The bound for other rows holds over the noise on the
    reference rows, even if the neuron was built on these rows, because the noise is drawn anew. It applies to
    clients if their rows activate the neuron no more often than the reference rows do. Without noise the
    values are those of the rows the neuron was built on, so nothing is proved about other rows.
    """

    own: hoeffding_certificate.BoundedMean  # of the neuron's value at the perturbed target
    others: hoeffding_certificate.BoundedMean  # at perturbed rows of the reference
    own_rate: hoeffding_certificate.ActivationRate  # how often it is active
    others_rate: hoeffding_certificate.ActivationRate
    rows: int  # in one answer of the clients
    present: float = 1.0  # share of batches in which a member is
    error: float = CERTIFICATE_ERROR

    @classmethod
    def of(
        cls, own: Reals, others: Reals, width: float, training: ClientTraining, error: float
    ) -> "NeuronCertificate":
        """Build the certificate from drawn values, all within an interval of that width."""
        return cls(
            own=hoeffding_certificate.BoundedMean(value=float(own.mean()), n=own.size, width=width),
            others=hoeffding_certificate.BoundedMean(value=float(others.mean()), n=others.size, width=width),
            own_rate=hoeffding_certificate.ActivationRate(hits=int((own > 0).sum()), n=own.size),
            others_rate=hoeffding_certificate.ActivationRate(hits=int((others > 0).sum()), n=others.size),
            rows=training.batch * training.clients,
            present=training.present,
            error=error,
        )

    @property
    def active_on_target(self) -> bool:
        """The first condition of theorem 1: the mean value at the target is above zero."""
        return self.own.low(self.error) > 0

    @property
    def silent_on_others(self) -> bool:
        """The second condition of theorem 1: the mean value at other rows is at most zero."""
        return self.others.high(self.error) <= 0

    @property
    def holds(self) -> bool:
        """Whether theorem 1 applies."""
        return hoeffding_certificate.certificate_holds(self.own, self.others, self.error)

    @property
    def smallest_error(self) -> float | None:
        """The smallest error at which theorem 1 applies (corollary 1)."""
        return hoeffding_certificate.smallest_certified_error(self.own, self.others)

    @property
    def tpr(self) -> float:
        """A lower bound on how often the target activates the neuron (Clopper and Pearson)."""
        return self.own_rate.exact_low(self.error)

    @property
    def fpr(self) -> float:
        """An upper bound on how often another row activates it."""
        return self.others_rate.exact_high(self.error)

    @property
    def success(self) -> float:
        """A lower bound on the share of games won, if the rows of a batch are independent."""
        return hoeffding_certificate.success_bound(self.tpr, self.fpr, self.rows, self.present)

    @property
    def success_of_any(self) -> float:
        """The same for rows of a batch that depend on one another in any way."""
        return hoeffding_certificate.success_bound_dependent(self.tpr, self.fpr, self.rows, self.present)

    @property
    def hoeffding_success(self) -> float:
        """A lower bound on the share of games won by Hoeffding's inequality, for independent rows."""
        tpr, fpr = self.own_rate.low(self.error), self.others_rate.high(self.error)
        return hoeffding_certificate.success_bound(tpr, fpr, self.rows, self.present)


@dataclass(frozen=True, eq=False)
class NeuronCertifier:
    """Certifies the neuron of a target; each reference row is perturbed ``often`` times."""

    knowledge: ServerKnowledge
    draws: int = DRAWS
    often: int = 1
    error: float = CERTIFICATE_ERROR

    def __post_init__(self) -> None:
        if not (self.draws >= 1 and self.often >= 1):
            raise BadInput(f"a certificate needs draws and often >= 1, got {self.draws} and {self.often}")
        if self.knowledge.training.noise is not None:
            raise BadInput(
                "certify: noise on gradients hides when the neuron is active, so there is no certificate; "
                "leave out certify or gradient_noise"
            )

    def __call__(self, task: tuple[int, network.CraftedNeuron, int]) -> NeuronCertificate:
        place, crafted, seed = task
        knowledge, training, rng = self.knowledge, self.knowledge.training, np.random.default_rng(seed)
        least, most = value_range(crafted, *feature_bounds(knowledge))
        mechanism = training.mechanism
        own = perturbed_rows.perturbed_values(crafted, knowledge.targets[[place]], self.draws, mechanism, rng)
        own = np.resize(own, self.draws)  # without noise there is one value; repeat it
        passes = range(self.often if mechanism is not None else 1)
        others = [perturbed_rows.perturbed_values(crafted, knowledge.rows, 1, mechanism, rng) for _ in passes]
        return NeuronCertificate.of(own, np.concatenate(others), most - least, training, self.error)


def feature_bounds(knowledge: ServerKnowledge) -> tuple[Reals, Reals]:
    """Return bounds of each perturbed feature: the range of the bits, or infinite for other noise.

    Without noise it is the range of the rows that the server has, which is an assumption about other rows.
    """
    mechanism, n_features = knowledge.training.mechanism, knowledge.rows.shape[1]
    if mechanism is None:
        rows = np.concatenate([knowledge.rows, knowledge.targets]).astype(np.float64)
        return rows.min(axis=0), rows.max(axis=0)
    if isinstance(mechanism, feature_distributions.TabulatedNoise):
        levels = mechanism.encoding.levels
        return np.full(n_features, levels[0]), np.full(n_features, levels[-1])
    return np.full(n_features, -np.inf), np.full(n_features, np.inf)


def certify_neurons(
    knowledge: ServerKnowledge, crafted: Sequence[network.CraftedNeuron], rng: Generator, often: int = 1
) -> list[NeuronCertificate]:
    """Certify the neuron of each target, on the available workers."""
    seeds = rng.integers(2**63, size=len(crafted)).tolist()
    return parallel_map(
        NeuronCertifier(knowledge, often=often), list(zip(range(len(crafted)), crafted, seeds))
    )


def certified_rates(
    knowledge: ServerKnowledge, crafted: Sequence[network.CraftedNeuron], rng: Generator
) -> dict[str, float]:
    """Return means over targets of the certified numbers, by name."""
    certificates = certify_neurons(knowledge, crafted, rng)
    by_name: dict[str, list[float]] = {
        "certified_success": [certificate.success for certificate in certificates],
        "certified_tpr": [certificate.tpr for certificate in certificates],
        "certified_fpr": [certificate.fpr for certificate in certificates],
        "certified_share": [certificate.holds for certificate in certificates],
        "certified_success_hoeffding": [certificate.hoeffding_success for certificate in certificates],
    }
    return {name: float(np.mean(numbers)) for name, numbers in by_name.items()}
