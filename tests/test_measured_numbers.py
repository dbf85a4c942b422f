"""Numbers of pages that take simulations: the runs behind them, most of them at night."""

import json
import os
import re
import tomllib
from math import exp, sqrt
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, norm
from sklearn.ensemble import RandomForestClassifier

import leakgauge
from leakgauge.cli.main import main
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.referee.metrics import epsilon_gdp, epsilon_one_run
from page_numbers import blocks, measured_numbers, number, page_words, rows, stated_numbers

ROOT = Path(__file__).parents[1]
SEED = 20240501
ROUNDING = 0.006  # of numbers with two digits, and of other machines


def verdicts_of(plan, folder):
    """Run a plan; return its verdicts by audit and label."""
    result = leakgauge.run({"seed": SEED, **plan}, out=folder / "run")
    found = json.loads((folder / "run" / "verdicts.json").read_text())["verdicts"]
    assert len(found) == len(result.verdicts)
    return {(one["audit"], one["label"]): one for one in found}


def require(cell, verdict, where="accuracy_own", error=ROUNDING):
    """A cell has the numbers of a verdict."""
    numbers = stated_numbers(cell)
    measured = measured_numbers(verdict, where, len(numbers))
    assert numbers == pytest.approx(measured, abs=error), (cell, where)


@pytest.fixture
def forest(tmp_path, monkeypatch):
    """The forest of own-model.md with its file, and the plan for it."""
    monkeypatch.chdir(tmp_path)
    make, load = (
        next(code for code in blocks("own-model.md", "python") if part in code)
        for part in ("RandomForestClassifier", "joblib.load")
    )
    exec(compile(make, "own-model.md", "exec"), {})
    (tmp_path / "ours.py").write_text(load)
    return next(plan for plan in blocks("own-model.md", "toml") if 'name = "our-model"\n' in plan)


def forest_verdict(plan, folder):
    (folder / "plan.toml").write_text(plan)
    assert main(["run", "plan.toml", "--out", "run"]) == 3  # neither a promise nor a limit
    (verdict,) = json.loads((folder / "run" / "verdicts.json").read_text())["verdicts"]
    return verdict


def test_forest_of_600_patients(forest, tmp_path):
    found, page = forest_verdict(forest, tmp_path), page_words("own-model.md")
    told = re.search(
        r"outcome of (.*?) of members and (.*?) of others.*? is right (.*?\)) .*? is (\.\d+ .*?\))", page
    )
    for text, where in zip(
        told.groups(), ("utility.members", "utility.others", "accuracy_own", "auc"), strict=True
    ):
        require(text, found, where)


@pytest.mark.nightly
def test_networks_in_place_of_a_forest(forest, tmp_path):
    recipe = re.search(r"`(recipe = \{.*?\})`", page_words("own-model.md"))[1]
    plan = forest.replace('{ name = "loss_threshold" }', '{ name = "lira", shadows = 16 }') + recipe
    told = re.search(r"16 shadow models reached an AUC of (.*?\))", page_words("own-model.md"))[1]
    require(told, forest_verdict(plan, tmp_path), "auc")


@pytest.mark.nightly
def test_shadows_of_the_training_of_a_forest(forest, tmp_path):
    table = np.loadtxt(tmp_path / "patients.csv", delimiter=",", skiprows=1)
    X, y, members = table[:, :4], table[:, 4].astype(int), table[:, 5] > 0
    (verdict,) = leakgauge.audit_model(
        joblib.load(tmp_path / "forest.joblib"),
        *(X[members], y[members], X[~members], y[~members]),
        train=RandomForestClassifier(n_estimators=100),
        attacks=[{"name": "lira", "shadows": 16}],
    )
    told = re.search(r"\(n_estimators=100\)` one of (.*?\))", page_words("own-model.md"))[1]
    auc = verdict.metrics["auc"]
    assert stated_numbers(told) == pytest.approx([auc.value, auc.low, auc.high], abs=ROUNDING)
    assert f"and {auc.value:.2f} with shadows of its own training".replace("0.", ".") in page_words(
        "roles/ml-engineer.md"
    )


