"""Rules on loss trajectories, against trajectories whose distribution is known."""

import re

import numpy as np
import pytest
from scipy import stats

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.checkpoints import checkpoint_epochs, checkpointed
from leakgauge.domains.models.training.gradient_descent import train_network
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.network import Trainer
from leakgauge.domains.models.training.trainers.random_forest import Trainer as Forest

TARGETS, SHADOWS, CHECKPOINTS = 1_200, 128, 6
PLAN = """
[[audit]]
name = "trajectories"
domain = "models"
rounds = 1
data = {{ source = "losses.csv", losses = [{names}], loss_kind = "other" }}
challenger = {{ game = "given", shadows = "shadows.npz" }}
attacks = [{{ name = "one_threshold" }}, {{ name = "two_threshold" }}, {{ name = "trajectory_likelihood" }}]
"""


def noise(kind, shape, rng):
    if kind == "laplace":
        return rng.laplace(size=shape)
    common = rng.normal(size=(*shape[:-1], 1)) if kind == "correlated" else 0.0
    return rng.normal(size=shape) + 1.5 * common


def write_audit(folder, kind, effect):
    """Each loss is a level of the record, lower by ``effect`` where it was trained on, plus noise."""
    rng = np.random.default_rng(11)
    level = rng.normal(0, 2, (TARGETS, CHECKPOINTS))
    included, members = rng.random((SHADOWS, TARGETS)) < 0.5, rng.random(TARGETS) < 0.5
    shadows = level - included[..., None] * effect + noise(kind, (SHADOWS, TARGETS, CHECKPOINTS), rng)
    own = level - members[:, None] * effect + noise(kind, (TARGETS, CHECKPOINTS), rng)
    np.savez(folder / "shadows.npz", trajectories=shadows, included=included)
    names = [f"epoch{i}" for i in range(CHECKPOINTS)]
    np.savetxt(
        folder / "losses.csv",
        np.column_stack([members, own]),
        delimiter=",",
        header=",".join(["member", *names]),
        comments="",
    )
    (folder / "plan.toml").write_text(PLAN.format(names=", ".join(f'"{name}"' for name in names)))
    return folder / "plan.toml"


def found(folder, kind, effect):
    verdicts = leakgauge.run(write_audit(folder, kind, effect), out=folder / "run")
    return {one.attack: one.metrics["auc"].value for one in verdicts}


def auc_of_normal(separation):
    return stats.norm.cdf(separation / np.sqrt(2))


def auc_of_votes(right, n):
    """The AUC of the number of right votes, each right with this probability; ties count half."""
    members = stats.binom.pmf(np.arange(n + 1), n, right)
    others = stats.binom.pmf(np.arange(n + 1), n, 1 - right)
    return float(members @ (np.cumsum(others) - 0.5 * others))


SLACK = 0.035  # 2.5 standard errors of an AUC of 600 members and others, and means from 64 shadows


def test_independent_gaussian_observations_give_the_closed_form(tmp_path):
    aucs = found(tmp_path, "gaussian", np.full(CHECKPOINTS, 0.5))
    best = auc_of_normal(0.5 * np.sqrt(CHECKPOINTS))
    assert aucs["one_threshold"] == pytest.approx(best, abs=SLACK)
    assert aucs["trajectory_likelihood"] == pytest.approx(best, abs=SLACK)
    assert aucs["two_threshold"] == pytest.approx(auc_of_votes(stats.norm.cdf(0.25), CHECKPOINTS), abs=SLACK)


def test_votes_beat_the_sum_under_laplace_noise(tmp_path):
    """The finding of Liu et al. 2024: heavy tails add up in the sum."""
    effect = 1.5
    aucs = found(tmp_path, "laplace", np.full(CHECKPOINTS, effect))
    right = 1 - 0.5 * np.exp(-effect / 2)
    assert aucs["two_threshold"] == pytest.approx(auc_of_votes(right, CHECKPOINTS), abs=SLACK)
    summed = np.random.default_rng(0).laplace(size=(200_000, 2 * CHECKPOINTS))
    apart = CHECKPOINTS * effect + summed[:, :CHECKPOINTS].sum(axis=1) - summed[:, CHECKPOINTS:].sum(axis=1)
    assert aucs["one_threshold"] == pytest.approx((apart > 0).mean(), abs=SLACK)
    assert auc_of_votes(right, CHECKPOINTS) > (apart > 0).mean() - 0.02  # what the paper compares


