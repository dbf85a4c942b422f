"""Build, without training, a neuron that is active if a row looks like the perturbed target."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism, Scorer
from leakgauge.domains.federated.knowledge import ServerKnowledge
from leakgauge.domains.federated.neurons import feature_distributions, perturbed_rows
from leakgauge.domains.federated.neurons.batch_threshold import best_batch_threshold
from leakgauge.domains.federated.neurons.gradient_scores import study_neurons
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats
from leakgauge.domains.federated.release import FederatedView
from leakgauge.support.parallel import parallel_map

Basis: TypeAlias = feature_distributions.ClippedBasis | feature_distributions.HingeBasis

ENOUGH = 20_000  # perturbed rows of the attacker's own, for thresholds
REACHES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # for values of 1 + 5 + 4 bits


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A sum over features of functions that approximate the log-likelihood ratio of target and other rows.

    The form "clipped" builds each function from two ReLUs: the feature clipped to -a .. a. "ratio" builds it
    from ``hinges`` ReLUs at equal distances, which is needed if features are never negative, so that the sign
    bit carries no information. With a limit on ``units``, the most informative features are kept. The
    threshold is the one that wins most games of this batch size on perturbed rows of the attacker's own that
    were not used for building. Without noise on rows the neuron's value falls with the distance from the
    target, with two units per feature in either form. ``certify`` adds bounds that new draws of the noise
    prove for the neurons before any round.
    """

    accepts: ClassVar[tuple[str, ...]] = ("server",)

    form: Literal["clipped", "ratio"] = "clipped"
    hinges: int = 16
    units: int | None = None
    draws: int = 1_000  # of a target, for the threshold
    certify: bool = False

    def __post_init__(self) -> None:
        if not self.hinges >= 2:
            raise BadInput(f"hinges must be >= 2, got {self.hinges}")
        if self.units is not None and not self.units >= (2 if self.form == "clipped" else self.hinges):
            raise BadInput(
                f"units must be >= {2 if self.form == 'clipped' else self.hinges}, which one feature takes, "
                f"got {self.units}"
            )
        if not self.draws >= 100:
            raise BadInput(f"draws must be >= 100, got {self.draws}")

    def study(self, knowledge: ServerKnowledge, rng: Generator) -> Scorer[FederatedView]:
        return study_neurons(knowledge, self.craft(knowledge, rng), rng, certify=self.certify)

    def craft(self, knowledge: ServerKnowledge, rng: Generator) -> list[CraftedNeuron]:
        """Build the neuron of each target."""
        if knowledge.training.mechanism is None:
            return [
                peak_neuron(row, knowledge.rows, knowledge.others, self.units) for row in knowledge.targets
            ]
        functions = (
            clipped_bases(knowledge) if self.form == "clipped" else (hinge_basis(knowledge, self.hinges),)
        )
        builder = LikelihoodNeuronBuilder.of(knowledge, functions, self.units, self.draws, rng)
        seeds = rng.integers(2**63, size=len(knowledge.targets)).tolist()
        return parallel_map(builder, list(enumerate(seeds)))


