"""A file of the answers of a model, without the model."""

import duckdb
import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from domains.models.user_model.plans import carried_out, game_of, losses_of, numbers, write_csv, write_plan
from leakgauge import api
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins


@pytest.fixture(autouse=True)
def _no_report(monkeypatch):
    monkeypatch.setattr(api, "write_report", lambda *_: None)


@pytest.fixture(scope="module")
def fitted():
    rows, labels, members = numbers(200)
    return rows, labels, members, LogisticRegression().fit(rows[members], labels[members])


def test_losses_reach_attack_unchanged(tmp_path):
    losses = [0.25, 3.5, 0.0, 1e3]
    write_csv(tmp_path / "losses.csv", {"in_training": [1, 0, 1, 0], "loss": losses})
    game = game_of(write_plan(tmp_path, 'source = "losses.csv", member = "in_training", loss = "loss"'))
    found, members = losses_of(game)
    assert found.tolist() == losses
    assert members.tolist() == [True, False, True, False]
    assert game.challenger.coins is Coins.GIVEN


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        *[("1", "0"), ("true", "false"), ("yes", "no"), ("True", "False"), ("1.0", "0.0"), ("y", "n")],
        *[("Ja", "nein"), ("oui", "NON"), ("s\u00ed", "no"), ("si", "no"), ("Train", "test"), ("in", "out")],
    ],
)
def test_membership_accepts_several_notations(tmp_path, yes, no):
    write_csv(tmp_path / "it.csv", {"member": [yes, no, no], "loss": [0.1, 0.2, 0.3]})
    game = game_of(write_plan(tmp_path, 'source = "it.csv", loss = "loss"'))
    assert losses_of(game)[1].tolist() == [True, False, False]


def test_rows_without_membership_are_reference(tmp_path):
    write_csv(tmp_path / "it.csv", {"member": [1, None, 0, None], "loss": [0.1, 0.2, 0.3, 0.4]})
    game = game_of(write_plan(tmp_path, 'source = "it.csv", loss = "loss"'))
    assert losses_of(game)[0].tolist() == [0.1, 0.3]
    (knowledge,) = game.knowledges.values()
    assert len(knowledge.reference) == 2
    model = game.challenger.release(None, None)[0].model
    assert (-model.log_probabilities(knowledge.reference.rows)[:, 0]).tolist() == [0.2, 0.4]


def test_probabilities_match_sklearn_log_loss(tmp_path, fitted):
    rows, labels, members, model = fitted
    chances = model.predict_proba(rows)
    expected = [log_loss([y], [p], labels=[0, 1]) for y, p in zip(labels, chances)]
    both = {"in": members.astype(int), "p0": chances[:, 0], "p1": chances[:, 1], "y": labels}
    write_csv(tmp_path / "both.csv", both)
    write_csv(tmp_path / "true.csv", {"in": members.astype(int), "p": chances[np.arange(200), labels]})
    for data in (
        'source = "both.csv", member = "in", probabilities = ["p0", "p1"], label = "y"',
        'source = "true.csv", member = "in", probability = "p"',
    ):
        found, _ = losses_of(game_of(write_plan(tmp_path, data)))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_class_names_follow_column_order(tmp_path):
    write_csv(
        tmp_path / "it.csv",
        {"member": [1, 0, 1], "cat": [0.9, 0.2, 0.5], "dog": [0.1, 0.8, 0.5], "y": ["a", "b", "a"]},
    )
    data = 'source = "it.csv", probabilities = ["cat", "dog"], label = "y"'
    np.testing.assert_allclose(losses_of(game_of(write_plan(tmp_path, data)))[0], -np.log([0.9, 0.8, 0.5]))


