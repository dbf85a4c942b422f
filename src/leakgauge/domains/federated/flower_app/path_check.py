"""Controls through the user's client before the first round: with the target a neuron fires, else not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import Arrays, ClientAnswer, ClientGame, RowKey
from leakgauge.domains.federated.flower_app.client_process import ClientProcess
from leakgauge.domains.federated.flower_app.planted_layers import (
    Plant,
    PlantedLayers,
    TargetFeatures,
    flat,
    silent_layers,
)

_SAME_FEATURES, _FEATURES_APART = 1e-4, 1e-2  # of the largest feature
_FACTOR = 100.0  # by which the neuron must move more with the target than without


@dataclass(frozen=True, kw_only=True)
class PathCheck:
    """What the controls showed: the targets' labels as the client uses them, and whether it adds noise."""

    labels: tuple[int, ...]
    own_noise: bool
    notes: tuple[str, ...] = ()


def check_path(
    process: ClientProcess,
    targets: Sequence[RowKey],
    reference: Sequence[RowKey],
    per_client: int,
    *,
    stateful: bool,
) -> PathCheck:
    """Check that the client trains on the rows it is given; refuse it with the likely cause if not."""
    return _Check(process, tuple(reference), per_client).run(tuple(targets), stateful)


@dataclass(frozen=True, eq=False)
class _Check:
    process: ClientProcess
    reference: tuple[RowKey, ...]
    per_client: int

    def run(self, targets: tuple[RowKey, ...], stateful: bool) -> PathCheck:
        target = targets[0]
        first, other_seed, again = (self._silent((target,) * self.per_client, seed) for seed in (1, 2, 1))
        self._require_use_of_rows(first)
        own_noise = not _equal(first.update, other_seed.update) or _varies(first, other_seed)
        notes = []
        if not _equal(first.update, again.update):
            notes.append("the client's answers to the same message differ")
            if not stateful:
                raise BadInput(
                    "challenger.app: the client's answers to the same message with the same seed differ: it "
                    "keeps state between messages, or draws random numbers that no seed reaches; rounds "
                    "would not be independent. Write stateful = true if they are"
                )
        if not any(np.any(array) for array in first.update.values()):
            raise BadInput(
                "challenger.app: the client returned the weights as they were sent: it does not train, or "
                "its update is clipped to nothing"
            )
        labels = tuple(self._label(key, own_noise) for key in targets)
        if not own_noise:
            self._require_detection(target, labels[0])
        return PathCheck(labels=labels, own_noise=own_noise, notes=tuple(notes))

    def _require_use_of_rows(self, first: ClientAnswer) -> None:
        """Refuse a client whose network sees the same numbers whatever rows it was given."""
        other = self._silent((self.reference[0],) * self.per_client, 1)
        assert first.features is not None
        assert other.features is not None
        if np.array_equal(first.features, other.features):
            raise BadInput(
                "challenger.app: rows ignored: the client reads the rows that it loads, but trains on "
                "others; its network sees the same numbers whatever rows it is given"
            )

    def _silent(self, rows: tuple[RowKey, ...], seed: int) -> ClientAnswer:
        about = self.process.description
        return self._play(silent_layers(about.sent, about.stack), rows, seed)

    def _play(self, arrays: Arrays, rows: tuple[RowKey, ...], seed: int = 1) -> ClientAnswer:
        game = ClientGame(arrays=arrays, rows=rows, seed=seed, protection="off", features=True)
        return next(self.process.play([game]))

    def _label(self, key: RowKey, own_noise: bool) -> int:
        """The label of a row as the client uses it: the output that training on this row alone raises."""
        about, bias = self.process.description, self.process.description.stack.biases[-1]
        stated = about.labels.get(key)
        if not about.stack.ends:
            return stated or 0  # the crafted layers do without it
        outputs = about.sent[about.stack.weights[-1]].shape[0]
        if bias is None or outputs == 1 or (own_noise and stated is not None):
            if stated is None:
                raise BadInput(
                    "challenger.app: the label of a row cannot be found: the last layer has no bias, and "
                    "rows are neither (values, label) nor have a key 'label'"
                )
            return stated
        raised = int(np.argmax(self._silent((key,) * self.per_client, 1).update[bias]))
        if stated is not None and stated != raised:
            raise BadInput(
                f"challenger.app: labels permuted: training on a row with label {stated} raises output "
                f"{raised}; the client changes labels, or the order of its outputs"
            )
        return raised

    def _require_detection(self, target: RowKey, label: int) -> None:
        planted, stranger = self._planted(target, label)
        inside, outside = (
            planted.fired(self._play(planted.arrays, (key,) * self.per_client).update)
            for key in (target, stranger)
        )
        if not inside > 0:
            raise BadInput(
                "challenger.app: the target is in, and the crafted neuron does not fire: the client trains "
                "on other rows than it loads (rows ignored), or its update is clipped or rounded to nothing"
            )
        if not inside > _FACTOR * outside:
            raise BadInput(
                "challenger.app: the crafted neuron fires without the target as it does with it: rows "
                "ignored, the client trains on other rows than those it was given"
            )

    def _planted(self, target: RowKey, label: int) -> tuple[PlantedLayers, RowKey]:
        """Layers for the target, and another row of the same label to hold against it."""
        about = self.process.description
        rng = np.random.default_rng(0)
        drawn = [self.reference[place] for place in rng.permutation(len(self.reference))]
        others = self._silent(tuple(drawn[: self.per_client]), 1)
        own = self._silent((target,) * self.per_client, 1)
        assert own.features is not None
        assert others.features is not None
        features = TargetFeatures(own.features.astype(np.float64), others.features.astype(np.float64), label)
        same = [key for key in drawn if about.labels.get(key, label) == label]
        return Plant().craft(about.sent, about.stack, features, self.per_client), (same or drawn)[0]


def _varies(first: ClientAnswer, other: ClientAnswer) -> bool:
    """Whether the same row enters the crafted layers with other numbers each time, by noise or dropout.

    They then differ between two seeds, or, where the client sets a seed itself, much between rows. Weight
    decay changes them a little from step to step, in the same way with every seed.
    """
    assert first.features is not None
    assert other.features is not None
    largest = float(np.abs(first.features).max() + 1e-12)
    if first.features.shape != other.features.shape:
        return True
    if float(np.abs(first.features - other.features).max()) > _SAME_FEATURES * largest:
        return True
    between = np.abs(np.diff(first.features.reshape(len(first.features), -1), axis=0)).max(1, initial=0.0)
    return bool(np.median(between) > _FEATURES_APART * largest) if between.size else False


def _equal(first: Arrays, second: Arrays) -> bool:
    return bool(np.allclose(flat(first), flat(second), rtol=1e-4, atol=1e-7, equal_nan=True))
