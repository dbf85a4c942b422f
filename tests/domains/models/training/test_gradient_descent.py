import pickle

import numpy as np
import pytest
import torch

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.gradient_descent import TrainingRecipe, train_network, training_steps
from leakgauge.domains.models.training.mlp import (
    MlpClassifier,
    MlpShape,
    clipped_gradient_sum,
    glorot_network,
)
from leakgauge.domains.models.training.noise_calibration import DpSgdNoise
from leakgauge.domains.models.training.optimizers import Adam, Sgd
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.domains.models.training.trainer import Examples


def separable(n: int, seed: int = 1) -> Examples:
    """Two classes that a line tells apart, with hardly anybody on it."""
    rows = np.random.default_rng(seed).random((n, 6), dtype=np.float32)
    return Examples(rows, (rows[:, 0] + rows[:, 1] > 1).astype(np.int64), 2)


def recipe(
    rows: int, *, noise=None, batch=20, epochs=2, sampling=BatchSampling.POISSON, optimizer=None
) -> TrainingRecipe:
    return TrainingRecipe(
        schedule=TrainingSchedule(rows=rows, batch=batch, epochs=epochs, sampling=sampling),
        noise=noise,
        hidden=(16, 16),
        optimizer=optimizer or Adam(),
    )


def gradient_of_one(network: MlpClassifier, row, label) -> np.ndarray:
    parts = [torch.from_numpy(part.copy()).requires_grad_() for layer in network.layers for part in layer]
    hidden = torch.relu(torch.nn.functional.linear(torch.from_numpy(row), *parts[:2]))
    hidden = torch.relu(torch.nn.functional.linear(hidden, *parts[2:4]))
    logits = torch.nn.functional.linear(hidden, *parts[4:])
    loss = torch.nn.functional.cross_entropy(logits[None], torch.tensor([label]))
    return torch.cat([part.ravel() for part in torch.autograd.grad(loss, parts)]).numpy()


def test_dp_adam_steps_match_explicit_loop():
    examples, noise = separable(100), DpSgdNoise(sigma=0.5, clip=0.4)
    network = glorot_network(MlpShape(6, 2, (16, 16)), np.random.default_rng(2))
    weights = torch.nn.Parameter(torch.from_numpy(network.weights.copy()))
    adam = torch.optim.Adam([weights], lr=0.01)
    noising = np.random.default_rng(3).spawn(2)[1]
    n_clipped = 0
    for step in training_steps(examples, recipe(100, noise=noise), network, np.random.default_rng(3)):
        at = MlpClassifier(network.shape, weights.detach().numpy().copy())
        np.testing.assert_allclose(step.network.weights, at.weights, atol=2e-5)
        total = np.zeros(network.weights.size)
        for row, label in zip(examples.rows[step.batch], examples.labels[step.batch]):
            gradient = gradient_of_one(at, row, label)
            norm = np.linalg.norm(gradient)
            n_clipped += norm > 0.4
            total += gradient * min(1, 0.4 / norm)
        total += 0.5 * 0.4 * noising.standard_normal(total.size, dtype=np.float32)
        np.testing.assert_allclose(step.released, total, atol=2e-4)
        weights.grad = torch.from_numpy((total / 20).astype(np.float32))
        adam.step()
    np.testing.assert_allclose(network.weights, weights.detach().numpy(), atol=2e-4)
    assert 0 < n_clipped < 200


def test_noisy_sum_is_divided_by_expected_batch_size():
    network = glorot_network(MlpShape(6, 2, (16, 16)), np.random.default_rng(2))
    given = recipe(100, noise=DpSgdNoise(sigma=1.0), optimizer=Sgd(rate=0.5))
    before, sizes = None, []
    for step in training_steps(separable(100), given, network, np.random.default_rng(4)):
        if before is not None:
            np.testing.assert_allclose(network.weights, before, atol=1e-6)
        before = network.weights - 0.5 * step.released / 20
        sizes.append(len(step.batch))
    assert len(set(sizes)) > 1


