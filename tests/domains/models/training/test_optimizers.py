import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.optimizers import Adam, Sgd


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(Sgd(rate=0.1), torch.optim.SGD), (Adam(rate=0.1), torch.optim.Adam)],
    ids=["sgd", "adam"],
)
def test_steps_match_torch(ours, theirs):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=50).astype(np.float32)
    parameter = torch.nn.Parameter(torch.from_numpy(weights.copy()))
    update, optimizer = ours.updater(weights), theirs([parameter], lr=0.1)
    for step in range(30):
        gradient = (rng.normal(size=50) * 10.0 ** rng.integers(-6, 3, size=50)).astype(np.float32)
        parameter.grad = torch.from_numpy(gradient.copy())
        update(gradient)
        optimizer.step()
        np.testing.assert_allclose(
            weights, parameter.detach().numpy(), rtol=2e-5, atol=2e-6, err_msg=str(step)
        )


def test_first_adam_step_has_length_of_learning_rate():
    weights = np.zeros(3, dtype=np.float32)
    Adam(rate=0.01).updater(weights)(np.array([5.0, -0.001, 0.0], dtype=np.float32))
    np.testing.assert_allclose(weights, [-0.01, 0.01, 0.0], rtol=1e-4)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("kind", [Sgd, Adam])
def test_rejects_non_positive_rates(kind, rate):
    with pytest.raises(BadInput, match="rate must be > 0"):
        kind(rate=rate)


@pytest.mark.parametrize("name", ["first", "second"])
def test_rejects_invalid_betas(name):
    with pytest.raises(BadInput, match=name):
        Adam(**{name: 1.0})
