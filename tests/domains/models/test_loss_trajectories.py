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


LEVELS = np.random.default_rng(3).normal(0, 2, (500, CHECKPOINTS))
EFFECT = 0.5  # of membership on the log-odds of a record at a checkpoint, beside noise of deviation 1


def fit_noisily(X, y, rng):
    """Yields models whose log-odds are a level of the record, higher where it was trained on, plus noise."""
    present = np.isin(np.arange(len(LEVELS)), X[:, 0])
    for level in LEVELS.T:
        odds = level + EFFECT * present + rng.normal(size=len(LEVELS))
        yield lambda rows, odds=odds: 1 / (1 + np.exp(-odds[rows[:, 0].astype(int)]))


def fit_list(X, y, rng):
    return list(fit_noisily(X, y, rng))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def auc_of_summed_losses():
    """By simulation: losses are no linear function of the odds, and records with large ones drown others."""
    rng = np.random.default_rng(1)

    def sums(effect):
        odds = LEVELS + effect + rng.normal(size=(200, *LEVELS.shape))
        return -np.logaddexp(0, -odds).sum(axis=2)

    inside, outside = sums(EFFECT), sums(0.0)
    middle = (inside.mean(axis=0) + outside.mean(axis=0)) / 2
    draws, records = rng.integers(200, size=(2, 100_000)), rng.integers(500, size=(2, 100_000))
    return ((inside - middle)[draws[0], records[0]] > (outside - middle)[draws[1], records[1]]).mean()


@pytest.mark.parametrize("fit", [fit_noisily, fit_list])
@pytest.mark.usefixtures("own_cache")
def test_checkpoints_of_user_code_give_the_closed_form(fit):
    """Six observations with noise of their own beat the last one, which a black box shows."""
    X, y = np.arange(500.0)[:, None], np.ones(500, dtype=int)
    models = fit_list(X[:250], y, np.random.default_rng(9))
    attacks = [{"name": name, "shadows": 64} for name in ("lira", "one_threshold", "trajectory_likelihood")]
    halves = X[:250], y[:250], X[250:], y[250:]
    found = leakgauge.audit_model(models, *halves, train=fit, attacks=attacks, accuracy_check=False)
    aucs = {one.attack: one.metrics["auc"].value for one in found}
    slack = 0.07  # 2.8 standard errors of 250 members and others, and means from 32 shadows
    best = auc_of_normal(EFFECT * np.sqrt(CHECKPOINTS))
    assert aucs["trajectory_likelihood"] == pytest.approx(best, abs=slack)
    assert aucs["one_threshold"] == pytest.approx(auc_of_summed_losses(), abs=slack)
    assert aucs["lira"] == pytest.approx(auc_of_normal(EFFECT), abs=slack)
    assert found[2].studied["checkpoints"] == CHECKPOINTS
    assert [one.knowledge for one in found] == ["black_box", "checkpoints", "checkpoints"]


@pytest.mark.usefixtures("own_cache")
def test_trajectories_may_come_as_arrays():
    rng = np.random.default_rng(5)
    included = rng.permuted(np.tile(np.arange(32)[:, None], 200), axis=0) < 16
    level = rng.normal(4, 1, (200, 3))
    shadows = np.exp(level - included[..., None] + 0.5 * rng.normal(size=(32, 200, 3)))
    own = np.exp(level - (np.arange(200) < 100)[:, None] + 0.5 * rng.normal(size=(200, 3)))
    found = leakgauge.audit_model(
        None, own[:100], None, own[100:], None, shadows={"trajectories": shadows, "included": included}
    )
    aucs = {one.attack: one.metrics["auc"].value for one in found}
    assert aucs["trajectory_likelihood"] > 0.9
    assert "loss_threshold" in aucs


GAME = """
import numpy as np

def fit(X, y, rng):
    known = {row.tobytes(): label for row, label in zip(X, y)}
    for strength in (1.0, 2.0, 3.0):
        noise = rng.normal(size=2)
        def odds(rows, strength=strength, noise=noise):
            side = [2 * int(known[row.tobytes()]) - 1 if row.tobytes() in known else 0 for row in rows]
            return strength * np.array(side) + noise[0]
        yield lambda rows, odds=odds: 1 / (1 + np.exp(-odds(rows)))

def fit_uneven(X, y, rng):
    yield from list(fit(X, y, rng))[: int(rng.integers(1, 4))]
"""


def game(train):
    return {
        "seed": 1,
        "audit": [
            {
                "name": "a",
                "domain": "models",
                "rounds": 8,
                "data": {"rows": 200, "features": 4},
                "mechanism": {"name": "none"},
                "challenger": {"train": train, "members": 40, "targets": 20},
                "attacks": [{"name": "trajectory_likelihood", "shadows": 8}, {"name": "lira", "shadows": 8}],
            }
        ],
    }


