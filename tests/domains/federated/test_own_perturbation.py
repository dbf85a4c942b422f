"""A perturbation of one's own, claims in numbers, and local mechanisms on rows."""

import numpy as np
import pytest

from domains.federated.small_games import share_won
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.federated import challenger, knowledge, own_perturbation
from leakgauge.domains.federated.attacks.likelihood_neuron import Attack
from leakgauge.domains.federated.neurons.feature_distributions import (
    ClippedBasis,
    SampledFeatureDistribution,
    feature_distribution,
)
from leakgauge.domains.federated.own_perturbation import OwnPerturbationTable, load_own_perturbation
from leakgauge.referee.metrics.epsilon_one_run import Metric

MINE = """
import numpy as np


def faint(rows, rng):
    return rows + rng.laplace(scale=0.5, size=rows.shape)


def faint_density(outputs, rows):
    return -np.abs(outputs - rows) / 0.5 - np.log(1.0)


def other_density(outputs, rows):
    return -np.abs(outputs - rows) / 2.0 - np.log(4.0)


def strong(rows, rng):
    return np.clip(rows, -20, 20) + rng.laplace(scale=5000.0, size=rows.shape)


def stepped(rows, rng):
    return np.where(rng.random(rows.shape) < 0.8, np.sign(rows), -np.sign(rows))


def stepped_density(outputs, rows):
    return np.log(np.where(outputs == np.sign(rows), 0.8, 0.2))


def too_short(rows, rng):
    return rows[:, 1:]


def one_row(rows, rng):
    return rows[0]


def same_in_row(rows, rng):
    return rows + rng.laplace(scale=5000.0, size=(len(rows), 1))


def same_in_batch(rows, rng):
    return rows + rng.laplace(scale=5000.0, size=rows.shape[1])


def antithetic(rows, rng):
    noise = rng.laplace(scale=5000.0, size=(len(rows), rows.shape[1] // 2))
    return rows + np.concatenate([noise, -noise], axis=1)


def first_exact(rows, rng):
    perturbed = strong(rows, rng)
    perturbed[0] = rows[0]
    return perturbed


def small_batches_exact(rows, rng):
    return strong(rows, rng) if len(rows) >= 200 else rows


def half_dropped(rows, rng):
    perturbed = strong(rows, rng)
    perturbed[:, ::2] = 0.0
    return perturbed


def infinite(rows, rng):
    return rows * np.inf


def fails(rows, rng):
    return rows + undefined


def rowwise_density(outputs, rows):
    return np.zeros(len(outputs))


generator = np.random.default_rng(1)


def from_own_generator(rows, rng):
    return rows + generator.laplace(size=rows.shape)


number = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def server(folder, mechanism: dict, **setting):
    made = challenger.build(
        data={"rows": 800, "features": 32, "classes": 4},
        challenger={"targets": 2, "batch": 10, "neurons": 4} | setting,
        mechanism=mechanism,
        folder=folder,
        seed=5,
    )
    return made, knowledge.build("server", {}, made, 5)


def own(sample: str, **more) -> dict:
    return {"name": "own", "sample": f"mine:{sample}"} | more


def shown(made, known, rounds: int, confidence: float) -> float:
    """The lower bound on epsilon that an audit shows."""
    scorer = Attack(draws=200).study(known, stream(5, Role.STUDY))
    trials = play(made, {"it": Adversary(known, scorer)}, 5, range(rounds), 0)["it"]
    return Metric(delta=made.guarantee.delta, confidence=confidence)(trials).low


@pytest.mark.parametrize("law", [{}, {"law": "mine:faint_density"}])
def test_faint_noise_of_ones_own_is_found(folder, law):
    made, known = server(folder, own("faint", epsilon=1.0, **law))
    assert (made.guarantee.epsilon, made.guarantee.nominal_epsilon) == (1.0, 1.0)
    assert shown(made, known, 60, 0.95) > 1.0


def test_strong_noise_of_ones_own_is_not_accused(folder):
    made, known = server(folder, own("strong"), promise={"epsilon": 0.3})
    assert made.guarantee.epsilon == 0.3
    assert shown(made, known, 100, 0.999) <= 0.3


EXACT, ALIKE = "values of rows that come back without noise", "noise that is alike in two values of a batch"


@pytest.mark.parametrize(
    ("sample", "unread"),
    [
        ("same_in_row", (ALIKE,)),
        ("same_in_batch", (ALIKE,)),
        ("antithetic", (ALIKE,)),
        ("first_exact", (EXACT,)),
        ("small_batches_exact", (EXACT,)),
        ("strong", ()),
        ("faint", ()),
        ("stepped", ()),
        ("half_dropped", ()),  # what is the same for all rows tells nothing
    ],
)
def test_noise_that_is_missing_or_alike_is_named(folder, sample, unread):
    made, _ = server(folder, own(sample, epsilon=1.0))
    assert made.unread == unread


def draw_columns(noise, rng, columns=40):
    return {
        "laplace": lambda size: rng.laplace(size=size),
        "gaussian": lambda size: rng.normal(size=size),
        "bits": lambda size: (rng.random(size) < 0.5).astype(float),
        "rare flips": lambda size: (rng.random(size) < 0.01).astype(float),
    }[noise]((500, columns))


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "bits", "rare flips"])
def test_independent_noise_is_called_alike_no_more_often_than_stated(monkeypatch, noise):
    assert own_perturbation.LAW_CHECK_LEVEL <= 1e-6
    monkeypatch.setattr(own_perturbation, "LAW_CHECK_LEVEL", 0.05)  # so that false alarms can be counted
    alarms = [
        own_perturbation.are_alike(draw_columns(noise, np.random.default_rng(run))) for run in range(200)
    ]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "bits"])
def test_two_equal_or_opposite_columns_among_many_are_found(noise):
    for run, sign in enumerate((1, -1, 1, -1)):
        drawn = draw_columns(noise, np.random.default_rng(run), 300)
        drawn[:, 17] = 5 + sign * drawn[:, 250]
        assert own_perturbation.are_alike(drawn)


def test_own_perturbation_without_a_claim_promises_nothing(folder):
    made, _ = server(folder, own("faint"))
    assert made.guarantee is None


def test_digest_depends_on_the_text_of_the_function(folder):
    first, second = server(folder, own("faint"))[0].digest, server(folder, own("faint"))[0].digest
    (folder / "mine.py").write_text(MINE.replace("scale=0.5", "scale=0.6"))
    assert first == second != server(folder, own("faint"))[0].digest


def test_moments_by_a_stated_density_are_closer_than_those_of_samples(folder):
    row, basis = np.array([[-3.0, 0.0, 0.7, 2.0]], dtype=np.float32), ClippedBasis(1.0)
    table = OwnPerturbationTable(sample="mine:faint", law="mine:faint_density")
    noise = load_own_perturbation(table, folder)
    stated = feature_distribution(row, noise, np.random.default_rng(1)).moments(basis)
    many = row + np.random.default_rng(2).laplace(scale=0.5, size=(1_000_000, 4))
    exact = SampledFeatureDistribution(many).moments(basis)
    np.testing.assert_allclose(stated.means, exact.means, atol=0.004)
    np.testing.assert_allclose(stated.covariances, exact.covariances, atol=0.004)


def test_stated_probabilities_of_few_levels_are_exact(folder):
    row = np.array([[-3.0, 2.0]], dtype=np.float32)
    noise = load_own_perturbation(
        OwnPerturbationTable(sample="mine:stepped", law="mine:stepped_density"), folder
    )
    moments = feature_distribution(row, noise, np.random.default_rng(1)).moments(ClippedBasis(2.0))
    np.testing.assert_allclose(moments.means.ravel(), [-0.6, 0.6], atol=1e-12)
    np.testing.assert_allclose(moments.covariances.ravel(), [0.64, 0.64], atol=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "problem"),
    [
        (own("too_short"), r"got rows of shape \(10, 32\) and returned \(10, 31\)"),
        (own("one_row"), r"returned \(32,\)"),
        (own("infinite"), "returned a number that is not finite"),
        (own("fails"), "mechanism.sample raised NameError"),
        (own("number"), "is no function"),
        (own("from_own_generator"), "draws from a generator of its own"),
        (own("nothing"), "has no 'nothing'"),
        ({"name": "own"}, "'sample' is missing"),
        (own("faint", delta=0.1), "needs an epsilon"),
        (own("faint", law="mine:other_density"), "is not the distribution of mechanism.sample: of "),
        (own("faint", law="mine:rowwise_density"), "must return the log density of each of"),
        ({"name": "geometric", "epsilon": 1.0}, "features are real numbers, which such noise does not hide"),
        ({"name": "local_hashing", "epsilon": 1.0}, "reports categories, and features are real numbers"),
        ({"name": "duchi", "epsilon": 1.0, "reports": 2}, "reports cannot be set"),
        ({"name": "duchi", "epsilon": 1.0}, "lie beyond .* state a larger bound"),
    ],
)
def test_bad_perturbation_is_one_line(folder, mechanism, problem):
    with pytest.raises(BadInput, match=problem) as caught:
        server(folder, mechanism)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mechanism", "promise", "problem"),
    [
        ({"name": "gaussian", "epsilon": 1.0, "delta": 1e-5}, {"epsilon": 1.0}, "without delta.*add delta"),
        ({"name": "gaussian", "epsilon": 1.0}, "label", "'delta' is missing"),
        (own("faint", epsilon=1.0), {"epsilon": 1.0}, "two claims"),
        (own("faint", epsilon=1.0), "exact", "is not known"),
        (own("faint"), {"delta": 0.1}, "'epsilon' is missing"),
        (own("faint"), "exakt", "promise"),
    ],
)
def test_bad_claim_is_one_line(folder, mechanism, promise, problem):
    with pytest.raises(BadInput, match=problem) as caught:
        server(folder, mechanism, promise=promise)
    assert "\n" not in str(caught.value)


def test_label_beside_a_scale_is_the_claim(folder):
    mechanism = {"name": "laplace", "epsilon": 2.0, "scale": 1.0, "bound": 64.0}
    made, known = server(folder, mechanism)
    assert made.guarantee.epsilon == made.guarantee.nominal_epsilon == 2.0
    assert made.guarantee.exact_epsilon == pytest.approx(2 * 64 * 32)
    assert made.guarantee.curve is None
    assert shown(made, known, 60, 0.95) > 2.0
    assert server(folder, mechanism, promise="exact")[0].guarantee.epsilon == pytest.approx(2 * 64 * 32)


def test_claim_in_numbers_replaces_the_label(folder):
    made, _ = server(folder, {"name": "bitrand", "epsilon": 5.0}, promise={"epsilon": 7.0, "delta": 0.01})
    assert (made.guarantee.epsilon, made.guarantee.delta) == (7.0, 0.01)
    none, _ = server(folder, {"name": "none"}, promise={"epsilon": 1.0})
    assert none.guarantee.epsilon == 1.0
    noisy = {"epsilon": 1.0, "delta": 0.01}
    gradients, _ = server(folder, {"name": "none"}, gradient_noise=noisy, promise=noisy)
    assert gradients.guarantee.epsilon == 1.0
    assert gradients.guarantee.exact_epsilon > 1.0


LOCAL = {
    "duchi": {"bound": 4.0, "saturate": True},  # values in the middle of the range would be hidden
    "piecewise": {"bound": 64.0},
    "privunit": {},
    "clipped_laplace": {"clip": 20.0},
    "clipped_gaussian": {"clip": 20.0, "delta": 1e-5},
}


@pytest.mark.parametrize("name", LOCAL)
def test_local_mechanisms_hide_rows_as_much_as_they_promise(folder, name):
    weak, strong = ({"name": name, "epsilon": epsilon} | LOCAL[name] for epsilon in (2000.0, 1.0))
    made, known = server(folder, weak, promise={"epsilon": 1.0, "delta": LOCAL[name].get("delta", 0.0)})
    assert made.guarantee.exact_epsilon == pytest.approx(2000.0, rel=1e-3)
    assert share_won(made, known, Attack(draws=200), 60) > 0.9
    assert shown(made, known, 60, 0.95) > 1.0
    made, known = server(folder, strong)
    assert made.guarantee.epsilon == pytest.approx(1.0, rel=1e-6)
    assert shown(made, known, 60, 0.999) <= 1.0
