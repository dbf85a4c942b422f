"""One model that was trained before: a single release, and records that were in it or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Coins, Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.own.recorded import Recorded, numbered, record, scaled
from leakgauge.domains.models.own.records import Records, read_records
from leakgauge.domains.models.own.words import ChallengerTable, DataTable, read_words
from leakgauge.domains.models.table.sheet import Ints
from leakgauge.domains.models.training.learning import Examples
from leakgauge.strategies.clipping import Floats


@dataclass(frozen=True, eq=False)
class Given:
    """The only round: the model, the records in question, and how it does on its members."""

    model: Recorded
    shown: Examples
    mean_loss: float


@dataclass(frozen=True, eq=False)
class Challenger:
    """Holds a model that somebody else trained; who was in was decided then."""

    records: Records
    rows: Floats  # as an adversary has them
    model: Recorded
    said: ChallengerTable
    notes: tuple[str, ...] = ()

    most_rounds = 1

    @property
    def n_targets(self) -> int:
        return int(self.members.size)

    @property
    def coins(self) -> Coins:
        return Coins.FAIR if self.said.randomised else Coins.GIVEN

    @property
    def guarantee(self) -> Guarantee | None:
        return self.said.guarantee

    @property
    def digest(self) -> str:
        return self.records.digest

    @property
    def members(self) -> Bits:
        return self.records.membership.members

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        """The bits as they were, whatever the stream says."""
        if n_rounds != 1:
            raise BadInput(f"rounds: one model is one release, got {n_rounds}; write rounds = 1")
        return self.members[None]

    def release(self, members: Bits, rng: Generator) -> list[Given]:
        return [Given(self.model, self._examples(~self.records.membership.reference), self._mean_loss())]

    def utility_of(self, played: Sequence[Given]) -> dict[str, Reals]:
        """How often the model is right about members, and about others."""
        if not self.records.classes_known:
            return {}
        right = self.records.right[~self.records.membership.reference]
        return {
            "members": np.array([right[self.members].mean()]),
            "others": np.array([right[~self.members].mean()]),
        }

    def knowledge(self, name: str) -> Any:
        """Give an adversary what it may know; how to train shadows only if the plan says so."""
        from leakgauge.domains.models.knowledge import BlackBox, TrainingLoss

        kinds = {"black_box": BlackBox, "training_loss": TrainingLoss}
        if name not in kinds:
            raise BadInput(
                f"knowledge {name!r} is not for a model that was trained before; use {' or '.join(kinds)}"
            )
        if name == "training_loss" and self.said.randomised:
            raise BadInput(
                "knowledge 'training_loss': coins decided who is in, and the mean loss of members tells of "
                'them what no epsilon covers; use knowledge = "black_box" (with threshold = "optimal")'
            )
        # where coins were flipped, how many fell on one side is a secret too
        n_members = self.n_targets // 2 if self.said.randomised else int(self.members.sum())
        recipe = self.said.recipe
        return kinds[name](
            reference=self._examples(self.records.membership.reference),
            n_members=n_members,
            recipe=None if recipe is None else recipe.recipe(max(n_members, 1)),
            targets=self._examples(~self.records.membership.reference),
        )

    def _examples(self, rows: Bits) -> Examples:
        labels: Ints = self.records.labels[rows]
        return Examples(self.rows[rows], labels, self.records.answers.log_probabilities.shape[1])

    def _mean_loss(self) -> float:
        return float(self.records.losses[~self.records.membership.reference][self.members].mean())


def build(
    *,
    data: dict[str, Any],
    challenger: dict[str, Any],
    mechanism: dict[str, Any],
    folder: Path,
    seed: int,  # noqa: ARG001
) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    asked, said = read_words(data, challenger, mechanism)
    records = read_records(asked, said, folder)
    logs, features = records.answers.log_probabilities, records.features
    rows = numbered(len(logs)) if said.recipe is None or features is None else scaled(features)
    return Challenger(records, rows, record(rows, logs), said, tuple(_notes(asked, said, records)))


def _notes(asked: DataTable, said: ChallengerTable, records: Records) -> list[str]:
    """How the file was read, and what the numbers rest on; nothing of any record."""
    members, reference = records.membership.members, records.membership.reference
    counts = f"{int(members.sum()):,} members, {int((~members).sum()):,} others"
    own = f", {int(reference.sum()):,} of the adversary" if reference.any() else ""
    how = "read from the file" if said.model is None else f"returned by {said.model}"
    notes = [
        f"{Path(asked.source).name}: {counts}{own}; {records.answers.words} {how}",
        "one model is one release: intervals are over its records, and say nothing of other models",
    ]
    if said.recipe is not None:
        notes.append(
            "shadows are networks trained by challenger.recipe; the model may have been trained otherwise, "
            "which makes attacks with shadows weaker"
        )
    if not said.randomised:
        notes.append(
            "who was in was not decided by coins: whatever else differs between members and others (their "
            "source, their time) counts as a leak too, and no bound on epsilon follows"
        )
    return notes
