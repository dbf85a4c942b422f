"""Train a first layer and a neuron for one target, and choose which epoch to keep."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits
from leakgauge.domains.federated.neurons.batch_threshold import BatchRates, batch_rates, best_batch_threshold
from leakgauge.domains.federated.neurons.network import CraftedNeuron, Floats, honest_layer
from leakgauge.domains.federated.neurons.perturbed_rows import perturb
from leakgauge.support.work_count import TRAINING, counted_work

if TYPE_CHECKING:
    from leakgauge.domains.federated.knowledge import ServerKnowledge

HELD_BACK = 4  # one row in this many
ENOUGH = 8_000  # perturbed rows that are held back
DRAWS = 1_000  # of a target, to compare with them
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # of Adam


@dataclass(frozen=True, eq=False)
class EpochRows:
    """The rows of one epoch, in order, and for which of them the neuron should be active."""

    rows: Floats
    active: Bits
    weight: float = 1.0  # in the loss, of rows for which it should be active; others have weight 1


def initial_neuron(neurons: int, features: int, rng: Generator) -> CraftedNeuron:
    """Return a neuron before training, as PyTorch initialises two linear layers."""
    first, (second, bias) = honest_layer(features, neurons, rng), honest_layer(neurons, 1, rng)
    return CraftedNeuron(*first, second[0], float(bias[0]))


def train_epochs(
    neuron: CraftedNeuron, epochs: Iterable[EpochRows], *, batch: int | None, rate: float
) -> Iterator[CraftedNeuron]:
    """Yield the neuron after each epoch: Adam (Kingma and Ba 2015) on the cross-entropy of sigmoid(value).

    That is eq. 6 of Nguyen et al. with biases. A step is on ``batch`` rows, or on the whole epoch. Nothing
    is random here: the initial neuron and the order of rows are given.
    """
    import torch

    given = (neuron.first, neuron.first_bias, neuron.second, np.array([neuron.bias], dtype=np.float32))
    parts = [torch.from_numpy(part.copy()).requires_grad_() for part in given]
    first, first_bias, second, bias = parts
    adam = _Adam(parts, rate)
    for epoch in epochs:
        rows, active = torch.from_numpy(epoch.rows), torch.from_numpy(epoch.active.astype(np.float32))
        weight = torch.tensor(epoch.weight)
        size = batch or len(rows)
        for some, wanted in zip(rows.split(size), active.split(size)):
            hidden = torch.relu(torch.nn.functional.linear(some, first, first_bias))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                hidden @ second + bias, wanted, pos_weight=weight
            )
            adam.step(torch.autograd.grad(loss, parts))
        now = [part.detach().numpy().copy() for part in parts]
        yield CraftedNeuron(now[0], now[1], now[2], float(now[3][0]))


class _Adam:
    """The steps of ``torch.optim.Adam``, whose construction loads PyTorch's compiler, which takes seconds."""

    def __init__(self, parts: Sequence[Any], rate: float) -> None:
        self._parts, self._rate, self._steps = parts, rate, 0
        self._means = [part.detach().new_zeros(part.shape) for part in parts]
        self._squares = [part.detach().new_zeros(part.shape) for part in parts]

    def step(self, gradients: Sequence[Any]) -> None:
        """Change the parts in place."""
        self._steps += 1
        of_mean, of_square = 1 - _BETA_1**self._steps, 1 - _BETA_2**self._steps
        for part, gradient, mean, square in zip(self._parts, gradients, self._means, self._squares):
            mean.lerp_(gradient, 1 - _BETA_1)
            square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
            deviation = (square.sqrt() / of_square**0.5).add_(_EPSILON)
            part.detach().addcdiv_(mean, deviation, value=-self._rate / of_mean)


@dataclass(frozen=True, kw_only=True)
class NeuronTrainingOptions:
    """How long a neuron is trained, and on what."""

    neurons: int  # of the first layer
    epochs: int  # at most
    batch: int | None  # rows of a step; all of an epoch, if none
    rate: float  # of Adam
    positives: int  # perturbations of the target in an epoch, if rows are perturbed
    weight: float  # of the target against all other rows, if they are not


