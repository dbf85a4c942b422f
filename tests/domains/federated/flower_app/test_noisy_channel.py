"""What clipping and noise allow, against simulated answers whose best test is known."""

import numpy as np
import pytest

from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel

N = 100_000


def simulated_accuracy(reads, steps, multiplier, rng, *, sees_steps, apart):
    """How often the likelihood ratio of both worlds is right, where reads are known to the attacker."""
    members = rng.random(N) < 0.5
    read = np.arange(steps) < reads[:, None]
    answers = multiplier * rng.normal(size=(N, steps)) + np.where(members[:, None], apart * read, 0.0)
    seen = (answers * read).sum(axis=1) if sees_steps else answers.sum(axis=1)
    says = seen > apart * reads / 2
    says[reads == 0] = rng.random(int((reads == 0).sum())) < 0.5
    return np.mean(says == members)


@pytest.mark.parametrize(("steps", "reads", "multiplier"), [(1, 1, 0.6), (6, 2, 0.5), (10, 10, 2.0)])
def test_accuracies_are_those_of_simulated_sums(steps, reads, multiplier):
    channel = NoisyChannel(
        name="it", clipped="example", multiplier=multiplier, steps=steps, reads=float(reads)
    )
    rng, fixed = np.random.default_rng([steps, reads]), np.full(N, reads)
    for found, sees_steps, apart in ((channel.optimum(), False, 1.0), (channel.ceiling(), True, 2.0)):
        truth = simulated_accuracy(fixed, steps, multiplier, rng, sees_steps=sees_steps, apart=apart)
        assert found == pytest.approx(truth, abs=4 * np.sqrt(0.25 / N))


def test_random_batches_are_averaged_over_how_often_a_row_is_read():
    channel = NoisyChannel(
        name="it", clipped="example", multiplier=0.5, steps=6, reads=2.0, random_reads=True
    )
    rng = np.random.default_rng(5)
    reads = rng.binomial(6, 1 / 3, size=N)
    truth = simulated_accuracy(reads, 6, 0.5, rng, sees_steps=False, apart=1.0)
    assert channel.optimum() == pytest.approx(truth, abs=4 * np.sqrt(0.25 / N))


def test_several_messages_are_worth_less_noise():
    once = NoisyChannel(name="it", clipped="update", multiplier=0.3)
    noisy = NoisyChannel(name="it", clipped="update", multiplier=0.6)
    assert noisy.ceiling(4) == pytest.approx(once.ceiling())
    assert noisy.optimum(4) == pytest.approx(once.optimum())


def test_steps_with_other_weights_have_no_stated_optimum():
    channel = NoisyChannel(name="Opacus", clipped="example", multiplier=1.0, steps=3, reads=1.0, sums=False)
    assert channel.optimum() is None
    assert "send nothing" not in channel.note(1)


@pytest.mark.parametrize(
    ("steps", "share", "multiplier", "iterations"), [(1, 0.1, 0.3, 10), (4, 0.25, 0.8, 5), (4, 0.25, 0.8, 20)]
)
def test_reads_of_different_iterations_are_independent(steps, share, multiplier, iterations):
    """An attacker who knows the reads of each iteration; normal distributions, whose best test is known."""
    channel = NoisyChannel(
        name="it",
        clipped="example",
        multiplier=multiplier,
        steps=steps,
        reads=steps * share,
        random_reads=True,
    )
    rng = np.random.default_rng([steps, iterations])
    reads = rng.binomial(steps, share, size=(N, iterations))
    members = rng.random(N) < 0.5
    noise = multiplier * np.sqrt(steps) * rng.normal(size=reads.shape)
    ratios = ((members[:, None] * reads + noise) * reads - reads**2 / 2).sum(axis=1)
    says = np.where(reads.any(axis=1), ratios > 0, rng.random(N) < 0.5)
    assert channel.optimum(iterations) == pytest.approx(np.mean(says == members), abs=0.006)
    total = reads.sum(axis=1)
    seen = np.where(members, 1, -1) * total + multiplier * np.sqrt(total) * rng.normal(size=N)
    says = np.where(total > 0, seen > 0, rng.random(N) < 0.5)
    assert channel.ceiling(iterations) == pytest.approx(np.mean(says == members), abs=0.006)
