import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.attacks.likelihood import Attack


def test_rejects_trained_networks_with_suggestion():
    with pytest.raises(BadInput, match="distribution of a trained model is not known; use strong"):
        Attack().study(object(), np.random.default_rng(0))


def test_rejects_too_few_simulated_sums():
    with pytest.raises(BadInput, match="imagined must be >= 10, got 0"):
        Attack(imagined=0)
