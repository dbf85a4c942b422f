"""Controls through the user's client before the first round: it trains on the rows that it is given."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.client_games import (
    AppRows,
    Arrays,
    ClientAnswer,
    ClientGame,
    RowKey,
)
from leakgauge.domains.federated.flower_app.client_process import ClientProcess
from leakgauge.domains.federated.flower_app.planted_layers import TargetFeatures, flat, silent_layers

_FEATURES_APART = 1e-2  # of the largest feature
_SHARE = 0.75  # of a client's rows that are the row in question; the others are plausible ones


@dataclass(frozen=True, kw_only=True)
class PathCheck:
    """What the controls showed: the targets' labels as the client uses them, and whether it adds noise.

    ``features`` are those of the first target and of other rows.
    """

    labels: tuple[int, ...]
    own_noise: bool
    features: TargetFeatures
    notes: tuple[str, ...] = ()


def check_path(process: ClientProcess, rows: AppRows, *, stateful: bool) -> PathCheck:
    """Check that the client trains on the rows it is given; else refuse it with what was seen."""
    return _Check(process, rows).run(stateful)


@dataclass(frozen=True, eq=False)
class _Check:
    process: ClientProcess
    rows: AppRows

    def run(self, stateful: bool) -> PathCheck:
        target = self.rows.targets[0]
        (first, own), again = self._silent(target), self._silent(target)[0]
        other, rest = self._silent(None)
        assert first.features is not None
        assert other.features is not None
        if np.array_equal(first.features, other.features, equal_nan=True):
            raise BadInput(
                "challenger.app: the client was given two sets of rows that have none in common, and its "
                "network saw the same numbers. Possible causes: rows ignored (it trains on others than it "
                "loads), or each row is changed into the same numbers"
            )
        notes = []
        if not _equal(first.update, again.update):
            notes.append("the client's answers to the same message differ")
            if not stateful:
                raise BadInput(
                    "challenger.app: the client's answers to the same message with the same seed differ. "
                    "Possible causes: it keeps state between messages, or draws random numbers that no seed "
                    "reaches; rounds would not be independent. Write stateful = true if they are"
                )
        if not any(np.any(array) for array in first.update.values()):
            raise BadInput(
                "challenger.app: the client returned the weights as they were sent. Possible causes: it does "
                "not train, or its update is clipped or rounded to nothing"
            )
        moved, varies = bool(np.any(first.update[self.process.description.stack.weights[0]])), _varies(own)
        if moved:
            notes.append("the client adds noise of its own, which the positive control cannot leave out")
        elif varies:
            notes.append(
                "what enters the crafted layers for a record differs each time, which the positive control "
                "cannot leave out. Possible causes: noise, dropout, statistics of other records, or the app "
                "changes records before it trains, so that the audit does not see which is which"
            )
        labels = tuple(self._label(key, moved or varies) for key in self.rows.targets)
        features = TargetFeatures(own, rest, labels[0])
        return PathCheck(labels=labels, own_noise=moved or varies, features=features, notes=tuple(notes))

    def _silent(self, key: RowKey | None) -> tuple[ClientAnswer, Reals]:
        """Train with layers through which nothing flows, on plausible rows of which most are this one.

        Also return what enters the crafted layers for this row; without a row, for all.
        """
        about, rng = self.process.description, np.random.default_rng(key is None)
        copies = round(_SHARE * self.rows.per_client)
        rows = self.rows.draw(self.rows.reference, key, rng, copies=copies)
        arrays = silent_layers(about.sent, about.stack)
        game = ClientGame(arrays=arrays, rows=rows, seed=1, protection="off", features=True)
        answer = next(iter(self.process.play([game])))
        assert answer.features is not None
        assert answer.positions is not None
        places = [place for place, row in enumerate(rows) if key in (None, row)]
        return answer, answer.features[np.isin(answer.positions, places)].astype(np.float64)

    def _label(self, key: RowKey, own_noise: bool) -> int:
        """The label of a row as the client uses it: the output that training on this row most raises."""
        about, bias = self.process.description, self.process.description.stack.biases[-1]
        stated = about.labels.get(key)
        if not about.stack.ends:
            return stated or 0  # the crafted layers do without it
        outputs = about.sent[about.stack.weights[-1]].shape[0]
        if stated is not None and (bias is None or outputs == 1 or own_noise):
            return stated
        if bias is None or own_noise:
            why = "the last layer has no bias" if bias is None else "the client adds noise of its own"
            raise BadInput(
                f"challenger.app: the label of a row cannot be found: {why}, and rows are neither (values, "
                "label) nor have a key 'label'"
            )
        change = self._silent(key)[0].update[bias]
        raised = int(np.argmax(change)) if outputs > 1 else int(change[0] > 0)
        if stated is not None and stated != raised:
            raise BadInput(
                f"challenger.app: labels permuted: training on a row with label {stated} raises output "
                f"{raised} most. Possible causes: the client changes labels, the order of its outputs, or "
                "the weights of classes"
            )
        return raised


def _varies(own: Reals) -> bool:
    """Whether the same row enters the crafted layers with other numbers each time.

    Weight decay changes them a little from step to step.
    """
    between = np.abs(np.diff(own.reshape(len(own), -1), axis=0)).max(1, initial=0.0)
    return bool(np.median(between) > _FEATURES_APART * np.abs(own).max()) if between.size else False


def _equal(first: Arrays, second: Arrays) -> bool:
    return bool(np.allclose(flat(first), flat(second), rtol=1e-4, atol=1e-7, equal_nan=True))
