import numpy as np
import pytest

from leakgauge.strategies.gradient_clipping import clip_factors, gradient_norms


def test_norms_match_explicit_gradients():
    rng = np.random.default_rng(1)
    passed = [
        (rng.normal(size=(7, inputs)).astype(np.float32), rng.normal(size=(7, outputs)).astype(np.float32))
        for inputs, outputs in [(4, 3), (3, 5), (5, 2)]
    ]
    for example, found in enumerate(gradient_norms(passed)):
        whole = [np.outer(flow[example], np.append(given[example], 1)).ravel() for given, flow in passed]
        assert found == pytest.approx(np.linalg.norm(np.concatenate(whole)), rel=1e-6)


def test_only_long_gradients_are_clipped():
    lengths = np.array([0.0, 1e-30, 0.5, 0.7, 0.9, 1e30, np.inf])
    found = clip_factors(lengths, clip=0.7)
    np.testing.assert_array_equal(found[:4], 1)
    np.testing.assert_allclose(found[4:6] * lengths[4:6], 0.7, rtol=1e-6)
    assert found[6] == 0


def test_huge_gradients_are_clipped():
    huge = np.full((1, 4), 1e15, dtype=np.float32)
    assert gradient_norms([(huge, huge)]) == pytest.approx(4e30, rel=1e-6)
