import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.domains.models.kinds.record_kinds import learn, one_against_rest
from leakgauge.domains.models.training.learning import Examples

APART = 2.0


def normal(n, rng, *, shift=0.0, flipped=False) -> Examples:
    """Normal rows; shifted in the first feature, in the other direction for the second class if flipped."""
    rows, labels = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    rows[:, 0] += shift * np.where(flipped & (labels == 1), -1, 1)
    return Examples(rows.astype(np.float32), labels, 2)


@pytest.mark.parametrize("flipped", [False, True])
def test_normal_components_are_told_apart_as_well_as_they_can_be(flipped):
    """Two normal laws 2 apart: the best rule is right with chance Phi(1), and the log odds are 2 x."""
    rng = np.random.default_rng(4)
    kinds = [normal(n, rng, shift=sign * APART / 2, flipped=flipped) for n, sign in ((6_000, 1), (1_500, -1))]
    found = learn(kinds, rng)
    assert found.accuracy == pytest.approx(norm.cdf(APART / 2), abs=0.03)
    asked = normal(500, rng)
    logs = found(asked)
    direction = np.where(flipped & (asked.labels == 1), -1, 1)
    np.testing.assert_allclose(logs[:, 0] - logs[:, 1], APART * asked.rows[:, 0] * direction, atol=0.6)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)


def test_components_that_do_not_differ_are_guessed():
    rng = np.random.default_rng(4)
    assert learn([normal(2_000, rng) for _ in range(4)], rng).accuracy == pytest.approx(0.25, abs=0.04)


def test_one_component_is_set_against_the_rows_of_all_others():
    rng = np.random.default_rng(4)
    kinds = [normal(n, rng) for n in (3, 4, 5)]
    one, rest = one_against_rest(kinds, 1)
    assert one is kinds[1]
    np.testing.assert_array_equal(rest.rows, np.concatenate([kinds[0].rows, kinds[2].rows]))


def test_wide_tables_of_many_classes_are_learned_without_a_column_for_each_pair():
    rng = np.random.default_rng(4)
    kinds = [
        Examples(rng.random((60, 300), dtype=np.float32) + shift, rng.integers(30, size=60), 30)
        for shift in (np.float32(0), np.float32(0.5))
    ]
    found = learn(kinds, rng)
    assert found.softmax.weights.shape == (330, 2)
    assert found.accuracy > 0.9
