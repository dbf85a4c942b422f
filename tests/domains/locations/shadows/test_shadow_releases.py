import numpy as np

from leakgauge.domains.locations.shadows.shadow_releases import ShadowReleases


def test_columns_can_be_selected():
    outputs, known = np.arange(12.0).reshape(3, 4), np.ones((3, 4), np.int32)
    shadows = ShadowReleases(outputs, known, np.array([True, False, True]), known + 1)
    cut = shadows.on(np.array([0, 3]))
    np.testing.assert_array_equal(cut.outputs, [[0, 3], [4, 7], [8, 11]])
    np.testing.assert_array_equal(cut.left, [[-1, 2], [3, 6], [7, 10]])
    assert cut.counts.tolist() == [[2, 2]] * 3
    assert cut.members is shadows.members