CIFAR = Path(os.environ.get("LEAKGAUGE_DATA", "")) / "cifar10" / "cifar10_embeddings_512.npz"


@pytest.mark.nightly
@pytest.mark.skipif(not CIFAR.is_file(), reason="LEAKGAUGE_DATA has no embeddings of CIFAR-10")
def test_hinges_of_a_neuron(tmp_path):
    out = str(tmp_path / "paper")
    assert main(["reproduce", "nguyen23", "--only", "hinges", "--data", str(CIFAR.parent), "--out", out]) == 0
    cells = json.loads((tmp_path / "paper" / "reproduction.json").read_text())["cells"]
    kinds = ("two hinges a feature, clipped", "16 hinges a feature", "64 hinges a feature", "the exact ratio")
    for kind, row in zip(kinds, rows("federated.md", "| form | label 1"), strict=True):
        for epsilon, cell in zip((1, 3, 5, 10), row[1:], strict=True):
            (found,) = (
                one["ours"]
                for one in cells
                if one["setting"].startswith(f"success, {kind}:")
                and one["setting"].endswith(f"ε = {epsilon}")
            )
            assert float(cell) == pytest.approx(found, abs=0.01), (kind, epsilon)


@pytest.mark.nightly
@pytest.mark.skipif(not CIFAR.is_file(), reason="LEAKGAUGE_DATA has no embeddings of CIFAR-10")
def test_iterations_that_average_the_noise_of_gradients_away(tmp_path):
    out = str(tmp_path / "paper")
    figure = ["reproduce", "nguyen23", "--only", "figure_13", "--data", str(CIFAR.parent), "--out", out]
    assert main(figure) == 0
    cells = json.loads((tmp_path / "paper" / "reproduction.json").read_text())["cells"]
    told = re.search(r"that takes (\d+) iterations at ε = 8 .*? takes (\d+)\.", page_words("federated.md"))
    more = re.search(
        r"trained neuron \(.*?\) (\d+) iterations at ε = 9 for the median target, and (\d+) on average",
        page_words("reproduce.md"),
    )
    ways = (
        "trained neuron, median target, ε = 8",
        "whole gradient, all targets, ε = 8",
        "trained neuron, median target, ε = 9",
        "trained neuron, all targets, ε = 9",
    )
    for text, way in zip((*told.groups(), *more.groups()), ways, strict=True):
        (found,) = (one["ours"] for one in cells if f" {way} (" in one["setting"])
        assert int(text) == pytest.approx(found, rel=0.03), way  # trained on other machines


@pytest.mark.nightly
def test_genotypes(tmp_path):
    plan = tomllib.loads((ROOT / "examples" / "genotypes" / "plan.toml").read_text())
    (audit,) = plan["audit"]
    audit |= {"rounds": 400, "data": audit["data"] | {"users": 4000}}
    noise = {"200": {"epsilon": 200.0}, "20": {"epsilon": 20.0}}
    audits = [audit | {"name": name, "mechanism": audit["mechanism"] | one} for name, one in noise.items()]
    found = verdicts_of(
        {"audit": [audit | {"name": "exact", "mechanism": {"name": "raw"}}, *audits]}, tmp_path
    )
    table = rows("cell-tables.md", "| release | knows everyone else")
    for name, (_, *cells) in zip(("exact", "200", "20"), table, strict=True):
        labels = ("likelihood-informed", "likelihood-auxiliary", "dwork")
        for label, cell in zip(labels, cells, strict=True):
            share, auc = cell.rstrip(")").split(" (")
            require(share, found[name, label])
            require(auc, found[name, label], "auc_mean")
    assert found["20", "dwork"]["utility"]["mean_absolute_error"] == pytest.approx(20, abs=0.5)