@dataclass(frozen=True, eq=False)
class TrainedNeuron:
    """A neuron, and what its training showed on rows of the attacker's own."""

    neuron: CraftedNeuron
    epochs: int  # after which it was kept
    separated: bool  # the target was active, no row it was trained on was, and none had as large a value
    on_top: int | None  # the first epoch after which no other row had as large a value as the target
    history: tuple[BatchRates, ...]  # by epoch, on held-back rows, at a threshold of zero


@dataclass(frozen=True, eq=False)
class NeuronTrainer:
    """Trains the neuron of a target on one part of the attacker's rows, and tests it on the other."""

    knowledge: "ServerKnowledge"
    options: NeuronTrainingOptions
    rows: Floats
    held_back: Floats  # perturbed

    @classmethod
    def of(
        cls, knowledge: "ServerKnowledge", options: NeuronTrainingOptions, rng: Generator
    ) -> "NeuronTrainer":
        """Divide the attacker's rows at random, and perturb those that are held back."""
        rows = knowledge.rows[rng.permutation(len(knowledge.rows))]
        n = max(1, len(rows) // HELD_BACK)
        held_back = perturb(rows[:n], max(1, ENOUGH // n), knowledge.training.mechanism, rng)
        return cls(knowledge, options, rows[n:], held_back)

    def __call__(self, target: tuple[int, int]) -> TrainedNeuron:
        """Train the neuron of a target; where work is sampled, perhaps that of another one."""
        kind = (NeuronTrainer, self.options, self.rows.shape)
        return counted_work(TRAINING, kind, lambda: self._train(target))

    def _train(self, target: tuple[int, int]) -> TrainedNeuron:
        """Train, and keep the epoch that wins most games on held-back rows, the latest of several.

        Without noise, training ends at the first epoch at which the target is active and no training row is
        (Nguyen et al., section 3.2) and all held-back rows have smaller values than the target. The bias is
        set to win most games: without noise, midway between the target and the next of all rows.
        """
        place, seed = target
        rng, noisy = np.random.default_rng(seed), self.knowledge.training.mechanism is not None
        row = self.knowledge.targets[place][None]
        start = initial_neuron(self.options.neurons, row.shape[1], rng)
        own_rows = perturb(row, DRAWS, self.knowledge.training.mechanism, rng)
        history, kept, most, on_top = [], None, -1.0, None
        epochs = train_epochs(
            start, self._epoch_rows(row, rng), batch=self.options.batch, rate=self.options.rate
        )
        for epoch, neuron in enumerate(epochs, 1):
            own, held_back = neuron.values(own_rows), neuron.values(self.held_back)
            history.append(batch_rates(own, held_back, self.knowledge.others))
            seen = np.empty(0) if noisy else neuron.values(self.rows)  # with noise, each epoch draws new ones
            others = np.append(held_back, seen)
            above = bool(own.min() > others.max())
            on_top = on_top or (epoch if above else None)
            separated = above and bool(own.min() > 0 >= seen.max(initial=-np.inf))
            threshold, won = best_batch_threshold(own, others, self.knowledge.others)
            if won >= most:
                cut = replace(neuron, bias=neuron.bias - threshold).normalised(
                    own - threshold, others - threshold
                )
                most, kept = won, (cut, epoch, separated)
            if separated and not noisy:
                break
        assert kept is not None
        return TrainedNeuron(*kept, on_top, tuple(history))

    def _epoch_rows(self, row: Floats, rng: Generator) -> Iterator[EpochRows]:
        """Yield newly perturbed target and other rows for every epoch; without noise the target once."""
        options, mechanism = self.options, self.knowledge.training.mechanism
        often = 1 if mechanism is None else options.positives
        weight = options.weight * len(self.rows) if mechanism is None else 1.0
        for _ in range(options.epochs):
            rows = np.concatenate(
                [perturb(row, often, mechanism, rng), perturb(self.rows, 1, mechanism, rng)]
            )
            order = rng.permutation(len(rows))
            yield EpochRows(rows[order], order < often, weight)
