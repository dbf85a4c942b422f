"""A finished model: a single release, and records that were in its training or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, ChallengerDefaults, Coins, NoControl, Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.models.data.dataset import Ints
from leakgauge.domains.models.exposed_records import ExposedRecords
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING
from leakgauge.domains.models.training.trainer import DEFAULT_TRAINER, Examples
from leakgauge.domains.models.user_model import plan_tables
from leakgauge.domains.models.user_model.records import UserModelRecords, read_records
from leakgauge.strategies.gradient_clipping import Floats

RowKeys: TypeAlias = Any  # rows as single values, for sorting and searching


@dataclass(frozen=True, eq=False)
class RecordedModel:
    """The recorded answers of a model, found by the values of a row; other rows have no answer."""

    keys: RowKeys  # sorted
    answers: Reals  # log-probabilities, aligned with the keys

    def log_probabilities(self, rows: Floats) -> Reals:
        """Rows x classes; no answer is infinite."""
        wanted = _row_keys(rows)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        if (unknown := np.flatnonzero(self.keys[place] != wanted)).size:
            raise BadInput(
                f"challenger.model was not queried about {unknown.size} of {len(rows)} rows that an attack "
                "needs; only rows of the file have answers"
            )
        return self.answers[place]


def record_answers(rows: Floats, answers: Reals) -> RecordedModel:
    """Record the answers of a model; different answers for equal rows are refused."""
    keys, first, group = np.unique(_row_keys(rows), return_index=True, return_inverse=True)
    apart = ~np.isclose(answers, answers[first][group], rtol=1e-4, atol=1e-6).all(axis=1)
    if apart.any():
        row = int(np.flatnonzero(apart)[0])
        raise BadInput(
            f"challenger.recipe: rows {first[group[row]]} and {row} (counted from 0) are equal once features "
            "are scaled to [0, 1], but the model answers differently; leave out columns with huge numbers, "
            "or the recipe"
        )
    return RecordedModel(keys, answers[first])


def row_number_features(n_rows: int) -> Any:
    """Rows that hold only their number: enough where no shadow models are trained."""
    return np.arange(n_rows, dtype=np.float64)[:, None]


def scale_features(features: Reals) -> Floats:
    """Features scaled to [0, 1] over all rows, for training shadow models; constant columns become 0."""
    low, high = features.min(axis=0), features.max(axis=0)
    with np.errstate(over="ignore"):
        width = high - low
    if not np.isfinite(width).all():
        raise BadInput(
            f"challenger.recipe: feature {int(np.argmin(np.isfinite(width)))} (counted from 0) has too wide "
            "a range to be scaled; leave it out: data.features"
        )
    return ((features - low) / np.where(width > 0, width, 1.0)).astype(np.float32)


def _row_keys(rows: Floats) -> RowKeys:
    whole = np.ascontiguousarray(rows + rows.dtype.type(0))  # no -0
    return whole.view(np.dtype((np.void, whole.dtype.itemsize * whole.shape[1]))).ravel()


@dataclass(frozen=True, eq=False)
class UserModelRound:
    """The only round: the model, the records in question, and the mean loss of its members."""

    model: RecordedModel
    shown: Examples
    mean_loss: float


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Owns a finished model; membership was decided when it was trained."""

    records: UserModelRecords
    rows: Floats  # as an attacker has them
    model: RecordedModel
    options: plan_tables.UserModelChallengerTable
    notes: tuple[str, ...] = ()
    seed: int = 0

    most_rounds = 1

    @property
    def n_targets(self) -> int:
        return int(self.members.size)

    @property
    def coins(self) -> Coins:
        return Coins.FAIR if self.options.randomised else Coins.GIVEN

    @property
    def guarantee(self) -> Guarantee | None:
        return self.options.guarantee

    @property
    def digest(self) -> str:
        return self.records.digest

    @property
    def members(self) -> Bits:
        return self.records.membership.members

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        """The true membership, which is given; the stream is not used."""
        if n_rounds != 1:
            raise BadInput(f"rounds: one model is one release, got {n_rounds}; write rounds = 1")
        return self.members[None]

    def release(self, members: Bits, rng: Generator) -> list[UserModelRound]:
        return [
            UserModelRound(self.model, self._examples(~self.records.membership.reference), self._mean_loss())
        ]

    def control(self) -> NoControl:
        return NoControl(
            reason="the model is finished, and there is no training that could be left unprotected"
        )

    def utility_of(self, block: Sequence[UserModelRound]) -> dict[str, Reals]:
        """The accuracy of the model on members and on other records."""
        if not self.records.classes_known:
            return {}
        right = self.records.right[~self.records.membership.reference]
        return {
            "members": np.array([right[self.members].mean()]),
            "others": np.array([right[~self.members].mean()]),
        }

    def exposed_records(self) -> ExposedRecords:
        """All rows of the file, the attacker's included; their names are their numbers, counted from 0."""
        trainer = self.options.shadow_trainer()
        if trainer is None:
            raise BadInput(
                "exposure of records needs shadow models, which are trained like the model; say how it was "
                "trained: challenger.recipe (which needs challenger.model)"
            )
        n_members = int(self.members.sum())
        everyone = np.ones(len(self.rows), dtype=np.bool_)
        examples = self._examples(everyone)
        return ExposedRecords(
            examples=examples,
            names=np.arange(len(examples)).astype(np.str_),
            trainer=trainer.prepare(PLAIN_TRAINING, max(n_members, 1)),
            n_members=n_members,
            n_shadows=self.options.exposure_shadows,
            seed=self.seed,
            class_names=tuple(map(str, range(examples.classes))),
            released=self.model,
        )

    def knowledge(self, name: str) -> Any:
        """Give an attacker what it may know; how to train shadow models only if the plan has a recipe."""
        from leakgauge.domains.models.knowledge import BlackBoxKnowledge, TrainingLossKnowledge

        kinds = {"black_box": BlackBoxKnowledge, "training_loss": TrainingLossKnowledge}
        if name not in kinds:
            raise BadInput(
                f"knowledge {name!r} is not possible for a finished model; use {' or '.join(kinds)}"
            )
        if name == "training_loss" and self.options.randomised:
            raise BadInput(
                "knowledge 'training_loss': membership was randomised, and epsilon does not cover what the "
                "mean loss of members reveals about it; use"
                ' knowledge = "black_box" (with threshold = "optimal")'
            )
        # where membership was randomised, the number of members is a secret too
        n_members = self.n_targets // 2 if self.options.randomised else int(self.members.sum())
        trainer = self.options.shadow_trainer()
        return kinds[name](
            reference=self._examples(self.records.membership.reference),
            n_members=n_members,
            trainer=None if trainer is None else trainer.prepare(PLAIN_TRAINING, max(n_members, 1)),
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
    seed: int,
) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    file, options = plan_tables.read_user_model_tables(data, challenger, mechanism)
    records = read_records(file, options, folder)
    logs, features = records.answers.log_probabilities, records.features
    rows = (
        row_number_features(len(logs))
        if options.recipe is None or features is None
        else scale_features(features)
    )
    return Challenger(
        records, rows, record_answers(rows, logs), options, tuple(_notes(file, options, records)), seed
    )


def _notes(
    file: plan_tables.UserModelDataTable,
    options: plan_tables.UserModelChallengerTable,
    records: UserModelRecords,
) -> list[str]:
    """How the file was read and what the numbers assume; nothing about any record."""
    members, reference = records.membership.members, records.membership.reference
    counts = f"{int(members.sum()):,} members, {int((~members).sum()):,} others"
    own = f", {int(reference.sum()):,} of the attacker" if reference.any() else ""
    how = "read from the file" if options.model is None else f"returned by {options.model}"
    notes = [
        f"{Path(file.source).name}: {counts}{own}; {records.answers.description} {how}",
        "one model is one release: intervals are over its records, and say nothing about other models",
    ]
    if options.recipe is not None:
        kind = options.recipe.get("name", DEFAULT_TRAINER)
        notes.append(
            f"shadow models are trained by challenger.recipe ({kind}); if the model was trained in another "
            "way, attacks with shadow models are weaker than they could be"
        )
    if not options.randomised:
        notes.append(
            "membership was not randomised: any other difference between members and others (their source, "
            "their time) counts as a leak too, and no bound on epsilon follows"
        )
    return notes