@pytest.mark.nightly
def test_attacks_on_a_model_that_has_memorised_its_members(tmp_path):
    told = re.search(
        r"\(`(data = .*?)`, `(mechanism = .*?)`, `(members = .*?)`, 60 trainings", page_words("models.md")
    )
    data, mechanism, members = told.groups()
    plan = tomllib.loads(f"{data}\n{mechanism}\nchallenger = {{ {members}, targets = 100 }}")
    attacks = ["loss_threshold", "calibrated_loss", "shadow", "rmia", "lira"]
    audit = {"name": "memorised", "domain": "models", "rounds": 60, "block": 5, "attacks": attacks, **plan}
    verdicts = {
        key[1].partition("-")[0]: one for key, one in verdicts_of({"audit": [audit]}, tmp_path).items()
    }
    metrics = ("accuracy_own", "accuracy_worst", "accuracy", "auc", "tpr_at_fpr_0.01", "metrics.epsilon.low")
    table = rows("models.md", "| | `loss_threshold` | `calibrated_loss`")
    for metric, (_, *cells) in zip(metrics, table, strict=True):
        for attack, cell in zip(attacks, cells, strict=True):
            if cell == "no threshold of its own":
                assert verdicts[attack]["metrics"][metric]["value"] is None
            else:
                require(cell, verdicts[attack], metric, 0.06 if "epsilon" in metric else 0.02)
    right = re.search(r"right about (\d+)% of members and (\d+)% of others \(`data", page_words("models.md"))
    for text, who in zip(right.groups(), ("members", "others"), strict=True):
        assert int(text) / 100 == pytest.approx(verdicts["lira"]["utility"][who], abs=0.02)


@pytest.mark.nightly
def test_strong_attacker_and_canaries(tmp_path):
    page = page_words("models.md")
    strong = {
        "domain": "models",
        "data": {"rows": 300},
        "challenger": {"game": "strong", "members": 100, "epochs": 5, "batch": 20, "hidden": [8]},
        "attacks": ["strong"],
    }
    noise = {"name": "dp_sgd", "epsilon": 2.0, "relation": "add_remove"}
    canaries = tomllib.loads(next(one for one in blocks("models.md", "toml") if 'name = "canaries"' in one))[
        "audit"
    ][0]
    private = {"name": "dp_adam", "epsilon": 1.0, "relation": "add_remove"}
    audits = [
        strong | {"name": "kept", "rounds": 600, "mechanism": noise},
        strong | {"name": "claimed", "rounds": 200, "mechanism": noise | {"sigma": 0.4}},
        canaries,
        canaries | {"name": "private", "mechanism": private},
    ]
    found = {audit: one for (audit, _), one in verdicts_of({"audit": audits}, tmp_path).items()}
    told = re.search(r"it was right (.*? to .*?\)), where (.*?%) is the most", page)
    require(told[1], found["kept"])
    require(told[2], found["kept"], "bounds.accuracy_own")
    assert found["claimed"]["finding"] == "violated"
    told = re.search(r"since ε is at least ([\d.]+) \(by that noise distribution, (\d+)\)", page)
    assert float(told[1]) == pytest.approx(found["claimed"]["metrics"]["epsilon"]["low"], abs=0.05)
    assert float(told[2]) == pytest.approx(found["claimed"]["promised"]["exact_epsilon"], abs=0.5)
    told = re.search(
        r"200 canaries show that ε is at least ([\d.]+),.*?it is right about (\d+)% of members", page
    )
    assert float(told[1]) == pytest.approx(found["canaries"]["metrics"]["epsilon"]["low"], abs=0.05)
    assert float(told[2]) / 100 == pytest.approx(found["private"]["utility"]["members"], abs=0.02)
    assert found["private"]["metrics"]["epsilon"]["low"] == 0


NOISE = {"epsilon": 8.0, "delta": 0.01}
GRADIENTS = [  # rows of the table on federated.md
    {"gradient_noise": NOISE},
    {"gradient_noise": NOISE | {"calibrate": "analytic"}},
    {"gradient_noise": NOISE | {"clipped": "update"}},
    {"gradient_noise": NOISE | {"clipped": "update", "added": "sum"}, "clients": 4, "batch": 25},
    {"gradient_noise": NOISE | {"clipped": "update"}, "clients": 4, "batch": 25},
    {"gradient_noise": NOISE | {"epsilon": 8.5}, "iterations": 5},  # in the line below it
]


