"""Crafted weights for the last linear layers of any network: a neuron that is active for the target alone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Reals
from leakgauge.domains.federated.flower_app.client_games import Arrays, LinearStack
from leakgauge.domains.federated.neurons.batch_threshold import best_batch_threshold
from leakgauge.domains.federated.neurons.stealth import compare_weights

COPIES = 4  # of the neuron, so that dropout does not lose it
UNLIKELY = 5.0  # nats by which the target's class is less likely than others, so that these push nothing
_DEAD = -1.0  # bias of a unit that is never active
_SHARP = 100.0  # factor that makes a GELU or SiLU as sharp as a ReLU
_RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class TargetFeatures:
    """What enters the first crafted layer: for the target, several times, and for the attacker's own rows.

    ``passes`` is how often a client reads each of its rows for one message.
    """

    target: Reals
    others: Reals
    label: int
    passes: int = 1


@dataclass(frozen=True, eq=False)
class PlantedLayers:
    """Arrays to send, and which of their weights are zero and move only if the neuron is active."""

    arrays: Arrays
    watched: dict[str, Bits]

    def fired(self, update: Arrays) -> float:
        """How far the watched weights moved, summed."""
        moved = (np.abs(update[name][where], dtype=np.float64).sum() for name, where in self.watched.items())
        return float(np.nan_to_num(sum(moved), nan=1e30, posinf=1e30))


@dataclass(frozen=True, kw_only=True)
class Plant:
    """How layers are crafted.

    The gradient of an active neuron is proportional to ``constant``, the output of units that are active for
    every row, and to ``head``, the neuron's weight in the last layer. With ``loud`` rows, every row moves
    weights of the last layer that the target does not need: where a whole update is clipped, updates without
    the target then fill the bound too, in another direction. A stealthy plant leaves all other units as the
    app's server sent them, and gives the crafted ones the size of honest ones.
    """

    constant: float = 1.0
    head: float = 1.0
    loud: bool = False
    stealthy: bool = False

    def craft(
        self, sent: Arrays, stack: LinearStack, features: TargetFeatures, n_others: int
    ) -> PlantedLayers:
        """Return layers whose neuron is active for the target and for as few other rows as possible."""
        deep = len(stack.weights) == 3
        arrays = {name: sent[name].astype(np.float64) for name in _names(stack)}
        if not self.stealthy:
            arrays = silent_layers(sent, stack)
        n_others *= features.passes
        watched = (self._craft_peak if deep else self._craft_direction)(arrays, stack, features, n_others)
        if self.loud:
            self._set_loud(arrays, stack, features.label)
        typed = {name: array.astype(sent[name].dtype) for name, array in arrays.items()}
        return PlantedLayers(typed, watched)

    def _craft_peak(
        self, arrays: Arrays, stack: LinearStack, features: TargetFeatures, n_others: int
    ) -> dict[str, Bits]:
        """Draw minus the distance from the target by pairs of units, and let a neuron compare it."""
        first, second = (arrays[name] for name in stack.weights[:2])
        first_bias, second_bias = (arrays[name] for name in stack.biases[:2])  # type: ignore[index]
        constants = max(2, len(first) // (2 if self.stealthy else 8))
        pairs = min((len(first) - constants) // 2, features.others.shape[1])
        if pairs < 1:
            raise BadInput(f"a hidden layer of {len(first)} units is too narrow for crafted weights")
        axes, centre = separating_axes(features, pairs)
        own, others = (np.abs((rows - centre) @ axes.T).sum(1) for rows in (features.target, features.others))
        cut, _ = best_batch_threshold(-own, -others, n_others)
        height = max(-cut - float(np.median(own)), 1e-12)
        sharpness = self._sharpness(stack)
        size = sharpness * self._unit_size(first, axes)
        first[: 2 * pairs] = size * np.concatenate([axes, -axes])
        first_bias[: 2 * pairs] = -first[: 2 * pairs] @ centre
        if not self.stealthy:
            first_bias[2 * pairs : 2 * pairs + constants] = self.constant
        chosen = slice(0, min(COPIES, max(1, len(second) // 2)))
        scale = sharpness * self._neuron_scale(second, pairs, height)
        second[chosen] = 0.0
        second[chosen, : 2 * pairs] = -scale / size
        second_bias[chosen] = scale * -cut
        self._set_head(arrays, stack, features.label, chosen, scale * -cut)
        watched = np.zeros(second.shape, bool)
        watched[chosen, 2 * pairs :] = True
        return {stack.weights[1]: watched}

    def _sharpness(self, stack: LinearStack) -> float:
        """The factor that makes rows beside the target as good as inactive behind a smooth function."""
        return _SHARP if stack.smooth and not self.stealthy else 1.0

    def _unit_size(self, first: Reals, axes: Reals) -> float:
        """The factor that gives crafted units the size of honest ones, where they are to look like them."""
        if not self.stealthy:
            return 1.0
        return float(np.linalg.norm(first, axis=1).mean() / np.linalg.norm(axes, axis=1).mean())

    def _neuron_scale(self, second: Reals, pairs: int, height: float) -> float:
        """The factor that makes the target's value 1, or the neuron's weights as large as honest ones."""
        if not self.stealthy:
            return 1.0 / height
        return float(np.linalg.norm(second, axis=1).mean() / np.sqrt(2 * pairs))

    def _craft_direction(
        self, arrays: Arrays, stack: LinearStack, features: TargetFeatures, n_others: int
    ) -> dict[str, Bits]:
        """Let units of the first layer, which see a weighted sum of features, be active for the target."""
        first, head = (arrays[name] for name in stack.weights)
        bias = arrays[stack.biases[0] or ""]
        if len(head) < 2:
            raise BadInput(
                "the network has no place for crafted weights: with one output and one hidden layer, no "
                "weight can start at zero"
            )
        weights = linear_discriminant(features)
        own, others = features.target @ weights, features.others @ weights
        cut, _ = best_batch_threshold(own, others, n_others)
        height = max(float(np.median(own)) - cut, 1e-12)
        chosen = slice(0, min(COPIES, max(1, len(first) // 2)))
        scale = self._sharpness(stack) * self.constant / height
        if self.stealthy:
            scale = float(np.linalg.norm(first, axis=1).mean() / np.linalg.norm(weights))
        first[chosen], bias[chosen] = scale * weights, -scale * cut
        self._set_head(arrays, stack, features.label, chosen, scale * (float(own.max()) - cut))
        if self.stealthy:
            head[:, chosen] = 0.0
            head[features.label, chosen] = np.abs(head).mean()
        watched = np.zeros(head.shape, bool)
        watched[:, chosen] = True
        watched[features.label, chosen] = False
        return {stack.weights[-1]: watched}

    def _set_head(
        self, arrays: Arrays, stack: LinearStack, label: int, chosen: slice, largest: float
    ) -> None:
        """Let an active neuron speak for the target's class, which stays unlikely: its error is then 1.

        ``largest`` is the largest value of the neuron; noise and training may move it to twice as much.
        """
        if self.stealthy:
            return
        head, bias = arrays[stack.weights[-1]], stack.biases[-1]
        sign = -1.0 if len(head) == 1 and label == 0 else 1.0
        place = 0 if len(head) == 1 else label
        head[place, chosen] = sign * self.head
        if bias is not None:
            copies = chosen.stop - chosen.start
            arrays[bias][place] = -sign * (2 * self.head * max(largest, 0.0) * copies + UNLIKELY)

    def _set_loud(self, arrays: Arrays, stack: LinearStack, label: int) -> None:
        """Let a unit before the last layer be active for all rows, and speak for another class.

        Rows are taken for that class, and all that have another label move the unit in the same way.
        """
        hidden, head = arrays[stack.biases[-2] or ""], arrays[stack.weights[-1]]
        other = (label + 1) % len(head)
        arrays[stack.weights[-2]][-1], hidden[-1], head[:, -1] = 0.0, self.constant, 0.0
        head[other, -1] = 1.0
        arrays[stack.biases[-1] or ""][other] = 10 * self.constant**2


def silent_layers(sent: Arrays, stack: LinearStack) -> Arrays:
    """Return layers through which nothing flows: no weight before them moves, whatever the rows are."""
    arrays = {name: np.zeros(sent[name].shape) for name in _names(stack)}
    for name in stack.biases[:-1]:
        arrays[name or ""][:] = _DEAD * (_SHARP if stack.smooth else 1.0)
    return arrays


def _names(stack: LinearStack) -> list[str]:
    return [name for name in (*stack.weights, *stack.biases) if name is not None]


def separating_axes(features: TargetFeatures, count: int) -> tuple[Reals, Reals]:
    """Return the directions in which other rows differ most from the target, compared with its own noise.

    They solve a generalised eigenvalue problem: second moments of the others' distance from the target,
    against the covariance of the target's features, drawn towards its diagonal, with a small ridge.
    """
    from scipy.linalg import eigh

    centre = np.median(features.target, axis=0)
    away, noise = features.others - centre, features.target - features.target.mean(axis=0)
    between = away.T @ away / len(away)
    level = float(np.trace(between)) / len(between) or 1.0
    within = noise.T @ noise / max(len(noise) - 1, 1)
    share = len(within) / (len(within) + len(noise))  # few draws say little of the covariance
    shrunk = (1 - share) * within + share * np.diag(np.diag(within))
    _, vectors = eigh(between, shrunk + _RIDGE * level * np.eye(len(within)))
    axes = vectors[:, ::-1][:, :count].T
    return axes / np.abs(away @ axes.T).mean(), centre


def linear_discriminant(features: TargetFeatures) -> Reals:
    """Return the weights of the linear score that separates the target best from other rows."""
    centre = features.others.mean(axis=0)
    away = features.others - centre
    spread = away.T @ away / len(away)
    ridge = 0.05 * float(np.trace(spread)) / len(spread) + 1e-12
    weights = np.linalg.solve(spread + ridge * np.eye(len(spread)), features.target.mean(axis=0) - centre)
    return weights / max(float(np.linalg.norm(weights)), 1e-12)


def layer_stealth(
    planted: PlantedLayers, sent: Arrays, stack: LinearStack, rng: np.random.Generator
) -> dict[str, float]:
    """Return how far the crafted layers are from those that the app's server sends, by name."""
    distances = {}
    for name, weights, bias in zip(("stealth_first", "stealth_second"), stack.weights, stack.biases):
        crafted, usual = (
            np.concatenate([of[part].ravel() for part in (weights, bias) if part]).astype(np.float64)
            for of in (planted.arrays, sent)
        )
        distances[name] = compare_weights(crafted, usual, rng).statistic
    return distances


def flat(update: Arrays) -> npt.NDArray[np.float64]:
    """Return all numbers of an update as one vector."""
    return np.concatenate([array.ravel() for array in update.values()]).astype(np.float64)
