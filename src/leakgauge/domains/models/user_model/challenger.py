"""A finished model: a single release, and records that were in its training or not."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import ChallengerDefaults, Coins, NoControl
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.data.dataset import NAMED_BY_ROW, CategoricalColumn
from leakgauge.domains.models.exposed_records import LABEL, ExposedRecords, ImportedShadows
from leakgauge.domains.models.knowledge import (
    BlackBoxKnowledge,
    CheckpointsKnowledge,
    LabelledRecordsKnowledge,
    TrainingLossKnowledge,
)
from leakgauge.domains.models.property_inference import blind_control
from leakgauge.domains.models.recorded_model import RecordedModel, index_rows, numbered_rows
from leakgauge.domains.models.shadow_models import (
    shadows_with_targets,
    understated_without_shadows,
    unlike_shadows,
)
from leakgauge.domains.models.shadow_predictions import (
    ShadowModels,
    ShadowPredictions,
    read_shadow_predictions,
    recorded_shadows,
    true_class_answers,
)
from leakgauge.domains.models.training.checkpoints import CheckpointedModel
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING
from leakgauge.domains.models.training.trainer import DEFAULT_TRAINER, Examples, Trainer
from leakgauge.domains.models.training.user_trainer import (
    UserTrainer,
    UserTraining,
    load_training,
    training_records,
)
from leakgauge.domains.models.user_model import plan_tables
from leakgauge.domains.models.user_model.accuracy_check import doubtful_accuracy, require_class_order
from leakgauge.domains.models.user_model.records import UserModelRecords, read_records
from leakgauge.domains.models.user_model.resplit_control import ResplitChallenger, resplit_challenger
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.cache import RecentCache
from leakgauge.support.table_reader import convert_value
from leakgauge.support.tabular_objects import content_digest
from leakgauge.support.target_choice import TargetChoice, rows_by_name

_unlike_cache: RecentCache[dict[str, str]] = RecentCache(8)
CLEAR_ADVANTAGE = 0.1  # of an attacker without the model, from which it is named


def record_answers(rows: Floats, answers: Reals) -> RecordedModel:
    """Record the answers of a model; different answers for equal rows are refused."""
    index = index_rows(rows)
    first, group = index.first, index.places(rows)
    apart = ~np.isclose(answers, answers[first][group], rtol=1e-4, atol=1e-6).all(axis=1)
    if apart.any():
        row = int(np.flatnonzero(apart)[0])
        raise BadInput(
            f"challenger.recipe: rows {first[group[row]]} and {row} (counted from 0) are equal once features "
            "are scaled to [0, 1], but the model answers differently; leave out columns with huge numbers, "
            "or the recipe"
        )
    return RecordedModel(index, answers[first])


def numeric_features(features: Any) -> Reals | None:
    """Features as a table of finite numbers; None where they are something else, such as texts."""
    try:
        table = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if table.ndim < 2 or not np.isfinite(table).all():
        return None
    return table.reshape(len(table), -1)


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


@dataclass(frozen=True, eq=False)
class UserModelRound:
    """The only round: the model, the records in question, and the mean loss of its members."""

    model: RecordedModel
    shown: Examples
    mean_loss: float
    checkpoints: CheckpointedModel | None = None


@dataclass(frozen=True, eq=False)
class Challenger(ChallengerDefaults):
    """Owns a finished model; membership was decided when it was trained."""

    records: UserModelRecords
    rows: Floats  # as an attacker has them
    model: RecordedModel
    options: plan_tables.UserModelChallengerTable
    trainer: Trainer | None = None  # of shadow models
    shadows: ShadowModels | None = None  # that were trained elsewhere
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
        shown = self._examples(~self.records.membership.reference)
        index = self.model.index
        seen = [RecordedModel(index, one.log_probabilities[index.first]) for one in self.records.checkpoints]
        checkpoints = CheckpointedModel(tuple(seen)) if seen else None
        return [UserModelRound(self.model, shown, self._mean_loss(), checkpoints)]

    def control(self) -> NoControl:
        return NoControl(
            reason="the model is finished, and there is no training that could be left unprotected"
        )

    def resplit(self) -> ResplitChallenger:
        """The control without dependence: the same records, split anew, and models trained on them."""
        assert self.trainer is not None
        n_members, records = int(self.members.sum()), self.records
        return resplit_challenger(
            self._examples(np.ones(len(self.rows), dtype=np.bool_)),
            np.flatnonzero(~records.membership.reference),
            n_members,
            self.trainer.prepare(PLAIN_TRAINING, n_members),
            [column for name, column in records.groups.items() if name != LABEL],
            features=numeric_features(records.features),
            rows_are_numbered=self.options.recipe is None,
            digest=self.digest,
            notes=self.notes[:1],
        )

    def understated_by(self, attacks: Collection[Any]) -> dict[str, str]:
        """Without shadow models like the model attackers do far worse: alone they clear nobody."""
        found = understated_without_shadows(attacks if self.options.recipe is None else ())
        return found if found or self.shadows is None else self._unlike(self.shadows)

    def understated_after_study(self, attacks: Collection[Any]) -> dict[str, str]:
        """The same with the shadow models that an attack trained, which are in memory then."""
        online = [one.shadows for one in attacks if getattr(one, "mode", "offline") != "offline"]
        if (found := self.understated_by(attacks)) or self.shadows is not None or not online:
            return found
        known, rng = self.knowledge("black_box"), stream(self.seed, Role.STUDY)
        key = (self.digest, online[0], self.seed)
        return _unlike_cache.once(key, lambda: self._unlike(shadows_with_targets(known, online[0], rng)))

    def _unlike(self, shadows: ShadowModels) -> dict[str, str]:
        shown = self._examples(~self.records.membership.reference)
        return unlike_shadows(self.model, shown, self.members, shadows)

    def utility_of(self, block: Sequence[UserModelRound]) -> dict[str, Reals]:
        """The accuracy of the model on members and on other records."""
        if not self.records.classes_known:
            return {}
        right = self.records.right[~self.records.membership.reference]
        return {
            "members": np.array([right[self.members].mean()]),
            "others": np.array([right[~self.members].mean()]),
        }

    def with_exposure(self, targets: Sequence[str | int] | None, shadows: int) -> "Challenger":
        """The same, whose exposure is stated for some records by name, by so many shadow models."""
        named = None if targets is None else TargetChoice(names=tuple(targets))
        number = convert_value(int, shadows, "shadows")
        return replace(self, options=replace(self.options, targets=named, exposure_shadows=number))

    def exposed_records(self) -> ExposedRecords:
        """All records, the attacker's included; without names, their numbers in the file, counted from 0."""
        if self.trainer is None and self.shadows is None:
            raise BadInput(
                "exposure of records needs shadow models, which are trained like the model; say how it was "
                "trained: challenger.train, or challenger.recipe (both need challenger.model); or bring "
                "predictions of models that you trained: challenger.shadows"
            )
        n_members, records = int(self.members.sum()), self.records
        examples = self._examples(np.ones(len(self.rows), dtype=np.bool_))
        names = records.names or tuple(map(str, range(len(examples))))
        trained = self.trainer
        return ExposedRecords(
            examples=examples,
            names=np.array(names),
            trainer=None if trained is None else trained.prepare(PLAIN_TRAINING, max(n_members, 1)),
            imported=self._imported_shadows(),
            chosen=self._chosen(names),
            groups=records.groups,
            n_members=n_members,
            n_shadows=self.options.exposure_shadows,
            seed=self.seed,
            class_names=tuple(map(str, records.class_names or range(examples.classes))),
            features=numeric_features(records.features),
            released=self.model,
        )

    def _imported_shadows(self) -> ImportedShadows | None:
        """The shadows that were trained elsewhere, with the rows of the file in their order."""
        if self.shadows is None:
            return None
        own = self.records.membership.reference
        included = np.zeros((len(self.shadows.models), own.size), dtype=np.bool_)
        included[:, own], included[:, ~own] = self.shadows.rows, self.shadows.targets
        return ImportedShadows(tuple(self.shadows.models), included)

    def _chosen(self, names: tuple[str, ...]) -> Ints | None:
        """The records whose exposure is stated; None: all."""
        wanted = None if self.options.targets is None else self.options.targets.names
        if wanted is None:
            return None
        places = {name: row for row, name in enumerate(names)}
        how = "by data.name" if self.records.names else NAMED_BY_ROW
        return rows_by_name(
            wanted,
            places,
            "challenger.targets.names",
            lambda name: f"no record is called {name!r}; records are named {how}",
        )

    def knowledge(self, name: str) -> Any:
        """Give an attacker what it may know; how to train shadow models only if the plan has a recipe."""
        if name == "blind":
            return self._blind()
        kinds = {"black_box": BlackBoxKnowledge, "training_loss": TrainingLossKnowledge}
        if name == "checkpoints":
            self._require_checkpoints()
            kinds["checkpoints"] = CheckpointsKnowledge
        if name not in kinds:
            raise BadInput(
                f"knowledge {name!r} is not possible for a finished model; use {', '.join(kinds)} or blind"
            )
        if name == "training_loss" and self.options.randomised:
            raise BadInput(
                "knowledge 'training_loss': membership was randomised, and epsilon does not cover what the "
                "mean loss of members reveals about it; use"
                ' knowledge = "black_box" (with threshold = "optimal")'
            )
        # where membership was randomised, the number of members is a secret too
        n_members = self.n_targets // 2 if self.options.randomised else int(self.members.sum())
        trainer = None if self.trainer is None else self.trainer.prepare(PLAIN_TRAINING, max(n_members, 1))
        return kinds[name](
            reference=self._examples(self.records.membership.reference),
            n_members=n_members,
            trainer=trainer,
            targets=self._examples(~self.records.membership.reference),
            shadows=self.shadows,
            rows_are_numbered=self.options.recipe is None,
            features=numeric_features(self.records.features),
        )

    def _require_checkpoints(self) -> None:
        """Refuse an attacker who sees checkpoints where neither model nor shadows have any."""
        if not self.records.checkpoints:
            raise BadInput(
                "knowledge 'checkpoints': the losses at checkpoints of the training are not given; name "
                "their columns (data.losses), or a list of models, the finished one last (challenger.model)"
            )
        if self.options.train is not None:  # whether it gives as many is seen when it trains
            return
        models = () if self.shadows is None else self.shadows.models
        n = len(self.records.checkpoints)
        if not models or not all(
            isinstance(one, CheckpointedModel) and len(one.checkpoints) == n for one in models
        ):
            raise BadInput(
                f"knowledge 'checkpoints': shadow models are compared at the same {n} checkpoints; bring "
                "their losses (challenger.shadows) as the array trajectories, models x rows x checkpoints, "
                "or training code that yields a model at each of them (challenger.train)"
            )

    def _blind(self) -> Any:
        features, shown = numeric_features(self.records.features), ~self.records.membership.reference
        if features is None:
            raise BadInput(
                "knowledge 'blind': the control learns how the records of members differ, and there are no "
                "features that are numbers; name a model and columns of numbers, or leave it out"
            )
        return LabelledRecordsKnowledge(
            features=features[shown], labels=self.records.labels[shown], members=self.members
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
) -> Challenger | ResplitChallenger:
    """Make the challenger that the tables of a plan describe."""
    file, options = plan_tables.read_user_model_tables(data, challenger, mechanism)
    training = None if options.train is None else load_training(options.train, folder, "challenger.train")
    records = read_records(file, options, folder)
    predictions = None
    if options.shadows is not None:
        predictions = read_shadow_predictions(folder / options.shadows, len(records.labels))
    notes = membership_notes(Path(file.source).name, options, records)
    made = assemble(records, options, training=training, predictions=predictions, notes=notes, seed=seed)
    return made.resplit() if options.control else made


