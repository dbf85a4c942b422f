"""Local mechanisms sold at half of their epsilon are found out, and honest claims are not."""

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox import challenger, knowledge
from leakgauge.domains.blackbox.attacks import learned_event, likelihood
from leakgauge.domains.blackbox.own_law import DRAWS
from leakgauge.referee.metrics.epsilon_one_run import Metric

OWN = """
import numpy as np

K, P, EPSILON = 1000, 2**31 - 1, 2.0
G = round(np.exp(EPSILON)) + 1
TRUTH = np.exp(EPSILON) / (np.exp(EPSILON) + G - 1)


def hashed(seed, value):
    return (seed[0] * value + seed[1]) % P % G


def report(value, rng):
    seed = [int(rng.integers(1, P)), int(rng.integers(P))]
    bucket = hashed(seed, value)
    if rng.random() >= TRUTH:
        bucket = (bucket + int(rng.integers(1, G))) % G
    return {"seed": seed, "bucket": bucket}


def log_probability(output, value):
    honest = hashed(output["seed"], value) == output["bucket"]
    return np.log(TRUTH if honest else (1 - TRUTH) / (G - 1)) - np.log(P * (P - 1.0))


def half_as_strong(output, value):
    return log_probability(output, value) / 2


def same_for_all(output, value):
    return -1.0


def denies(output, value):
    return log_probability(output, value) if output["bucket"] else -np.inf


def not_a_number(output, value):
    return np.nan


def two_numbers(output, value):
    return [0.0, 1.0]
"""

