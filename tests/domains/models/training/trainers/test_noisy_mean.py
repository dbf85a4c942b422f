"""Noisy means as a trainer: the noise, how far a row moves what it is added to, and the promise."""

import numpy as np
import pytest
from scipy import stats

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.models.noisy_mean.challenger import sum_mechanism
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.noisy_mean import Trainer
from leakgauge.theory import gdp

GAUSSIAN = {"name": "gaussian", "epsilon": 2.0, "delta": 1e-5}


def prepared(relation="replace_one", **parameters):
    return Trainer(**parameters).prepare(sum_mechanism(GAUSSIAN | {"relation": relation}), 50)


def moved_sums(first, other, classes, clip):
    """The sums and counts of two rows, written out: how far apart they are."""
    total = np.zeros((2, classes, first[0].size + 1))
    for place, (row, label) in enumerate((first, other)):
        length = max(np.linalg.norm(row), 1e-300)
        total[place, label] = np.append(row * min(1.0, clip / length), clip)
    return float(np.linalg.norm(total[0] - total[1])), float(np.linalg.norm(total[0]))


def test_no_row_moves_the_sums_by_more_than_the_sensitivity():
    rng = np.random.default_rng(1)
    corners = [(row, label) for row in rng.integers(2, size=(40, 4)).astype(float) for label in range(2)]
    replaced, added = np.array([moved_sums(a, b, 2, 1.0) for a in corners for b in corners]).T
    assert replaced.max() == pytest.approx(prepared().sensitivity)
    assert added.max() == pytest.approx(prepared("add_remove").sensitivity)


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_noise_of_the_sums_gives_the_promise(relation):
    """Its size in the mean of many equal rows is what the analytic Gaussian mechanism needs."""
    trainer = prepared(relation, clip=1.0)
    sigma = trainer.sensitivity / gdp.mu_for(2.0, 1e-5)
    many = Examples(np.full((6_000, 1), 0.5, dtype=np.float32), np.zeros(6_000, dtype=np.int64), 2)
    means = np.array([trainer.fit(many, np.random.default_rng(seed)).means[0, 0] for seed in range(400)])
    # sum / count with independent noise on both: to first order a normal distribution
    expected = sigma * np.sqrt(1 + 0.5**2) / 6_000
    low, high = stats.chi2.ppf([0.001, 0.999], 399)
    assert low < 399 * means.var(ddof=1) / expected**2 < high
    assert trainer.guarantee.epsilon == pytest.approx(2.0, rel=1e-6)
    assert trainer.guarantee.relation is Relation(relation)
    assert trainer.group_guarantee.epsilon > 50


def test_plan_trains_noisy_means_for_rounds_and_shadows(tmp_path):
    audit = {
        "name": "means",
        "domain": "models",
        "rounds": 40,
        "data": {"rows": 200, "features": 5},
        "challenger": {"members": 20, "targets": 5, "trainer": "noisy_mean"},
        "mechanism": GAUSSIAN,
        "attacks": [{"name": "lira", "shadows": 16}],
    }
    (found,) = leakgauge.run({"seed": 2, "audit": [audit]}, out=tmp_path / "run")
    assert found.promised["epsilon"] == pytest.approx(2.0, rel=1e-6)
    assert found.finding != "violated"
    assert found.instrument["control"]["status"] == "passed"


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        ({"name": "laplace", "epsilon": 1.0}, 'use name = "gaussian"'),
        ({"name": "dp_sgd", "epsilon": 1.0, "relation": "replace_one"}, "gradients of a network"),
        (GAUSSIAN | {"feature": "x0"}, "uses all features"),
    ],
)
def test_other_noise_is_refused(tmp_path, mechanism, message):
    audit = {
        "name": "means",
        "domain": "models",
        "rounds": 4,
        "challenger": {"trainer": "noisy_mean"},
        "mechanism": mechanism,
        "attacks": ["lira"],
    }
    with pytest.raises(BadInput, match=message):
        leakgauge.run({"audit": [audit]}, out=tmp_path / "run")
