import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.likelihood import Attack


def test_trained_networks_are_refused_with_a_way_out():
    with pytest.raises(BadInput, match="distribution of a trained model is not known; use strong"):
        Attack().study(object(), np.random.default_rng(0))


def test_too_few_imagined_sums_are_refused():
    with pytest.raises(BadInput, match="imagined must be >= 10, got 0"):
        Attack(imagined=0)
