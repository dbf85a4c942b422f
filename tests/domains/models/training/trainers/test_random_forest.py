"""A plan about a random forest: shadow models are forests too, and what is about networks is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leakgauge.catalog import prepare_audit
from leakgauge.cli.main import main
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models import knowledge
from leakgauge.domains.models.attacks.lira import Attack as Lira
from leakgauge.domains.models.attacks.rmia import Attack as Rmia
from leakgauge.domains.models.attacks.strong import Attack as Strong
from leakgauge.domains.models.challenger import build
from leakgauge.domains.models.shadow_models import shadows_with_targets
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING
from leakgauge.domains.models.training.trainer import Examples, accuracy
from leakgauge.domains.models.training.trainers import network
from leakgauge.domains.models.training.trainers.random_forest import ForestClassifier, Trainer
from leakgauge.plan import read_plan

FOREST = {"name": "random_forest", "trees": 20}
PLAN = """
seed = 3
[[audit]]
name = "forest"
domain = "models"
rounds = 10
block = 5
data = { rows = 2_000, features = 8, distance = 2.0, flip = 0.05 }
mechanism = { name = "none" }
challenger = { members = 100, targets = 50, trainer = { name = "random_forest", trees = 20 } }
attacks = [
  { name = "loss_threshold", threshold = "optimal", label = "loss" },
  { name = "lira", shadows = 16, label = "lira" },
  { name = "rmia", shadows = 16, label = "rmia" },
]
"""


def owner(challenger, mechanism=None, **data):
    return build(
        data={"rows": 2_000, "features": 8, "distance": 2.0, "flip": 0.05} | data,
        challenger={"members": 100, "targets": 50} | challenger,
        mechanism=mechanism or {"name": "none"},
        folder=Path(),
        seed=3,
    )


def auc(trials) -> float:
    members, others = trials.scores[trials.members][:, None], trials.scores[~trials.members]
    return float(np.mean((members > others) + 0.5 * (members == others)))


@pytest.mark.nightly
def test_forest_plan_runs_and_finds_members(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 3  # nothing was asked
    verdicts = json.loads((tmp_path / "out" / "verdicts.json").read_text())["verdicts"]
    found = {verdict["label"]: verdict for verdict in verdicts}
    assert found.keys() == {"loss", "lira", "rmia"}
    for label, verdict in found.items():
        assert verdict["metrics"]["auc"]["value"] > 0.85, label
        assert verdict["finding"] is None  # nothing is promised
        assert verdict["parameters"]["challenger"]["trainer"] == FOREST


def test_forest_shadows_beat_network_shadows(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    plan = read_plan(path)
    audit = prepare_audit(plan.audits[0], plan)
    forests = audit.knowledges["lira"]
    assert forests.trainer == Trainer(trees=20)
    shadows = shadows_with_targets(forests, 4, stream(1, Role.STUDY)).models
    assert all(isinstance(model, ForestClassifier) for model in shadows)
    other = network.Trainer(epochs=60, batch=40, hidden=(64,)).prepare(PLAIN_TRAINING, forests.n_members)
    attackers = {}
    for kind, known in {"forests": forests, "networks": replace(forests, trainer=other)}.items():
        for attack in (Lira(shadows=16), Rmia(shadows=16)):
            scorer = attack.study(known, stream(1, Role.STUDY))
            attackers[type(attack).__module__.rpartition(".")[2], kind] = Adversary(known, scorer)
    found = {key: auc(trials) for key, trials in play(audit.challenger, attackers, 1, range(10), 0).items()}
    # measured: lira 0.924 against 0.681, rmia 0.934 against 0.887
    assert found["lira", "forests"] > 0.85
    assert found["lira", "forests"] > found["lira", "networks"] + 0.1
    assert found["rmia", "forests"] > found["rmia", "networks"] + 0.02


def test_strong_attack_retrains_forests_without_steps():
    strong = owner(
        {"game": "strong", "members": 30, "targets": 1, "trainer": {**FOREST, "trees": 5}}, flip=0.3
    )
    known = knowledge.build("strong", {}, strong, 3)
    with pytest.raises(BadInput, match=r'form = "steps" follows .* another kind of model .* "retrained"'):
        Strong().study(known, stream(1, Role.STUDY))
    with pytest.raises(BadInput, match="another kind of model than a network"):
        next(iter(strong.release(np.ones((1, 1), bool), np.random.default_rng(1))[0].steps()))
    scorer = Strong(form="retrained", models=16).study(known, stream(1, Role.STUDY))
    found = auc(play(strong, {"it": Adversary(known, scorer)}, 1, range(60), 0)["it"])
    assert found > 0.75


def test_absent_target_may_leave_empty_slot():
    relation = {"name": "none", "relation": "add_remove"}
    forest = owner({"members": 50, "targets": 20, "trainer": "random_forest"}, relation)
    nobody = forest.release(np.zeros((1, 20), bool), np.random.default_rng(1))[0]
    assert nobody.rows.present.sum() == 30
    assert 0.5 < nobody.accuracy(nobody.rows.trained_on) <= 1


@pytest.mark.parametrize(
    ("challenger", "mechanism", "message"),
    [
        (
            {"trainer": "random_forest"},
            {"name": "dp_sgd", "epsilon": 1.0, "relation": "replace_one"},
            "mechanism: name = 'dp_sgd' is about the gradients of a network, and trainer 'random_forest' has",
        ),
        ({"trainer": "random_forest"}, {"name": "none", "optimizer": "sgd"}, "mechanism: optimizer is about"),
        (
            {"trainer": "random_forest", "epochs": 5},
            None,
            "challenger.epochs: trainer 'random_forest' has no",
        ),
        ({"trainer": {"name": "random_forest", "trees": 0}}, None, "challenger.trainer: trees must be >= 1"),
        ({"trainer": {"name": "random_forest", "leaves": 3}}, None, "challenger.trainer: no key is called"),
        ({"trainer": "forest"}, None, "challenger.trainer: none is called 'forest'; did you mean 'random_f"),
        ({"trainer": {"epochs": 5}, "epochs": 5}, None, "challenger.epochs: it is also given in challenger"),
        ({"trainer": 3}, None, "challenger.trainer: must be a string, got 3"),
    ],
)
def test_rejects_contradictory_settings(challenger, mechanism, message):
    with pytest.raises(BadInput, match=message):
        owner(challenger, mechanism)


def test_network_parameters_in_either_table():
    beside = owner({"epochs": 2, "hidden": [8]})
    inside = owner({"trainer": {"name": "network", "epochs": 2, "hidden": [8]}})
    mixed = owner({"trainer": {"hidden": [8]}, "epochs": 2})
    assert beside.trainer == inside.trainer == mixed.trainer
    assert beside.trainer.recipe.schedule.epochs == 2
    assert owner({}).trainer == owner({"trainer": "network"}).trainer


def test_forest_on_all_rows_fits_exactly():
    rows = np.random.default_rng(1).random((40, 3), dtype=np.float32)
    examples = Examples(rows, np.arange(40) % 2, 2)
    forest = Trainer(bootstrap=False, trees=7).fit(examples, np.random.default_rng(2))
    assert accuracy(forest, examples) == 1
    true_class = np.exp(forest.log_probabilities(rows))[np.arange(40), examples.labels]
    np.testing.assert_allclose(true_class, (7 + 1 / 2) / 8)  # all seven votes, and half of the even one


def test_rejects_empty_forest():
    examples = Examples(np.zeros((2, 1), dtype=np.float32), np.array([0, 1]), 2)
    with pytest.raises(BadInput, match="random_forest: no row is left to train on"):
        Trainer().fit(examples, np.random.default_rng(1), present=np.zeros(2, bool))
