"""Crafted weights for linear layers of any network: a neuron that is active for the target alone."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import Arrays, LinearStack
from leakgauge.domains.federated.neurons.batch_threshold import best_batch_threshold
from leakgauge.domains.federated.neurons.neuron_training import EpochRows, initial_neuron, train_epochs
from leakgauge.domains.federated.neurons.stealth import compare_weights

COPIES = 4  # of the neuron, so that dropout does not lose it
UNLIKELY = 5.0  # nats by which the target's class is less likely than others, so that these push nothing
_DEAD = -1.0  # bias of a unit that is never active
_SHARP = 100.0  # factor that makes a GELU or SiLU as sharp as a ReLU
_RIDGE = 1e-6
_EPOCHS, _BATCH, _RATE = 12, 256, 2e-3  # of a trained detector
_MOST_TOKENS = 8  # of a row that are tried


@dataclass(frozen=True, eq=False)
class TargetFeatures:
    """What enters the first crafted layer: for the target, several times, and for the attacker's own rows.

    ``passes`` is how often a client reads each of its rows for one message. Where noise or dropout vary the
    target's features, ``held_back`` are further draws, with other rows of the attacker's: thresholds are set
    on them. An array has one row for each read; where a row has several inputs, they are its second axis.
    """

    target: Reals
    others: Reals
    label: int
    passes: int = 1
    held_back: tuple[Reals, Reals] | None = None  # target, others

    def best_cut(self, own: Reals, others: Reals, n_others: int) -> tuple[float, float]:
        """The best threshold of a score, and how often it is right, if one of a client's reads is enough."""
        n_reads = max(1, len(own) // self.passes) * self.passes
        largest = own[:n_reads].reshape(-1, self.passes).max(axis=1) if len(own) >= self.passes else own
        return best_batch_threshold(largest, others, n_others * self.passes)


@dataclass(frozen=True, eq=False)
class Detector:
    """A score of features, weights . ReLU(first x + first_bias): large for the target."""

    first: Reals
    first_bias: Reals
    weights: Reals

    def scores(self, rows: Reals) -> Reals:
        return np.asarray(np.maximum(rows @ self.first.T + self.first_bias, 0) @ self.weights)


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
        arrays = {name: sent[name].astype(np.float64) for name in _names(stack)}
        if not self.stealthy:
            arrays = silent_layers(sent, stack)
        watched = (self._craft_second if stack.in_second else self._craft_first)(
            arrays, stack, features, n_others
        )
        if self.loud:
            self._set_loud(arrays, stack, features.label)
        typed = {name: array.astype(sent[name].dtype) for name, array in arrays.items()}
        return PlantedLayers(typed, watched)

    def fits(self, stack: LinearStack) -> bool:
        """Whether it can be crafted: loud rows need the network's output, with a bias."""
        return not self.loud or (stack.ends and stack.biases[-1] is not None)

    def _craft_second(
        self, arrays: Arrays, stack: LinearStack, features: TargetFeatures, n_others: int
    ) -> dict[str, Bits]:
        """Draw a score of the features by units of the first layer; a neuron of the second compares it."""
        first, second = (arrays[name] for name in stack.weights[:2])
        first_bias, second_bias = (arrays[name] for name in stack.biases[:2])  # type: ignore[index]
        constants = max(2, len(first) // (2 if self.stealthy else 8))
        detector = best_detector(features, len(first) - constants, n_others, trainable=not stack.dropout)
        own, others = map(detector.scores, features.held_back or (features.target, features.others))
        cut, _ = features.best_cut(own, others, n_others)
        height = max(float(np.median(own)) - cut, 1e-12)
        sharpness, units = self._sharpness(stack), len(detector.first)
        size = sharpness * self._unit_size(first, detector.first)
        first[:units], first_bias[:units] = size * detector.first, size * detector.first_bias
        if not self.stealthy:
            first_bias[units : units + constants] = self.constant
        chosen = slice(0, min(COPIES, max(1, len(second) // 2)))
        scale = sharpness * self._neuron_scale(second, detector, height)
        second[chosen] = 0.0
        second[chosen, :units] = scale / size * detector.weights
        second_bias[chosen] = -scale * cut
        self._set_head(arrays, stack, features.label, chosen, scale * (float(own.max()) - cut))
        watched = np.zeros(second.shape, bool)
        watched[chosen, units:] = True
        return {stack.weights[1]: watched}

    def _sharpness(self, stack: LinearStack) -> float:
        """The factor that makes rows beside the target as good as inactive behind a smooth function."""
        return _SHARP if stack.smooth and not self.stealthy else 1.0

    def _unit_size(self, first: Reals, axes: Reals) -> float:
        """The factor that gives crafted units the size of honest ones, where they are to look like them."""
        if not self.stealthy:
            return 1.0
        return float(np.linalg.norm(first, axis=1).mean() / np.linalg.norm(axes, axis=1).mean())

    def _neuron_scale(self, second: Reals, detector: Detector, height: float) -> float:
        """The factor that makes the target's value 1, or the neuron's weights as large as honest ones."""
        if not self.stealthy:
            return 1.0 / height
        return float(np.linalg.norm(second, axis=1).mean() / np.linalg.norm(detector.weights))

    def _craft_first(
        self, arrays: Arrays, stack: LinearStack, features: TargetFeatures, n_others: int
    ) -> dict[str, Bits]:
        """Let units of the first layer, which see a weighted sum of features, be active for the target."""
        first, head = (arrays[name] for name in stack.weights)
        bias = arrays[stack.biases[0] or ""]
        if stack.ends and len(head) < 2:
            raise BadInput(
                "the network has no place for crafted weights: with one output and one hidden layer, no "
                "weight can start at zero"
            )
        weights, own, cut = best_direction(features, n_others)
        height = max(float(np.median(own)) - cut, 1e-12)
        chosen = slice(0, min(COPIES, max(1, len(first) // 2)))
        scale = self._sharpness(stack) * self.constant / height
        if self.stealthy:
            scale = float(np.linalg.norm(first, axis=1).mean() / np.linalg.norm(weights))
        first[chosen], bias[chosen] = scale * weights, -scale * cut
        watched = np.zeros(head.shape, bool)
        watched[:, chosen] = True
        if not stack.ends:
            head[:, chosen] = 0.0
            return {stack.weights[-1]: watched}
        self._set_head(arrays, stack, features.label, chosen, scale * (float(own.max()) - cut))
        if self.stealthy:
            head[:, chosen] = 0.0
            head[features.label, chosen] = np.abs(head).mean()
        watched[features.label, chosen] = False
        return {stack.weights[-1]: watched}

    def _set_head(
        self, arrays: Arrays, stack: LinearStack, label: int, chosen: slice, largest: float
    ) -> None:
        """Let an active neuron speak for the target's class, which stays unlikely: its error is then 1.

        ``largest`` is the largest value of the neuron; noise and training may move it to twice as much.
        """
        if self.stealthy or not stack.ends:
            return
        head, bias = arrays[stack.weights[-1]], stack.biases[-1]
        bias = bias if self.head > 0 else None  # else its own class becomes unlikely for the target alone
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


LOSS_PLANT = Plant(head=-100.0)  # the target's loss is far above that of any other row


def silent_layers(sent: Arrays, stack: LinearStack) -> Arrays:
    """Return layers through which nothing flows: whatever the rows are, no weight before them moves.

    Where other layers follow, these train on; behind a unit that is never active, weights stay as they were.
    """
    arrays = {name: np.zeros(sent[name].shape) for name in _names(stack)}
    n_dead = len(stack.biases) - (0 if stack.gated else 1)
    for name in stack.biases[:n_dead]:
        arrays[name or ""][:] = _DEAD * (_SHARP if stack.smooth else 1.0)
    if not (stack.ends or stack.gated):
        arrays |= {
            name: sent[name].astype(np.float64) for name in (stack.weights[1], stack.biases[1]) if name
        }
    return arrays


def _names(stack: LinearStack) -> list[str]:
    return [name for name in (*stack.weights, *stack.biases) if name is not None]


def best_detector(features: TargetFeatures, units: int, n_others: int, *, trainable: bool) -> Detector:
    """Return the detector of so many units: a peak around the target or, where its features vary, the better.

    That is a peak, or one that is trained on draws of the target against other rows, whichever wins more
    games by draws that neither has seen.
    """
    pairs = min(units // 2, features.others.shape[1])
    if pairs < 1:
        raise BadInput(f"a hidden layer of {units + 2} units is too narrow for crafted weights")
    peak = peak_detector(features, pairs)
    if features.held_back is None or not trainable:
        return peak
    own, others = features.held_back
    trained = trained_detector(features, units)
    return max(
        (peak, trained),
        key=lambda one: features.best_cut(one.scores(own), one.scores(others), n_others)[1],
    )


def peak_detector(features: TargetFeatures, pairs: int) -> Detector:
    """Return minus the distance from the target along the best axes, each drawn by a pair of units."""
    axes, centre = separating_axes(features, pairs)
    first = np.concatenate([axes, -axes])
    return Detector(first, -first @ centre, np.full(len(first), -1.0))


def trained_detector(features: TargetFeatures, units: int) -> Detector:
    """Return the detector that is trained to tell draws of the target from draws of other rows."""
    rng = np.random.default_rng(0)
    centre, spread = features.others.mean(axis=0), features.others.std(axis=0)
    spread = np.maximum(spread, 1e-3 * float(spread.max()) + 1e-12)  # constant features say nothing
    rows = np.concatenate([features.target, features.others])
    scaled = ((rows - centre) / spread).astype(np.float32)
    orders = (rng.permutation(len(rows)) for _ in range(_EPOCHS))
    epochs = (EpochRows(scaled[order], order < len(features.target)) for order in orders)
    start = initial_neuron(units, rows.shape[1], rng)
    *_, neuron = train_epochs(start, epochs, batch=_BATCH, rate=_RATE)
    first = neuron.first.astype(np.float64) / spread
    return Detector(first, neuron.first_bias - first @ centre, neuron.second.astype(np.float64))


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


def best_direction(features: TargetFeatures, n_others: int) -> tuple[Reals, Reals, float]:
    """Return the weights of a linear score, the target's scores, and the best cut.

    Where a row has several inputs, its score is the largest of theirs, and the direction is that of the
    target's input that wins most games.
    """
    target, others = _by_input(features.target), _by_input(features.others)
    checked = [_by_input(rows) for rows in features.held_back or (target, others)]
    flat_others = others.reshape(-1, others.shape[-1])
    away = np.linalg.norm(target.mean(axis=0) - flat_others.mean(axis=0), axis=1)
    tried = []
    for token in np.argsort(-away, kind="stable")[:_MOST_TOKENS]:
        weights = linear_discriminant(replace(features, target=target[:, token], others=flat_others))
        own, rest = ((rows @ weights).max(axis=1) for rows in checked)
        cut, won = features.best_cut(own, rest, n_others)
        tried.append((won, weights, own, cut))
    _, weights, own, cut = max(tried, key=lambda one: one[0])
    return weights, own, cut


def _by_input(rows: Reals) -> Reals:
    """Rows x inputs x features."""
    return rows[:, None] if rows.ndim == 2 else rows


def linear_discriminant(features: TargetFeatures) -> Reals:
    """Return the weights of the linear score that separates the target best from other rows.

    The spread is that of other rows, and of the target where noise varies it (Fisher 1936).
    """
    centre = features.others.mean(axis=0)
    away, noise = features.others - centre, features.target - features.target.mean(axis=0)
    spread = away.T @ away / len(away)
    ridge = 0.05 * float(np.trace(spread)) / len(spread) + 1e-12
    spread += noise.T @ noise / len(noise) + ridge * np.eye(len(spread))
    weights = np.linalg.solve(spread, features.target.mean(axis=0) - centre)
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