def assemble(
    records: UserModelRecords,
    options: plan_tables.UserModelChallengerTable,
    *,
    training: UserTraining | None,
    predictions: ShadowPredictions | None,
    notes: Sequence[str],
    seed: int = 0,
) -> Challenger:
    """Make a challenger of records, and of what shadow models are trained by or have predicted."""
    if options.accuracy_check and not options.randomised:  # canaries may have wrong labels
        require_class_order(records, "challenger.model" if options.model else "data")
    records, kind = _as_predicted(records, predictions)
    logs, features = records.answers.log_probabilities, records.features
    rows = numbered_rows(len(logs)) if options.recipe is None else scale_features(features)
    model = record_answers(rows, logs)
    trainer: Trainer | None = options.shadow_trainer()
    if training is not None:
        known = training_records(rows, features, records.class_names)
        trainer = UserTrainer(training=training, records=known, cache=options.cache)
    shadows = None
    if predictions is not None:
        recorded = recorded_shadows(predictions, model.index, logs.shape[1], kind)
        own = records.membership.reference
        shadows = ShadowModels(recorded, predictions.included[:, own], predictions.included[:, ~own])
    identity = [records.digest, repr(trainer)]
    if predictions is not None:
        identity += [
            content_digest(predictions.values),
            content_digest(predictions.included),
            predictions.kind,
        ]
    digest = sha256("\n".join(identity).encode(errors="surrogatepass")).hexdigest()
    if (different := _recognised_without_model(records, options, digest)) is not None:
        notes = (*notes, different)
    return Challenger(
        replace(records, digest=digest), rows, model, options, trainer, shadows, tuple(notes), seed
    )