CATEGORIES = {"pair": [3, 77]}
UNIT = {"pair": [[1.0], [-1.0]]}
VECTORS = {"pair": [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]}
NAMED = {
    "randomized response": (CATEGORIES, {"name": "randomized_response", "categories": 100}),
    "symmetric unary": (CATEGORIES, {"name": "unary_encoding", "categories": 100, "variant": "symmetric"}),
    "optimized unary": (CATEGORIES, {"name": "unary_encoding", "categories": 100}),
    "rappor": (CATEGORIES, {"name": "rappor", "categories": 100, "p": 0.0, "q": 1.0}),
    "blh": (CATEGORIES, {"name": "local_hashing", "categories": 1000, "buckets": 2}),
    "olh": (CATEGORIES, {"name": "local_hashing", "categories": 1000}),
    "duchi": (UNIT, {"name": "duchi"}),
    "piecewise": (UNIT, {"name": "piecewise"}),
    "privunit": (VECTORS, {"name": "privunit", "features": 3}),
    "clipped laplace": (VECTORS, {"name": "clipped_laplace"}),
    "clipped gaussian": (VECTORS, {"name": "clipped_gaussian", "delta": 0.01}),
    "reported twice": (CATEGORIES, {"name": "local_hashing", "categories": 1000, "reports": 2}),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def audited(folder, table, mechanism, attack, *, kind="law", rounds=4_000, seed=1, confidence=0.95) -> float:
    """The lower bound on epsilon that one audit shows, at the delta of its promise."""
    made = challenger.build(data={}, challenger=table, mechanism=mechanism, folder=folder, seed=seed)
    known = knowledge.build(kind, {}, made, seed)
    adversary = Adversary(known, attack.study(known, stream(seed, Role.STUDY)))
    trials = play(made, {"it": adversary}, seed, range(rounds), 0)["it"]
    return Metric(delta=made.guarantee.delta, confidence=confidence)(trials).low


def claim(mechanism: dict, epsilon: float) -> dict:
    return {"promise": {"epsilon": epsilon, "delta": mechanism.get("delta", 0.0)}}


@pytest.mark.parametrize("name", NAMED)
def test_half_claim_is_found(folder, name):
    table, mechanism = NAMED[name]
    # A report of 100 categories by randomized response is seldom true: it takes a larger epsilon.
    epsilon = 4.0 if name in ("randomized response", "clipped gaussian") else 2.0
    claimed = epsilon / 2 * mechanism.get("reports", 1)
    found = audited(
        folder,
        table | claim(mechanism, claimed),
        mechanism | {"epsilon": epsilon},
        likelihood.Attack(shadows=4_000),
    )
    assert found > claimed


@pytest.mark.parametrize("name", NAMED)
def test_honest_claim_is_not_accused(folder, name):
    table, mechanism = NAMED[name]
    honest = 2.0 * mechanism.get("reports", 1)
    for seed in range(3):
        found = audited(
            folder,
            table | claim(mechanism, honest),
            mechanism | {"epsilon": 2.0},
            likelihood.Attack(shadows=1_000),
            rounds=2_000,
            seed=seed,
            confidence=0.999,
        )
        assert found <= honest


def test_memoised_reports_keep_the_epsilon_of_one(folder):
    mechanism = NAMED["olh"][1] | {"epsilon": 2.0, "reports": 4, "memoised": True}
    table = CATEGORIES | claim(mechanism, 2.0)
    assert audited(folder, table, mechanism, likelihood.Attack(shadows=1_000), confidence=0.999) <= 2.0
    fresh = mechanism | {"memoised": False}
    assert audited(folder, table, fresh, likelihood.Attack(shadows=1_000)) > 2.0


def own(claimed: float) -> dict:
    return {"release": "mine:report", "pair": [3, 77], "promise": {"epsilon": claimed}}


def test_own_hashing_with_its_distribution_is_found_where_a_search_finds_nothing(folder):
    law = {"name": "own", "law": "mine:log_probability"}
    by_law = audited(folder, own(1.0), law, likelihood.Attack(shadows=4_000))
    search = learned_event.Attack(shadows=1_000)
    by_search = audited(folder, own(1.0), {}, search, kind="simulator", rounds=1_000)
    assert by_law > 1.0
    assert by_search < 0.2
    assert audited(folder, own(2.0), law, likelihood.Attack(shadows=1_000), confidence=0.999) <= 2.0


def test_control_of_a_release_with_its_distribution_is_certain(folder):
    made = challenger.build(
        data={},
        challenger=own(1.0),
        mechanism={"name": "own", "law": "mine:log_probability"},
        folder=folder,
        seed=1,
    ).control()
    known = knowledge.build("law", {}, made, 1)
    scorer = likelihood.Attack(shadows=100).study(known, stream(1, Role.STUDY))
    trials = play(made, {"it": Adversary(known, scorer)}, 1, range(100), 0)["it"]
    np.testing.assert_array_equal(trials.scores > 0, trials.members)


@pytest.mark.parametrize(
    ("law", "problem"),
    [
        (
            "half_as_strong",
            "is not the distribution of the release: of .* it gives a log ratio",
        ),
        ("same_for_all", f"gives each of {DRAWS} outputs the same probability with both inputs"),
        ("denies", "gives some outputs no probability, though they were released"),
        ("not_a_number", "must return a log probability"),
        ("two_numbers", " raised TypeError"),
        ("K", "is no function"),
    ],
)
def test_stated_distribution_that_does_not_fit_is_refused(folder, law, problem):
    with pytest.raises(BadInput, match=f"mechanism.law.*{problem}") as caught:
        challenger.build(
            data={},
            challenger=own(1.0),
            mechanism={"name": "own", "law": f"mine:{law}"},
            folder=folder,
            seed=1,
        )
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "mechanism", "problem"),
    [
        (
            VECTORS | {"promise": {"epsilon": 1.0}},
            {"name": "clipped_gaussian", "epsilon": 1.0, "delta": 1e-5},
            "epsilon = 1 is stated without delta.*add delta = 1e-05",
        ),
        (
            UNIT | {"promise": {"epsilon": 1.0}},
            {"name": "gaussian", "epsilon": 1.0},
            "'delta' is missing",
        ),
        (
            CATEGORIES | {"promise": {"epsilon": 1.0}, "epsilon": 2.0},
            {"name": "local_hashing", "epsilon": 1.0, "categories": 100},
            "two claims",
        ),
        (
            CATEGORIES | {"promise": {"epsilom": 1.0}},
            {"name": "local_hashing", "epsilon": 1.0, "categories": 100},
            "did you mean 'epsilon'",
        ),
        (
            CATEGORIES | {"promise": {"epsilon": -1.0}},
            {"name": "local_hashing", "epsilon": 1.0, "categories": 100},
            "epsilon must be >= 0",
        ),
        (
            CATEGORIES,
            {"name": "local_hashing", "epsilon": 1.0, "categories": 50},
            "whole numbers from 0 to 49, got 77",
        ),
        (CATEGORIES, {"name": "local_hashing", "epsilon": 1.0}, "'categories' is missing"),
        ({"pair": [5, 7]}, {"name": "duchi", "epsilon": 1.0}, "pair: duchi: 100.0% of the values lie beyond"),
        ({"pair": [0, 1.5]}, {"name": "piecewise", "epsilon": 1.0}, "pair: piecewise: 50.0% of the values"),
        (CATEGORIES, {"name": "unary_encoding", "epsilon": 1.0, "categories": 1}, "categories must be"),
    ],
)
def test_bad_claims_are_one_line(folder, table, mechanism, problem):
    with pytest.raises(BadInput, match=problem) as caught:
        challenger.build(data={}, challenger=table, mechanism=mechanism, folder=folder, seed=1)
    assert "\n" not in str(caught.value)


def test_claim_stands_beside_the_exact_epsilon(folder):
    mechanism = {"name": "clipped_gaussian", "sigma": 1.0, "delta": 1e-5}
    table = VECTORS | {"promise": {"epsilon": 1.0, "delta": 1e-3}}
    promised = challenger.build(
        data={}, challenger=table, mechanism=mechanism, folder=folder, seed=1
    ).guarantee
    at_same_delta = challenger.build(
        data={}, challenger=VECTORS, mechanism=mechanism | {"delta": 1e-3}, folder=folder, seed=1
    ).guarantee
    assert (promised.epsilon, promised.delta) == (1.0, 1e-3)
    assert promised.exact_epsilon == pytest.approx(at_same_delta.exact_epsilon, rel=1e-2)
