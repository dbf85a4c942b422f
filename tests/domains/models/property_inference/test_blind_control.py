"""What a fixed member group gives away without any model."""

import numpy as np
import pytest

from leakgauge.domains.models.games.member_split import MemberSplit
from leakgauge.domains.models.property_inference.blind_control import blind_control
from leakgauge.domains.models.training.trainer import Examples


def split(n):
    nobody = np.empty(0, dtype=np.int64)
    rows = np.arange(2 * n)
    return MemberSplit(members=rows[:n], others=rows[n:], rest=nobody, validation=nobody, description="")


def table(shift, n, rng):
    """Members are shifted in one feature: the best advantage is 2 Phi(shift / 2) - 1."""
    rows = rng.normal(size=(2 * n, 3))
    rows[:n, 1] += shift
    return Examples(rows.astype(np.float32), rng.integers(2, size=2 * n), 2)


@pytest.mark.parametrize(("shift", "best"), [(0.0, 0.0), (1.0, 0.3829), (3.0, 0.8664)])
def test_advantage_is_near_optimum(shift, best):
    found = blind_control(
        table(shift, 8_000, np.random.default_rng(1)), split(8_000), shift, np.random.default_rng(2)
    )
    assert found.advantage == pytest.approx(best, abs=4 * found.error)
    assert found.error < 0.03
    assert f"{found.advantage:.3f}" in found.note


def test_too_few_rows_have_no_control():
    assert (
        blind_control(table(1.0, 30, np.random.default_rng(1)), split(30), "few", np.random.default_rng(2))
        is None
    )


@pytest.mark.parametrize(("shift", "best"), [(0.0, 0.0), (2.0, 0.6827)])
def test_advantage_is_measured_on_held_out_rows(shift, best):
    """Of 60 rows each; twice the error is to cover what was aimed at, or less for want of rows to learn."""
    found = []
    for number in range(200):
        made = table(shift, 60, np.random.default_rng([1, number]))
        found.append(blind_control(made, split(60), (shift, number), np.random.default_rng([2, number])))
    advantages, errors = (np.array([getattr(one, name) for one in found]) for name in ("advantage", "error"))
    assert (
        best - 0.1 < advantages.mean() < best + 0.03
    )  # standard error 0.013; on learned rows 0.2 at shift 0
    around = np.abs(advantages - advantages.mean()) <= 2 * errors
    assert around.mean() > 0.95
