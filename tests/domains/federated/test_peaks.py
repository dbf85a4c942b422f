import numpy as np
import pytest

from leakgauge.domains.federated.peaks import peak


@pytest.fixture(params=[False, True], ids=["signed", "non-negative"])
def rows(request):
    found = np.random.default_rng(1).normal(size=(800, 40)).astype(np.float32)
    return np.maximum(found, 0) if request.param else found


def test_the_value_is_a_distance_turned_upside_down(rows):
    target, own = rows[0], rows[1:401]
    neuron = peak(target, own, 19)
    spread = own.std(axis=0, dtype=np.float64)
    within = np.clip(rows, np.minimum(own.min(axis=0), target), None)  # below that, no hinge bends
    distance = (np.abs(within - target) / spread).sum(axis=1)
    values = neuron.values(rows)
    slope = (values[1] - values[0]) / (distance[1] - distance[0])
    assert slope < 0
    np.testing.assert_allclose(values, values[0] + slope * distance, atol=1e-4 * abs(values).max())


def test_it_is_active_for_the_target_and_for_no_row_that_was_never_seen(rows):
    for place in range(20):
        values = peak(rows[place], rows[20:410], 99).values(rows)
        assert values[place] > 0
        assert (values[410:] <= 0).all()


def test_with_few_units_the_features_that_stand_out_are_kept(rows):
    target = rows[0].copy()
    target[7] += 50
    neuron = peak(target, rows[1:], 19, units=2)
    assert neuron.units == 2
    assert np.flatnonzero(neuron.first.any(axis=0)).tolist() == [7]


def test_features_that_never_vary_do_no_harm(rows):
    still = rows.copy()
    still[:, 3] = 2.0
    assert np.isfinite(peak(still[0], still[1:], 19).values(still)).all()
