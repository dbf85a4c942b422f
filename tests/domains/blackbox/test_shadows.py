import numpy as np
import pytest

from leakgauge.domains.blackbox import shadows
from leakgauge.domains.blackbox.shadows import draw_shadows
from leakgauge.support.parallel import use_parallel_map


def noisy(members, rng):
    return (members + rng.normal(size=members.size)).tolist()


@pytest.mark.parametrize("n", [1, 19, 20, 21, 1000, 1003])
def test_both_worlds_are_simulated_equally_often(n):
    made = draw_shadows(noisy, n, np.random.default_rng(1))
    assert len(made.outputs) == made.members.size == n
    assert abs(2 * made.members.sum() - n) <= 1 + n // 250


def test_outputs_are_paired_with_their_world():
    made = draw_shadows(lambda members, rng: members.tolist(), 600, np.random.default_rng(1))
    np.testing.assert_array_equal(made.outputs, made.members)


def test_worlds_come_in_random_order():
    members = draw_shadows(noisy, 2000, np.random.default_rng(1)).members
    # A sign test of neighbours: half of them differ.
    assert np.mean(members[1:] != members[:-1]) == pytest.approx(0.5, abs=0.05)


def test_shadows_do_not_depend_on_engine(monkeypatch):
    alone = draw_shadows(noisy, 1500, np.random.default_rng(7))
    handed_out = []

    def backwards(function, items):
        handed_out.extend(items)
        return [function(item) for item in items[::-1]][::-1]

    monkeypatch.setattr(shadows, "_MIN_PARALLEL_SECONDS", 0.0)
    with use_parallel_map(backwards):
        spread_out = draw_shadows(noisy, 1500, np.random.default_rng(7))
    assert len(handed_out) == 6
    assert spread_out.outputs == alone.outputs
    np.testing.assert_array_equal(spread_out.members, alone.members)


def test_quick_work_stays_in_process():
    def nobody(function, items):
        raise AssertionError("given away")

    with use_parallel_map(nobody):
        assert len(draw_shadows(noisy, 500, np.random.default_rng(7)).outputs) == 500


def test_chunks_use_different_randomness():
    assert len(set(draw_shadows(noisy, 5000, np.random.default_rng(3)).outputs)) == 5000
