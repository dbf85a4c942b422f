import numpy as np
import pytest

from leakgauge.theory import tradeoff
from leakgauge.theory.polygon import Half, inner, joined, outer

FPR = np.linspace(0, 1, 3001)


def random_half(rng: np.random.Generator, n: int) -> Half:
    """Atoms of a symmetric pair: strongest evidence first."""
    losses = np.sort(rng.uniform(0, 4, n))[::-1]
    masses = rng.dirichlet(np.ones(n)) * 0.9
    masses /= np.sum(masses * (1 + np.exp(-losses))) / 0.9
    return Half(losses, losses, masses, masses * np.exp(-losses))


def both_laws(half: Half) -> tuple[np.ndarray, np.ndarray]:
    zero = 1 - half.members.sum() - half.others.sum()
    members = np.concatenate([half.members, [zero], half.others])
    others = np.concatenate([half.others, [zero], half.members])
    return others, members


def test_atoms_have_one_polygon_that_of_neyman_and_pearson():
    rng = np.random.default_rng(4)
    for n in (1, 5, 40):
        half = random_half(rng, n)
        exact = tradeoff.max_tpr(FPR, tradeoff.between(*both_laws(half)))
        for curve in (inner(half), outer(half)):
            np.testing.assert_allclose(tradeoff.max_tpr(FPR, curve), exact, atol=1e-12)


@pytest.mark.parametrize("n", [2, 7, 50])
def test_coarser_polygons_enclose_the_exact_curve(n):
    half = random_half(np.random.default_rng(5), 200)
    exact = tradeoff.max_tpr(FPR, tradeoff.between(*both_laws(half)))
    coarse = half.coarser(n)
    assert coarse.low.size <= n
    low, high = (tradeoff.max_tpr(FPR, draw(coarse)) for draw in (inner, outer))
    assert (low <= exact + 1e-12).all()
    assert (high >= exact - 1e-12).all()
    assert np.max(high - low) < 1 / n


def test_joining_bins_keeps_all_probability():
    half = random_half(np.random.default_rng(6), 300)
    coarse = half.coarser(11)
    assert coarse.members.sum() == pytest.approx(half.members.sum())
    assert coarse.others.sum() == pytest.approx(half.others.sum())
    assert (coarse.high >= coarse.low).all()
    assert coarse.low[-1] == half.low[-1]
    assert coarse.high[0] == half.high[0]


def test_rounding_errors_are_mended_and_curves_are_shared_safely():
    curve = joined(np.array([0.0, 0.3, 0.3 - 1e-17, 1 + 1e-16]), np.array([-1e-17, 0.5, 0.6, 1.0]))
    assert (np.diff(curve.fpr) >= 0).all()
    assert (curve.fpr[-1], curve.tpr[-1]) == (1, 1)
    with pytest.raises(ValueError, match="read-only"):
        curve.fpr[0] = 1