def test_likelihood_uses_what_checkpoints_have_in_common(tmp_path):
    """Noise that all checkpoints share cancels between early ones, without an effect, and late ones."""
    effect = np.array([0.0, 0.0, 0.0, 0.8, 0.8, 0.8])
    aucs = found(tmp_path, "correlated", effect)
    covariance = np.eye(CHECKPOINTS) + 1.5**2
    best = auc_of_normal(np.sqrt(effect @ np.linalg.solve(covariance, effect)))
    summed = auc_of_normal(effect.sum() / np.sqrt(covariance.sum()))
    assert aucs["trajectory_likelihood"] == pytest.approx(best, abs=SLACK)
    assert aucs["one_threshold"] == pytest.approx(summed, abs=SLACK)
    assert best > summed + 0.1


def test_trajectories_without_an_effect_reveal_nothing(tmp_path):
    for auc in found(tmp_path, "gaussian", np.zeros(CHECKPOINTS)).values():
        assert auc == pytest.approx(0.5, abs=0.06)  # 3.6 standard errors


def test_checkpoints_are_those_of_the_training_itself():
    rng = np.random.default_rng(2)
    examples = Examples(rng.normal(size=(30, 3)).astype(np.float32), rng.integers(2, size=30), 2)
    trainer = Trainer(epochs=7, batch=10, hidden=(4,)).prepare(PLAIN_TRAINING, 30)
    seen = checkpointed(trainer).fit(examples, np.random.default_rng(5)).checkpoints
    last = train_network(examples, trainer.recipe, np.random.default_rng(5))
    np.testing.assert_array_equal(seen[-1].weights, last.weights)
    assert checkpoint_epochs(7) == (1, 2, 3, 4, 5, 6, 7)
    shorter = Trainer(epochs=3, batch=10, hidden=(4,)).prepare(PLAIN_TRAINING, 30)
    third = train_network(examples, shorter.recipe, np.random.default_rng(5))
    np.testing.assert_array_equal(seen[2].weights, third.weights)


def test_network_that_learns_by_heart_is_seen_by_all_rules(tmp_path):
    plan = {
        "seed": 1,
        "audit": [
            {
                "name": "a",
                "domain": "models",
                "rounds": 10,
                "data": {"rows": 160, "features": 40, "flip": 0.3},
                "challenger": {"members": 40, "targets": 20, "epochs": 20, "hidden": [16], "mislabel": True},
                "mechanism": {"name": "none"},
                "attacks": [
                    {"name": name, "shadows": 16}
                    for name in ("one_threshold", "two_threshold", "trajectory_likelihood")
                ],
            }
        ],
    }
    for verdict in leakgauge.run(plan, out=tmp_path / "run"):
        assert verdict.knowledge == "checkpoints"
        assert verdict.metrics["auc"].value > 0.6  # 2.5 standard errors above 0.5
        assert verdict.studied["checkpoints"] == 10


def test_what_has_no_checkpoints_is_refused(tmp_path):
    with pytest.raises(BadInput, match="only the epochs of a network"):
        checkpointed(Forest().prepare(PLAIN_TRAINING, 30))
    path = write_audit(tmp_path, "gaussian", np.zeros(CHECKPOINTS))
    text = path.read_text()
    path.write_text(text.replace('losses = ["epoch0", ', 'losses = ["epoch1", ').replace(', "epoch5"]', "]"))
    with pytest.raises(BadInput, match="compared at the same 5 checkpoints"):
        leakgauge.run(path, out=tmp_path / "run")
    path.write_text(re.sub(r"losses = \[.*?\]", 'loss = "epoch0"', text))
    with pytest.raises(BadInput, match="losses at checkpoints of the training are not given"):
        leakgauge.run(path, out=tmp_path / "run")
