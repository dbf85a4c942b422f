import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule, epoch_batches


def drawn(sampling: BatchSampling, rows: int, batch: int, n_epochs: int) -> list[list[np.ndarray]]:
    schedule = TrainingSchedule(rows=rows, batch=batch, epochs=n_epochs, sampling=sampling)
    return list(epoch_batches(schedule, np.random.default_rng(1)))


@pytest.mark.parametrize("sampling", BatchSampling)
def test_epoch_has_one_step_per_whole_batch(sampling):
    found = drawn(sampling, rows=23, batch=5, n_epochs=3)
    assert [len(epoch) for epoch in found] == [4, 4, 4]
    for batch in (batch for epoch in found for batch in epoch):
        assert len(set(batch.tolist())) == len(batch)
        assert set(batch.tolist()) <= set(range(23))


def test_shuffled_batches_use_each_row_at_most_once_per_epoch():
    for epoch in drawn(BatchSampling.SHUFFLED, rows=23, batch=5, n_epochs=50):
        assert all(len(batch) == 5 for batch in epoch)
        assert len(set(np.concatenate(epoch).tolist())) == 20
    first, second = (np.concatenate(epoch) for epoch in drawn(BatchSampling.SHUFFLED, 23, 5, 2))
    assert not np.array_equal(first, second)


def test_sampled_batches_have_fixed_size():
    found = drawn(BatchSampling.WITHOUT_REPLACEMENT, rows=20, batch=5, n_epochs=50)
    assert all(len(batch) == 5 for epoch in found for batch in epoch)
    assert any(len(set(np.concatenate(epoch).tolist())) < 20 for epoch in found)


def test_poisson_batches_have_binomial_sizes():
    sizes = np.array([len(b) for epoch in drawn(BatchSampling.POISSON, 1_000, 20, 100) for b in epoch])
    n, variance = sizes.size, 1_000 * 0.02 * 0.98
    assert n == 5_000
    assert abs(sizes.mean() - 20) < 4 * np.sqrt(variance / n)
    assert sizes.var() == pytest.approx(variance, rel=4 * np.sqrt(2 / n))


def test_poisson_participation_is_uniform_and_independent():
    found = [batch for epoch in drawn(BatchSampling.POISSON, 10, 4, 5_000) for batch in epoch]
    joined = np.zeros((len(found), 10))
    for i, batch in enumerate(found):
        joined[i, batch] = 1
    error = np.sqrt(0.4 * 0.6 / len(found))
    assert np.abs(joined.mean(axis=0) - 0.4).max() < 4 * error
    correlations = np.corrcoef(joined.T)[np.triu_indices(10, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(len(found))
    assert min(map(len, found)) == 0


@pytest.mark.parametrize("batch", [0, 11])
def test_rejects_batches_that_do_not_fit(batch):
    with pytest.raises(BadInput, match=r"batch must be in 1\.\.10 \(training rows\), got"):
        TrainingSchedule(rows=10, batch=batch)


def test_rejects_zero_epochs():
    with pytest.raises(BadInput, match="epochs must be >= 1, got 0"):
        TrainingSchedule(rows=10, batch=1, epochs=0)