@dataclass(frozen=True, eq=False)
class LikelihoodNeuronBuilder:
    """Builds the neuron of a target."""

    knowledge: ServerKnowledge
    others: dict[Basis, feature_distributions.FeatureMoments]  # perturbed first half of the attacker's rows
    held_back: perturbed_rows.PerturbedRows  # of the second half
    units: int
    draws: int

    @classmethod
    def of(
        cls,
        knowledge: ServerKnowledge,
        functions: Sequence[Basis],
        units: int | None,
        draws: int,
        rng: Generator,
    ) -> "LikelihoodNeuronBuilder":
        """Compute the distribution of perturbed other rows, and perturb held-out rows for thresholds."""
        rows, mechanism = knowledge.rows[rng.permutation(len(knowledge.rows))], knowledge.training.mechanism
        half = len(rows) // 2
        distribution = feature_distributions.feature_distribution(rows[:half], mechanism, rng)
        widest = max(function.knots.size for function in functions)
        held_back = _row_sampler(widest)(rows[half:], max(1, ENOUGH // (len(rows) - half)), mechanism, rng)
        others = {function: distribution.moments(function) for function in functions}
        return cls(knowledge, others, held_back, units or widest * rows.shape[1], draws)

    def __call__(self, target: tuple[int, int]) -> CraftedNeuron:
        place, seed = target
        rng, mechanism = np.random.default_rng(seed), self.knowledge.training.mechanism
        row = self.knowledge.targets[place][None]
        score = feature_distributions.best_relu_score(
            feature_distributions.feature_distribution(row, mechanism, rng), self.others, self.units
        )
        own = _row_sampler(score.knots.size)(row, self.draws, mechanism, rng).scores(score)
        others = self.held_back.scores(score)
        threshold, _ = best_batch_threshold(own, others, self.knowledge.others)
        return score.neuron(threshold, row.shape[1]).normalised(own - threshold, others - threshold)


def _row_sampler(
    n_knots: int,
) -> Callable[[Floats, int, Mechanism | None, Generator], perturbed_rows.PerturbedRows]:
    """Return how rows are stored: as level indices for table lookup, or as numbers if that is as fast."""
    return perturbed_rows.draw_perturbed_rows if n_knots > 2 else perturbed_rows.draw_perturbed_real_rows


def clipped_bases(knowledge: ServerKnowledge) -> tuple[feature_distributions.ClippedBasis, ...]:
    """Return clipping bounds that suit the range of the bits; without bits, the size of the server's rows."""
    mechanism = knowledge.training.mechanism
    if isinstance(mechanism, feature_distributions.TabulatedNoise):
        unit = 2.0 ** (np.frexp(mechanism.encoding.levels[-1])[1] - 5)
    else:
        size = float(np.sqrt(np.mean(knowledge.rows.astype(np.float64) ** 2)))
        unit = 2.0 ** np.round(np.log2(size / 2)) if size > 0 else 1.0
    return tuple(feature_distributions.ClippedBasis(float(unit * reach)) for reach in REACHES)


def hinge_basis(knowledge: ServerKnowledge, n: int) -> feature_distributions.HingeBasis:
    """Return hinges at equal distances over the range of values."""
    mechanism = knowledge.training.mechanism
    if isinstance(mechanism, feature_distributions.TabulatedNoise):
        levels = mechanism.encoding.levels
        return feature_distributions.HingeBasis(float(levels[0]), float(levels[-1]), n)
    return feature_distributions.HingeBasis(float(knowledge.rows.min()), float(knowledge.rows.max()), n)


def peak_neuron(row: Floats, rows: Floats, others: int, units: int | None = None) -> CraftedNeuron:
    """Build a neuron whose value is minus the distance from the target, in units of standard deviations.

    -|x - t| = (x - least) - 2 ReLU(x - t) + constant if x is at least ``least``: two units per feature. Any
    other row has a smaller value. The threshold is halfway between the target and the nearest of the
    attacker's own ``rows``, so only a nearer row of a client is mistaken for the target. With few ``units``,
    the features in which the target deviates most are kept.
    """
    spread = rows.std(axis=0, dtype=np.float64)
    spread = np.where(spread > 0, spread, max(float(spread.mean()), 1e-6))
    stands_out = np.abs(row - rows.mean(axis=0)) / spread
    kept = np.sort(np.argsort(-stands_out, kind="stable")[: max((units or 2 * row.size) // 2, 1)])
    least = np.minimum(rows.min(axis=0), row)[kept]
    weights = (1 / spread[kept]).astype(np.float32)
    first = np.zeros((2 * kept.size, row.size), dtype=np.float32)
    first[np.arange(2 * kept.size), np.tile(kept, 2)] = 1.0
    biases = -np.concatenate([least, row[kept]]).astype(np.float32)
    neuron = CraftedNeuron(first, biases, np.concatenate([weights, -2 * weights]), 0.0)
    own, scores = neuron.values(row[None]), _values_in_chunks(neuron, rows)
    threshold, _ = best_batch_threshold(own, scores, others)
    lowered = CraftedNeuron(neuron.first, neuron.first_bias, neuron.second, -threshold)
    return lowered.normalised(own - threshold, scores - threshold)


def _values_in_chunks(neuron: CraftedNeuron, rows: Floats, step: int = 2_000) -> Reals:
    return np.concatenate([neuron.values(rows[first : first + step]) for first in range(0, len(rows), step)])