def test_noise_has_stated_size_in_every_weight_and_step():
    examples, noise = separable(100), DpSgdNoise(sigma=2.0, clip=0.5)
    network = glorot_network(MlpShape(6, 2, (16, 16)), np.random.default_rng(2))
    drawn = []
    for step in training_steps(
        examples, recipe(100, noise=noise, epochs=60), network, np.random.default_rng(5)
    ):
        rows, labels = examples.rows[step.batch], examples.labels[step.batch]
        drawn.append(step.released - clipped_gradient_sum(step.network, rows, labels, 0.5))
    found = np.array(drawn)
    assert found.std() == pytest.approx(1.0, rel=4 / np.sqrt(2 * found.size))
    assert abs(found.mean()) < 4 / np.sqrt(found.size)
    assert np.abs(np.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]) < 4 / np.sqrt(found.size)
    np.testing.assert_allclose(found.std(axis=0), 1.0, atol=5 / np.sqrt(2 * len(found)))


@pytest.mark.parametrize("sampling", BatchSampling)
@pytest.mark.parametrize("noise", [None, DpSgdNoise(sigma=1.0)])
def test_training_is_reproducible(sampling, noise):
    given = recipe(100, noise=noise, sampling=sampling)
    first, again, other = (
        train_network(separable(100), given, np.random.default_rng(seed)).weights for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_models_with_different_noise_share_start_and_batches():
    examples, found = separable(100), []
    for noise in (DpSgdNoise(sigma=1.0), DpSgdNoise(sigma=3.0), None):
        network = glorot_network(MlpShape(6, 2, (16, 16)), np.random.default_rng(2))
        taken = training_steps(examples, recipe(100, noise=noise), network, np.random.default_rng(6))
        found.append([step.batch.tolist() for step in taken])
    assert found[0] == found[1] == found[2]


def test_training_learns_unless_noise_is_too_large():
    members, others = separable(2_000), separable(2_000, seed=2)

    def accuracy(noise: DpSgdNoise | None, optimizer=None) -> float:
        given = recipe(2_000, noise=noise, batch=100, epochs=10, optimizer=optimizer)
        return train_network(members, given, np.random.default_rng(7)).accuracy(others.rows, others.labels)

    assert accuracy(None) > 0.95
    assert accuracy(DpSgdNoise(sigma=1.0)) > 0.93
    assert accuracy(DpSgdNoise(sigma=1.0), Sgd(rate=0.5)) > 0.9
    assert 0.2 < accuracy(DpSgdNoise(sigma=1e4)) < 0.8


def test_network_can_memorise_its_rows():
    rng = np.random.default_rng(8)
    rows, labels = rng.random((60, 20), dtype=np.float32), rng.integers(3, size=60)
    given = TrainingRecipe(schedule=TrainingSchedule(rows=60, batch=20, sampling=BatchSampling.SHUFFLED))
    assert train_network(Examples(rows, labels, 3), given, rng).accuracy(rows, labels) == 1


def test_every_epoch_is_reported_once():
    seen: list[int] = []
    train_network(separable(100), recipe(100, epochs=4), np.random.default_rng(1), seen.append)
    assert seen == [0, 1, 2, 3]


def test_recipe_can_be_pickled():
    given = recipe(100, noise=DpSgdNoise(sigma=1.0))
    assert pickle.loads(pickle.dumps(given)) == given


def test_rows_are_left_unchanged():
    examples = separable(100)
    examples.rows.setflags(write=False)
    examples.labels.setflags(write=False)
    train_network(examples, recipe(100, noise=DpSgdNoise(sigma=1.0)), np.random.default_rng(1))


def test_rejects_schedule_for_other_rows():
    with pytest.raises(BadInput, match="the schedule is for 99 rows, got 100"):
        train_network(separable(100), recipe(99), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (np.ones((2, 3)), [0], "a label for each row"),
        (np.array([[0.0], [np.nan]]), [0, 1], "not a finite number"),
        (np.ones((2, 3)), [0, 2], r"labels must be in 0\.\.1"),
        (np.ones((2, 3)), [0, -1], r"labels must be in 0\.\.1"),
    ],
)
def test_rejects_unusable_examples(rows, labels, words):
    with pytest.raises(BadInput, match=words):
        Examples(rows.astype(np.float32), np.array(labels), 2)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["sigma", "clip"])
def test_rejects_invalid_noise(name, value):
    with pytest.raises(BadInput, match=f"{name} must be > 0 and finite"):
        DpSgdNoise(**{"sigma": 1.0, name: value})


@pytest.mark.parametrize("optimizer", [Sgd(rate=1e30), Adam(rate=1e30)])
def test_diverging_weights_are_rejected_without_warning(optimizer):
    with pytest.raises(BadInput, match="diverged in epoch 1 of 2; lower rate"):
        train_network(separable(100), recipe(100, optimizer=optimizer), np.random.default_rng(1))