@pytest.mark.nightly
@pytest.mark.parametrize("place", range(6))
def test_attacks_on_noisy_gradients(place, tmp_path):
    attacks = [
        "full_gradient",
        {"name": "full_gradient", "stealthy": True, "label": "stealthy"},
        "likelihood_neuron",
    ]
    audit = {
        "name": "clients",
        "domain": "federated",
        "rounds": 200,
        "data": {"rows": 4000, "features": 512, "classes": 10},
        "mechanism": {"name": "none"},
        "challenger": {"targets": 10, "batch": 100, **GRADIENTS[place]},
        "attacks": attacks if place < 5 else attacks[:1],
    }
    found = verdicts_of({"audit": [audit]}, tmp_path)
    if place == 5:
        told = re.search(r"five iterations give ([\d.]+%) ± ([\d.]+%)", page_words("federated.md")).groups()
        cells = [" ± ".join(told)]
    else:
        cells = rows("federated.md", "| the noise | at most, others silent")[place][3:]
    if place == 0:
        filled = re.search(r"server fills ([\d.]+) of the bound", page_words("federated.md"))[1]
        assert float(filled) == pytest.approx(
            found["clients", "stealthy"]["studied"]["filled_share"], abs=0.01
        )
    labels = ("full_gradient-server", "stealthy", "likelihood_neuron-server")
    for label, cell in zip(labels, cells):
        share, error = stated_numbers(cell)
        right = found["clients", label]["metrics"]["accuracy_own"]["value"]
        assert share == pytest.approx(right, abs=0.002)  # rounding, and of other machines
        assert error == pytest.approx(sqrt(right * (1 - right) / 2000), abs=6e-4)


def low(right, n, error):
    return np.where(right == 0, 0.0, beta.ppf(error, np.maximum(right, 1), n - right + 1))


def high(right, n, error):
    return np.where(right == n, 1.0, beta.ppf(1 - error, right + 1, np.maximum(n - right, 1)))


def pearson(found, members, accused, others):
    """The larger of two bounds on epsilon by Clopper and Pearson, at 95 %; one threshold or many."""
    with np.errstate(divide="ignore"):
        one = np.log(low(found, members, 0.025) / high(accused, others, 0.025))
        other = np.log(low(others - accused, others, 0.025) / high(members - found, members, 0.025))
    return np.maximum(0, np.maximum(one, other))


def at_threshold(outputs, members, threshold):
    guess = outputs >= threshold
    return pearson((guess & members).sum(), members.sum(), (guess & ~members).sum(), (~members).sum())


def best_threshold(outputs, members):
    """The threshold with the largest bound, and this bound."""
    order = np.argsort(-outputs)
    places = np.unique(np.geomspace(1, len(outputs) - 1, 400).astype(int))
    places = np.unique([*places, *(len(outputs) - 1 - places)])
    found, accused = np.cumsum(members[order])[places], np.cumsum(~members[order])[places]
    bounds = pearson(found, members.sum(), accused, (~members).sum())
    return outputs[order][places][np.argmax(bounds)], bounds.max()


def known_threshold(n_rounds):
    """The threshold that is best for the expected numbers of an audit."""
    grid, half = np.linspace(-1, 3, 81), n_rounds / 2

    def above(x):
        return half * np.where(x < 0, 1 - np.exp(np.minimum(x, 0)) / 2, np.exp(-np.abs(x)) / 2)

    return grid[np.argmax(pearson(above(grid - 1), half, above(grid), half))]


def one_run(outputs, members):
    numbers = np.arange(len(outputs))
    trials = Trials(numbers, np.zeros(len(outputs), int), members, outputs, Coins.FAIR, Reading())
    return epsilon_one_run.Metric()(trials).low