def _recognised_without_model(
    records: UserModelRecords, options: plan_tables.UserModelChallengerTable, digest: str
) -> str | None:
    """A note where the records of members alone differ from the others; None where that is not seen."""
    features = numeric_features(records.features)
    if features is None or options.randomised:
        return None
    asked = np.flatnonzero(~records.membership.reference)
    members = records.membership.members
    table = Examples(_scaled_to_unit(features), records.labels, records.answers.log_probabilities.shape[1])
    seen = blind_control(table, (asked[members], asked[~members]), digest, np.random.default_rng(0))
    if seen is None or seen.advantage - 2 * seen.error < CLEAR_ADVANTAGE:
        return None
    return (
        f"beware: an attacker who never sees the model is right about {(1 + seen.advantage) / 2:.0%} of the "
        "records: your members differ from the others, and what attacks find is not what the model reveals; "
        "see the controls blind and control = true"
    )


def _scaled_to_unit(features: Reals) -> Floats:
    """Features scaled to [0, 1]; huge ranges, which no trainer here could use, become constant."""
    low, high = features.min(axis=0), features.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (features - low) / np.where(high > low, high - low, 1.0)
    return np.nan_to_num(scaled, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)


def _as_predicted(
    records: UserModelRecords, predictions: ShadowPredictions | None
) -> tuple[UserModelRecords, plan_tables.LossKind]:
    """The records in the form of the predictions: of the true class alone, where these are about it alone.

    The accuracy of the model is then not known. Losses of which some are negative are no cross-entropies.
    """
    answers, alone = records.answers, predictions is not None and predictions.about_true_class
    kind: plan_tables.LossKind = "other" if answers.log_probabilities.shape[1] == 1 else "cross_entropy"
    if predictions is None or not alone:
        return records, kind
    if predictions.are_losses and (predictions.values < 0).any():
        kind = "other"
    logs = true_class_answers(answers.log_probabilities, records.labels)
    if kind == "other":
        if not predictions.are_losses:
            raise BadInput("challenger.shadows: the model has losses; give those of the shadow models too")
        logs = -records.losses[:, None]
    seen = [true_class_answers(one.log_probabilities, records.labels) for one in records.checkpoints]
    narrow = slice(1 if kind == "other" else None)
    return replace(
        records,
        checkpoints=tuple(
            replace(one, log_probabilities=two[:, narrow]) for one, two in zip(records.checkpoints, seen)
        ),
        answers=replace(answers, log_probabilities=logs),
        labels=np.zeros_like(records.labels),
        classes_known=False,
        groups=_label_groups(records) | dict(records.groups),
    ), kind


