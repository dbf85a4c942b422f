"""Train shadow models to learn how the probabilities of members look."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reading, Scorer
from leakgauge.domains.models.knowledge import BlackBoxKnowledge
from leakgauge.domains.models.release import ModelsView
from leakgauge.domains.models.shadow_models import known_trainer, require_shadows, train_shadows
from leakgauge.domains.models.training import gradient_descent, mlp, optimizers, schedule
from leakgauge.domains.models.training.trainer import Classifier, Examples
from leakgauge.strategies.gradient_clipping import Floats
from leakgauge.support.parallel import parallel_map

AttackFeatures: TypeAlias = Literal["probabilities", "log_probabilities"]

_ATTACK_RECIPE = gradient_descent.TrainingRecipe(
    schedule=schedule.TrainingSchedule(
        rows=100, batch=100, epochs=100, sampling=schedule.BatchSampling.SHUFFLED
    ),
    hidden=(64, 64),
    optimizer=optimizers.Adam(rate=0.01),
)
_MIN_LOG = -30.0  # smallest log-probability that an attack network sees


@dataclass(frozen=True, kw_only=True)
class Attack:
    """One network for each class separates a shadow's training rows from others (Shokri et al. 2017).

    As in Humphries et al. (2023): the reference is halved, each of the ``shadows`` is trained on ``rows`` of
    one half (two fifths of it by default), and as many rows of the other half are its others. The attack
    networks have two layers of 64 units, and see the probabilities of all classes; the score is their
    log-odds. Shadows are trained like the released model; with ``private = false`` without noise, as in that
    paper. Its code mixes up labels and rows, which is fixed here. Its weight decay of 1e-6 is left out.
    """

    accepts: ClassVar[tuple[str, ...]] = ("black_box", "training_loss", "components")

    shadows: int = 5
    rows: int | None = None
    private: bool = True
    features: AttackFeatures = "probabilities"

    def __post_init__(self) -> None:
        require_shadows(self.shadows, 1)
        if self.rows is not None and not self.rows >= 1:
            raise BadInput(f"rows must be >= 1, got {self.rows}")

    def study(self, knowledge: BlackBoxKnowledge, rng: Generator) -> Scorer[ModelsView]:
        trainer, reference = known_trainer(knowledge), knowledge.reference
        chosen, others = self._halves(len(reference), rng)
        trainer = trainer if self.private else trainer.without_noise()
        models = train_shadows(reference, chosen, trainer, rng, knowledge.n_members)
        training_sets = _attack_examples(models, reference, chosen, others, self.features)
        seeds = rng.integers(2**63, size=len(training_sets)).tolist()
        networks = parallel_map(_train_attack_network, list(zip(training_sets.values(), seeds)))
        studied = {
            "shadows": float(self.shadows),
            "rows_per_shadow": float(chosen[0].sum()),
            "classes_learned": float(len(training_sets)),
        }
        score = _Score(dict(zip(training_sets, networks)), self.features)
        return Scorer(score, Reading(threshold=0.0, signed=True, studied=studied))

    def _halves(self, n: int, rng: Generator) -> tuple[Bits, Bits]:
        """Two masks, shadows x reference rows: the rows a shadow is trained on, and its others."""
        half = n // 2
        size = int(2 * half / 5) if self.rows is None else self.rows
        if size > half:
            raise BadInput(
                f"shadows of {size} rows need {2 * size} in the reference, which has {n}; lower rows, or "
                "raise challenger.reference"
            )
        order = rng.permutation(n)
        drawn = np.zeros((2, self.shadows, n), dtype=np.bool_)
        for side, pool in zip(drawn, (order[:half], order[half:])):
            for row in side:
                row[rng.choice(pool, size, replace=False)] = True
        return drawn[0], drawn[1]


@dataclass(frozen=True, eq=False)
class _Score:
    """The log-odds by the network of each record's class; 0 for a class without a network."""

    networks: dict[int, mlp.MlpClassifier]
    features: AttackFeatures

    def __call__(self, view: ModelsView, rng: Generator) -> Reals:
        return np.array(
            [self._round(model, shown) for model, shown in zip(view.models, view.shown, strict=True)]
        )

    def _round(self, model: Classifier, shown: Examples) -> Reals:
        outputs, scores = _model_outputs(model, shown.rows, self.features), np.zeros(len(shown))
        for label, network in self.networks.items():
            own = shown.labels == label
            logs = network.log_probabilities(outputs[own])
            scores[own] = logs[:, 1] - logs[:, 0]
        return scores


def _attack_examples(
    models: tuple[Classifier, ...],
    reference: Examples,
    chosen: Bits,
    others: Bits,
    features: AttackFeatures,
) -> dict[int, Examples]:
    """For each class the answers of shadows for their rows (1) and for others (0), if there are both."""
    outputs, members, labels = [], [], []
    for model, of_model, left_out in zip(models, chosen, others):
        rows = np.concatenate([np.flatnonzero(of_model), np.flatnonzero(left_out)])
        outputs.append(_model_outputs(model, reference.rows[rows], features))
        members.append(of_model[rows])
        labels.append(reference.labels[rows])
    output, member, label = (np.concatenate(parts) for parts in (outputs, members, labels))
    training_sets = {}
    for one in range(reference.classes):
        own = label == one
        if 0 < member[own].sum() < own.sum():
            training_sets[one] = Examples(output[own], member[own].astype(np.int64), 2)
    return training_sets


def _model_outputs(model: Classifier, rows: Floats, features: AttackFeatures) -> Floats:
    logs = np.maximum(model.log_probabilities(rows), _MIN_LOG)
    return (np.exp(logs) if features == "probabilities" else logs).astype(np.float32)


def _train_attack_network(work: tuple[Examples, int]) -> mlp.MlpClassifier:
    examples, seed = work
    return gradient_descent.train_network(
        examples, gradient_descent.recipe_for_rows(_ATTACK_RECIPE, len(examples)), np.random.default_rng(seed)
    )
