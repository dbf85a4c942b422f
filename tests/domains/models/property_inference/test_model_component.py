from dataclasses import replace

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.knowledge import ComponentsKnowledge
from leakgauge.domains.models.property_inference.model_component import (
    fit_model_classifier,
    probe_probabilities,
)
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe
from leakgauge.domains.models.training.mlp import MlpClassifier, MlpShape
from leakgauge.domains.models.training.optimizers import Sgd
from leakgauge.domains.models.training.schedule import TrainingSchedule
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.network import NetworkTrainer


def component(n, rule, seed) -> Examples:
    """Rows with a label that a feature decides: by its sign, or by the opposite, or by a coin."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 3)).astype(np.float32)
    labels = (rule * rows[:, 0] > 0) if rule else rng.random(n) < 0.5
    return Examples(rows, labels.astype(np.int64), 2)


def known(rules, n=100, *, trainer=True) -> ComponentsKnowledge:
    schedule = TrainingSchedule(rows=60, batch=20, epochs=20)
    recipe = TrainingRecipe(schedule=schedule, hidden=(), optimizer=Sgd(rate=0.5))
    kinds = tuple(component(n, rule, seed) for seed, rule in enumerate(rules))
    return ComponentsKnowledge(
        reference=kinds[0],
        n_members=60,
        trainer=NetworkTrainer(recipe=recipe) if trainer else None,
        targets=None,
        components=kinds,
        names=tuple(map(str, range(len(kinds)))),
        fixed=None,
    )


def test_models_of_opposite_rules_are_separated():
    found = fit_model_classifier(known((1, -1)), 8, 20, np.random.default_rng(1))
    assert found.studied == {"component_of_model": 1.0, "shadows": 16.0, "rows_per_shadow": 50.0}
    new = [MlpClassifier(MlpShape(3, 2, ()), np.float32([-sign, 0, 0, sign, 0, 0, 0, 0])) for sign in (3, -3)]
    assert found(new).argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize(("n", "rows"), [(50, 25), (400, 60)])
def test_few_rows_are_split_in_half(n, rows):
    assert (
        fit_model_classifier(known((1, -1), n=n), 4, 20, np.random.default_rng(1)).studied["rows_per_shadow"]
        == rows
    )


def test_identical_components_are_not_separated():
    """By the rows that shadows share, a learner would reach 0.85 here."""
    found = []
    for number in range(8):
        kinds = tuple(component(100, 0, [number, kind]) for kind in range(2))
        alike = replace(known((0, 0)), components=kinds)
        found.append(
            fit_model_classifier(alike, 16, 20, np.random.default_rng(number)).studied["component_of_model"]
        )
    assert np.mean(found) == pytest.approx(0.5, abs=0.2)


def test_features_are_class_probabilities_of_probes():
    network = MlpClassifier(MlpShape(3, 2, ()), np.zeros(8, dtype=np.float32))
    np.testing.assert_allclose(probe_probabilities([network], component(5, 1, 0)), np.full((1, 10), 0.5))


def test_rejects_model_with_unknown_training():
    with pytest.raises(BadInput, match="shadow models are trained like the released model"):
        fit_model_classifier(known((1, -1), trainer=False), 4, 20, np.random.default_rng(1))