@pytest.mark.nightly
def test_how_much_of_the_truth_bounds_show():
    rng = np.random.default_rng(20261118)
    table = rows("comparison.md", "| method | 200 rounds")
    worst = np.zeros(4)
    for column, n_rounds in enumerate((200, 1_000, 10_000), start=1):
        bounds, threshold = [], known_threshold(n_rounds)
        for _ in range(400):
            members = rng.random(n_rounds) < 0.5
            outputs = members + rng.laplace(size=n_rounds)
            half = np.arange(n_rounds) % 2 == 0
            elsewhere, _ = best_threshold(outputs[half], members[half])
            bounds.append(
                [
                    at_threshold(outputs, members, threshold),
                    at_threshold(outputs[~half], members[~half], elsewhere),
                    best_threshold(outputs, members)[1],
                    one_run(outputs, members),
                ]
            )
        medians = np.median(bounds, axis=0)
        worst = np.maximum(worst, (np.array(bounds) > 1).mean(axis=0))
        for row, median in zip(table, medians, strict=True):
            if row[column]:
                assert float(row[column]) == pytest.approx(median, abs=0.03), (row[0], n_rounds)
    for row, share in zip(table, worst, strict=True):
        assert number(row[4]) / 100 == pytest.approx(share, abs=0.02), row[0]


def gaussian_distance(epsilon, delta):
    """How far apart two normal worlds are, in standard deviations, that epsilon and delta describe."""

    def excess(mu):
        return norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta

    return brentq(excess, 0.01, 10)


@pytest.mark.nightly
def test_bounds_with_a_delta():
    """One target in each of 10,000 rounds, true epsilon 1."""
    rng = np.random.default_rng(20261118)
    told = re.search(
        r"Laplace noise at delta 1e-3 (\S+) \(with the bound for shared rounds (\S+)\), "
        r"Gaussian noise at delta 1e-5 (\S+), at 1e-3 (\S+) \(",
        page_words("statistics.md"),
    )
    members = [rng.random(10_000) < 0.5 for _ in range(60)]
    laplace = [2 * np.clip(one + rng.laplace(size=10_000), 0, 1) - 1 for one in members]
    cases = [(laplace, 1e-3, 1), (laplace, 1e-3, 2)]
    for delta in (1e-5, 1e-3):
        sigma = 1 / gaussian_distance(1.0, delta)
        cases.append(([one - 0.5 + sigma * rng.normal(size=10_000) for one in members], delta, 1))
    for text, (outputs, delta, targets) in zip(told.groups(), cases, strict=True):
        found = []
        for one, bits in zip(outputs, members, strict=True):
            numbers = np.arange(10_000)
            reading = Reading(signed=True, threshold=0.0)
            trials = Trials(numbers // targets, numbers % targets, bits, one, Coins.FAIR, reading)
            found.append(epsilon_one_run.Metric(delta=delta)(trials).low)
        assert float(text) == pytest.approx(np.median(found), abs=0.03), delta


@pytest.mark.nightly
def test_many_gaussian_canaries_in_one_release():
    rng = np.random.default_rng(20261118)
    told = re.search(
        r"delta 1e-5: (\S+) where the true epsilon is 4, and (\S+) where it is 8\. "
        r".*?, gives (\S+) and (\S+)\. ",
        page_words("statistics.md"),
    )
    curve, plain = {}, {}
    for epsilon in (4.0, 8.0):
        metrics = (
            epsilon_gdp.Metric(delta=1e-5, assume="gaussian", claimed=epsilon),
            epsilon_one_run.Metric(delta=1e-5),
        )
        found = []
        for _ in range(40):
            members = rng.random(5_000) < 0.5
            scores = members + rng.normal(size=5_000) / gaussian_distance(epsilon, 1e-5)
            trials = Trials(np.zeros(5_000, int), np.arange(5_000), members, scores, Coins.FAIR, Reading())
            found.append([metric(trials).low for metric in metrics])
        curve[epsilon], plain[epsilon] = np.median(found, axis=0)
    medians = [*curve.values(), *plain.values()]
    assert [float(one) for one in told.groups()] == pytest.approx(medians, abs=0.15)