def _label_groups(records: UserModelRecords) -> dict[str, CategoricalColumn]:
    """The true classes as a group, where they are known."""
    if not records.classes_known:
        return {}
    names = records.class_names or range(records.answers.log_probabilities.shape[1])
    return {LABEL: CategoricalColumn(records.labels, tuple(map(str, names)))}


def membership_notes(
    source: str, options: plan_tables.UserModelChallengerTable, records: UserModelRecords
) -> list[str]:
    """How the records were read and what the numbers assume; nothing about any record."""
    members, reference = records.membership.members, records.membership.reference
    counts = f"{int(members.sum()):,} members, {int((~members).sum()):,} others"
    own = f", {int(reference.sum()):,} of the attacker" if reference.any() else ""
    how = "read from the file" if options.model is None else f"returned by {options.model}"
    notes = [
        f"{source}: {counts}{own}; {records.answers.description} {how}",
        "one model is one release: intervals are over its records, and say nothing about other models",
    ]
    if options.recipe is not None:
        kind = options.recipe.get("name", DEFAULT_TRAINER)
        notes.append(
            f"shadow models are trained by challenger.recipe ({kind}); if the model was trained in another "
            "way, attacks with shadow models are weaker than they could be"
        )
    checked = options.accuracy_check and not options.randomised
    if checked and (doubt := doubtful_accuracy(records)) is not None:
        notes.append(doubt)
    if options.train is not None:
        notes.append("shadow models are trained by your own training code (train)")
    if options.shadows is not None:
        notes.append("shadow models were trained elsewhere; which rows each was trained on is as stated")
    if not options.randomised:
        notes.append(
            "membership was not randomised: any other difference between members and others (their source, "
            "their time) counts as a leak too, and no bound on epsilon follows"
        )
    return notes
