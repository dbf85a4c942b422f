from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import challenger as models_challenger
from leakgauge.domains.models import knowledge
from leakgauge.domains.models.attacks import blind
from leakgauge.domains.models.attacks.property_first import Attack, fit_model_classifier, probe_probabilities
from leakgauge.domains.models.knowledge import ComponentsKnowledge
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


COMPONENTS = {"name": "source", "group": "component", "members": "0"}
DATA = {"rows": 3_000, "features": 8, "components": 3}


def owner(game, data=DATA, **changes):
    table = {
        "game": game,
        "members": 200,
        "targets": 8,
        "dependence": COMPONENTS,
        "epochs": 15,
        "batch": 50,
        "hidden": [],
        "rate": 0.02,
    }
    return models_challenger.build(
        data=data, challenger=table | changes, mechanism={"name": "none"}, folder=Path(), seed=3
    )


def played(challenger, attack, name, n_rounds):
    known = knowledge.build(name, {}, challenger, 3)
    scorer = attack.study(known, stream(1, Role.STUDY))
    return play(challenger, {"it": Adversary(known, scorer)}, 1, range(n_rounds), 0)["it"]


def advantage(trials):
    guessed = trials.scores >= 0
    return guessed[trials.members].mean() - guessed[~trials.members].mean()


def test_component_visible_in_model_reveals_members():
    """The model's component being known, a wrong guess about a record is any of the two other components."""
    challenger = owner("mixture", DATA | {"distance": 4.0}, epochs=60)
    trials = played(challenger, Attack(models=12, probes=60), "components", 60)
    studied = trials.reading.studied
    assert studied["component_of_model"] > 0.95
    assert studied["component_of_record"] > 0.8
    right = studied["component_of_record"]
    assert advantage(trials) == pytest.approx(right - (1 - right) / 2, abs=0.12)
    assert studied["shadows"] == 36
    assert studied["rows_per_shadow"] == 200


def test_identical_components_reveal_nothing():
    """Rows of all components have the same law: the attack is no better than guessing."""
    challenger = owner("mixture", DATA | {"distance": 0.0, "flip": 1.0}, targets=1, epochs=2)
    trials = played(challenger, Attack(models=8, probes=20), "components", 200)
    assert abs(advantage(trials)) < 3 * np.sqrt(0.5 / 100)
    assert trials.reading.studied["component_of_record"] == pytest.approx(1 / 3, abs=0.08)


def test_known_group_needs_no_shadows_and_matches_blind():
    trials = played(owner("group", epochs=1), Attack(), "components", 5)
    alone = played(owner("group", epochs=1), blind.Attack(), "blind", 5)
    assert set(trials.reading.studied) == {"component_of_record"}
    np.testing.assert_array_equal(trials.scores, alone.scores)


def test_rejects_too_few_shadows_or_probes():
    with pytest.raises(BadInput, match="models must be >= 4, got 2"):
        Attack(models=2)
    with pytest.raises(BadInput, match="probes must be >= 1, got 0"):
        Attack(probes=0)


def test_rejects_noisy_mean_with_suggestion():
    with pytest.raises(BadInput, match="for a noisy mean use likelihood"):
        Attack().study(object(), np.random.default_rng(0))
