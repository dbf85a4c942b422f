import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.domains.blackbox.event_search.search import learn_event
from leakgauge.referee.metrics.epsilon_one_run import Metric

SCALARS = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(),
    some.sampled_from(["above", "below", "x 1.5", ""]),
)
OUTPUTS = some.recursive(
    SCALARS,
    lambda inner: some.one_of(
        some.lists(inner, max_size=4), some.dictionaries(some.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=15, deadline=None)
@given(some.lists(OUTPUTS, min_size=2, max_size=12), some.integers(0, 2**32 - 1))
def test_any_output_gets_finite_independent_score(kinds, seed):
    rng = np.random.default_rng(seed)
    members = rng.permutation(np.arange(120) % 2 == 0)
    outputs = [kinds[int(place)] for place in rng.integers(len(kinds), size=120)]
    event = learn_event(outputs, members, delta=0.0)
    scores = event(outputs)
    assert np.isfinite(scores).all()
    alone = np.concatenate([event([output]) for output in outputs[:20]])
    np.testing.assert_allclose(scores[:20], alone, atol=1e-9)


def test_constant_output_teaches_nothing():
    event = learn_event([[1, "a", None]] * 200, np.arange(200) % 2 == 0, delta=0.0)
    assert not event([[1, "a", None], [2, "b", 3.0]]).any()


def test_learning_is_deterministic():
    rng = np.random.default_rng(1)
    members = rng.random(1000) < 0.5
    outputs = list(rng.normal(size=(1000, 3)) + members[:, None])
    one, other = (learn_event(outputs, members, delta=1e-5) for _ in range(2))
    assert one.fraction == other.fraction
    np.testing.assert_array_equal(one(outputs), other(outputs))


def test_learned_event_can_be_pickled():
    rng = np.random.default_rng(2)
    members = rng.random(400) < 0.5
    outputs = [{"a": float(x), "b": "yes" if m else "no"} for x, m in zip(rng.normal(size=400), members)]
    event = learn_event(outputs, members, delta=0.0)
    again = cloudpickle.loads(cloudpickle.dumps(event))
    np.testing.assert_array_equal(again(outputs), event(outputs))
    assert ((event(outputs) > 0) == members).all()


@pytest.mark.parametrize("n_cells", [200, 1500])
def test_finds_one_informative_cell_among_many(n_cells):
    rng = np.random.default_rng(3)

    def rows(members):
        noisy = rng.laplace(size=(1000, n_cells))
        noisy[:, 77] += 4 * members
        return list(np.round(noisy * 1024) / 1024)

    members, fresh = rng.random((2, 1000)) < 0.5
    event = learn_event(rows(members), members, delta=0.0)
    reading = Reading(signed=True, fraction=event.fraction)
    numbers = np.arange(1000)
    trials = Trials(numbers, np.zeros_like(numbers), fresh, event(rows(fresh)), Coins.FAIR, reading)
    assert 2.5 < Metric()(trials).low < 4  # which is the truth