def test_games_with_user_code_show_its_checkpoints(tmp_path, monkeypatch, own_cache):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(GAME)
    found = leakgauge.run(game("mine:fit"), out=tmp_path / "run")
    assert found[0].studied["checkpoints"] == 3
    assert found[0].metrics["auc"].value > 0.9
    assert [one.instrument["control"]["status"] for one in found] == ["passed", "passed"]
    with pytest.raises(BadInput, match=r"has \d checkpoints, and another one \d; give as many of each"):
        leakgauge.run(game("mine:fit_uneven"), out=tmp_path / "uneven")


def test_plan_names_checkpoints_of_a_finished_model(tmp_path, monkeypatch, own_cache):
    """Models that learn their rows by heart, more so at each checkpoint; two runs find the same."""
    rng = np.random.default_rng(2)
    table = np.column_stack([rng.normal(size=(120, 2)), rng.integers(2, size=120), np.arange(120) < 60])
    np.savetxt(tmp_path / "rows.csv", table, delimiter=",", header="a,b,y,member", comments="")
    own = "rows = np.loadtxt(Path(__file__).with_name('rows.csv'), delimiter=',', skiprows=1)[:60]"
    made = "models = list(fit(rows[:, :2], rows[:, 2], np.random.default_rng(1)))"
    (tmp_path / "mine.py").write_text(f"from pathlib import Path\n{GAME}\n{own}\n{made}\n")
    plan = """
seed = 1
[[audit]]
name = "a"
domain = "models"
rounds = 1
data = { source = "rows.csv", label = "y" }
challenger = { game = "given", model = "mine:models", train = "mine:fit" }
attacks = [{ name = "trajectory_likelihood", shadows = 8 }, { name = "loss_threshold" }]
"""
    (tmp_path / "plan.toml").write_text(plan)
    found = leakgauge.run(tmp_path / "plan.toml", out=tmp_path / "run")
    assert found[0].studied["checkpoints"] == 3
    assert min(one.metrics["auc"].value for one in found) > 0.95
    (tmp_path / "plan.toml").write_text(plan.replace("trajectory_likelihood", "one_threshold"))
    again = leakgauge.run(tmp_path / "plan.toml", out=tmp_path / "again")
    assert again[1].metrics == found[1].metrics


def test_black_box_of_user_code_hides_its_checkpoints(tmp_path, monkeypatch, own_cache):
    from leakgauge.catalog import prepare_audit
    from leakgauge.plan import plan_of

    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(GAME)
    plan = plan_of(game("mine:fit"))
    challenger = prepare_audit(plan.audits[0], plan).challenger
    block = challenger.release(challenger.flip(1, np.random.default_rng(0)), np.random.default_rng(1))
    (model,) = challenger_view(challenger, "black_box", block)
    assert not hasattr(model, "checkpoints")
    (model,) = challenger_view(challenger, "checkpoints", block)
    assert len(model.checkpoints) == 3


def challenger_view(challenger, name, block):
    from leakgauge.domains.models import knowledge

    return list(knowledge.build(name, {}, challenger, 0).view(block).models)


@pytest.mark.parametrize(
    ("train", "model", "message"),
    [
        (lambda X, y, rng: lambda rows: np.full((len(rows), 2), 0.5), None, "yield the model at several"),
        (lambda X, y, rng: iter(()), None, "no model; yield or return one for each checkpoint"),
        (lambda X, y, rng: iter([None]), None, "checkpoint 1 is nothing"),
        (lambda X, y, rng: [np.abs] * 2, None, "the same model several times"),
        (fit_noisily, [np.abs] * 2, "the same model several times"),
        (fit_noisily, [], "no model"),
        (
            fit_noisily,
            [lambda rows: np.full((len(rows), 2), 0.5), lambda rows: np.full((len(rows), 3), 1 / 3)],
            "checkpoint 2 has other classes",
        ),
        (lambda X, y, rng: (lambda rows: rows[:, 0] * 0 + 0.5 for _ in range(101)), None, "more than 100"),
    ],
)
@pytest.mark.usefixtures("own_cache")
def test_unusable_checkpoints_are_refused(train, model, message):
    X, y = np.arange(80.0)[:, None], np.arange(80) % 2
    two = [lambda rows: np.full((len(rows), 2), 0.5), lambda rows: np.full((len(rows), 2), 0.5)]
    with pytest.raises(BadInput, match=message) as refusal:
        leakgauge.audit_model(
            two if model is None else model,
            X[:40],
            y[:40],
            X[40:],
            y[40:],
            train=train,
            attacks=[{"name": "one_threshold", "shadows": 4}],
        )
    assert "\n" not in str(refusal.value)


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