def test_reads_parquet(tmp_path):
    duckdb.sql("SELECT i % 2 = 0 AS member, i / 10 AS loss FROM range(6) t(i)").write_parquet(
        str(tmp_path / "it.parquet")
    )
    found, members = losses_of(game_of(write_plan(tmp_path, 'source = "it.parquet", loss = "loss"')))
    np.testing.assert_allclose(found, np.arange(6) / 10)
    assert members.tolist() == [True, False] * 3


def normal_losses(path, n, shift, seed):
    """Members have lower losses; their AUC is Phi(shift / sqrt 2)."""
    rng = np.random.default_rng(seed)
    members = rng.random(n) < 0.5
    write_csv(path, {"member": members.astype(int), "loss": np.exp(rng.normal(size=n) - shift * members)})


def test_loss_table_has_auc_of_normal_distributions(tmp_path):
    normal_losses(tmp_path / "it.csv", 2_000, 0.7, 1)
    attacks = '"loss_threshold", { name = "loss_threshold", threshold = "optimal", label = "optimal" }'
    code, content = carried_out(write_plan(tmp_path, 'source = "it.csv", loss = "loss"', attacks=attacks))
    assert code == 3  # neither a promise nor a limit
    for verdict in content["verdicts"]:
        area = verdict["metrics"]["auc"]
        assert area["low"] < ndtr(0.7 / np.sqrt(2)) < area["high"]
        assert area["high"] - area["low"] < 0.06
        assert (verdict["rounds"], verdict["n_targets"], verdict["per_target"]) == (1, 2_000, [])
        assert verdict["metrics"]["epsilon"]["low"] is None
        assert "included at random" in verdict["metrics"]["epsilon"]["reason"]
    average, optimal = content["verdicts"]
    assert average["metrics"]["tpr"]["low"] is not None
    assert optimal["metrics"]["tpr"]["value"] is None


def test_randomised_inclusion_gives_epsilon_bound(tmp_path):
    normal_losses(tmp_path / "it.csv", 2_000, 2.0, 2)
    challenger = "randomised = true, epsilon = {}, delta = 1e-5"
    for epsilon, expected in ((0.5, 1), (5.0, 0)):
        folder = tmp_path / str(epsilon)
        folder.mkdir()
        (folder / "it.csv").write_bytes((tmp_path / "it.csv").read_bytes())
        path = write_plan(folder, 'source = "it.csv", loss = "loss"', challenger.format(epsilon))
        code, content = carried_out(path)
        (verdict,) = content["verdicts"]
        assert code == expected
        assert verdict["coins"] == "fair"
        assert verdict["promised"]["epsilon"] == epsilon
        assert verdict["metrics"]["epsilon"]["low"] > 1.0


def test_no_leak_gives_zero_epsilon_bound(tmp_path):
    normal_losses(tmp_path / "it.csv", 2_000, 0.0, 3)
    path = write_plan(tmp_path, 'source = "it.csv", loss = "loss"', "randomised = true, epsilon = 1.0")
    _, content = carried_out(path)
    (verdict,) = content["verdicts"]
    assert verdict["finding"] == "not violated"
    assert verdict["metrics"]["epsilon"]["low"] < 0.05
    assert verdict["metrics"]["auc"]["low"] < 0.5 < verdict["metrics"]["auc"]["high"]


def test_mean_loss_is_hidden_for_random_members(tmp_path):
    """It tells whether an outlier is in, though these losses have nothing to do with any training."""
    write_csv(tmp_path / "it.csv", {"member": [1, 0, 1, 0], "loss": [900.0, 0.1, 0.2, 0.3]})
    average = '{ name = "loss_threshold", threshold = "average" }'
    data = 'source = "it.csv", loss = "loss"'
    with pytest.raises(BadInput, match="epsilon does not cover"):
        game_of(write_plan(tmp_path, data, "randomised = true", average))
    assert losses_of(game_of(write_plan(tmp_path, data, "randomised = true")))[0][0] == 900.0
    assert game_of(write_plan(tmp_path, data, attacks=average)).challenger.coins is Coins.GIVEN
