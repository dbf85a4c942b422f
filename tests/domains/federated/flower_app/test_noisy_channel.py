"""What clipping and noise allow, against simulated answers whose best test is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, norm

from leakgauge.domains.federated.flower_app.challenger import AppChallenger
from leakgauge.domains.federated.flower_app.flower_internals import run_reads, with_reads
from leakgauge.domains.federated.flower_app.noisy_channel import NoisyChannel

N = 100_000


def single(reads):
    """A run in which no step reads a row twice."""
    return np.array(reads), np.array(reads)


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
        name="it", clipped="example", multiplier=0.5, steps=6, reads=2.0, reads_are="binomial"
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


def test_no_limit_is_stated_where_reads_are_not_known():
    channel = NoisyChannel(name="Opacus", clipped="example", multiplier=1.0, steps=3, reads_are="hidden")
    assert channel.ceiling() is channel.optimum() is channel.ceiling(4) is None
    assert "how often a step reads a given record is not known" in channel.note(1)
    assert "%" not in channel.note(1)


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
        reads_are="binomial",
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


@pytest.mark.parametrize("iterations", [1, 3])
def test_limits_hold_where_only_means_of_the_reads_are_known(iterations):
    """A loader that drops its last rows: in each of two epochs a row is read with chance 40 / 48, once.

    As a binomial number of four steps with the same mean it would be 0 too often, and the limits too low.
    """
    channel = NoisyChannel(name="it", clipped="example", multiplier=0.3, steps=4)
    rng, epochs = np.random.default_rng(8), 2
    runs = [
        single(sum(np.isin(np.arange(48), rng.permutation(48)[:40]).astype(int) for _ in range(epochs)))
        for _ in range(8)
    ]
    found = with_reads(channel, runs, None)
    assert found.reads_are == "unknown"
    assert found.reads == pytest.approx(2 * 40 / 48)  # exact: every run reads equally many rows in all
    reads = rng.binomial(2, 40 / 48, size=(N, iterations))
    members = rng.random(N) < 0.5
    noise = 0.3 * 2 * rng.normal(size=reads.shape)
    ratios = ((members[:, None] * reads + noise) * reads - reads**2 / 2).sum(axis=1)
    truth = np.mean(np.where(reads.any(axis=1), ratios > 0, rng.random(N) < 0.5) == members)
    assert found.optimum(iterations) >= truth - 0.006
    assert found.optimum(iterations) <= truth + 0.05
    total = reads.sum(axis=1)
    seen = np.where(members, 1, -1) * total + 0.3 * np.sqrt(total) * rng.normal(size=N)
    truth = np.mean(np.where(total > 0, seen > 0, rng.random(N) < 0.5) == members)
    assert found.ceiling(iterations) >= truth - 0.006
    if iterations == 1:
        as_binomial = with_reads(channel, runs, found.reads / 4)
        assert as_binomial.ceiling() < truth - 0.02  # what one recorded run was taken for


def test_reads_follow_from_the_rate_of_the_sampler_and_not_from_one_run():
    channel = NoisyChannel(name="it", clipped="example", multiplier=0.5, steps=6)
    rng, stated = np.random.default_rng(9), set()
    for _ in range(20):
        found = with_reads(channel, [single(rng.binomial(6, 1 / 3, size=16))], 1 / 3)
        stated.add((found.reads, found.reads_are))
    assert stated == {(2.0, "binomial")}


def test_equal_reads_are_fixed():
    channel = NoisyChannel(name="it", clipped="example", multiplier=0.5, steps=6)
    found = with_reads(channel, [single([2] * 48)], None)
    assert (found.reads, found.reads_are) == (2.0, "fixed")


def test_uncertain_means_are_stated_with_their_error_on_top():
    """Samplers whose share of rows changes from run to run: the limit covers the mean nearly always."""
    channel = NoisyChannel(name="it", clipped="example", multiplier=0.5, steps=6)
    rng, above = np.random.default_rng(10), []
    for _ in range(300):
        runs = [single(rng.binomial(6, rng.uniform(0.2, 0.5), size=16)) for _ in range(8)]
        above.append(with_reads(channel, runs, None).reads >= 6 * 0.35)
    assert np.mean(above) > 0.98


def test_reads_are_counted_by_step():
    rng = np.random.default_rng(11)
    batches = [rng.integers(7, size=size) for size in (5, 0, 12, 1)]
    counts = np.array([np.bincount(batch, minlength=7) for batch in batches])
    reads, squares = run_reads(batches, 7)
    np.testing.assert_array_equal(reads, counts.sum(axis=0))
    np.testing.assert_array_equal(squares, (counts**2).sum(axis=0))


@pytest.mark.parametrize(("steps", "reads", "norms"), [(1, 2, 2), (4, 4, 4), (2, 3, np.sqrt(5))])
def test_reads_in_one_step_add_up(steps, reads, norms):
    """Twice in the only step; four times in the first of four; twice in the first and once in the second."""
    rows = np.arange(32)
    batches = {(1, 2): [2], (4, 4): [4, 0, 0, 0], (2, 3): [2, 1]}[steps, reads]
    run = run_reads([np.tile(rows, times) for times in batches], 32)
    found = with_reads(
        NoisyChannel(name="it", clipped="example", multiplier=2.0, steps=steps), [run] * 8, None
    )
    assert found.reads_are == "fixed"
    assert found.optimum() == pytest.approx(norm.cdf(reads / (2 * 2 * np.sqrt(steps))))
    assert found.ceiling() == pytest.approx(norm.cdf(norms / 2))
    assert found.ceiling(3) == pytest.approx(norm.cdf(np.sqrt(3) * norms / 2))


@pytest.mark.parametrize(
    ("steps", "batch", "multiplier"), [(1, 32, 1.0), (1, 64, 1.0), (1, 32, 2.0), (4, 16, 1.0)]
)
@pytest.mark.parametrize("iterations", [1, 3])
def test_limits_hold_for_rows_drawn_with_replacement(steps, batch, multiplier, iterations):
    """Attackers that know each count, and one of a single message who does not (by numerical integration)."""
    rng = np.random.default_rng([12, steps, batch])
    channel = NoisyChannel(name="it", clipped="example", multiplier=multiplier, steps=steps)
    runs = [run_reads(rng.integers(32, size=steps * batch).reshape(steps, batch), 32) for _ in range(8)]
    found = with_reads(channel, runs, None)
    counts = rng.binomial(batch, 1 / 32, size=(N, iterations, steps))
    sums = np.sqrt((counts.sum(axis=2) ** 2).sum(axis=1))
    knows_sum = norm.cdf(sums / (2 * multiplier * np.sqrt(steps))).mean()
    knows_steps = norm.cdf(np.sqrt((counts**2).sum(axis=(1, 2))) / multiplier).mean()
    assert knows_sum - 0.003 <= found.optimum(iterations) <= knows_sum + 0.15
    assert knows_steps - 0.003 <= found.ceiling(iterations) <= min(1, knows_steps + 0.15)
    if iterations == 1:
        seen, width = np.linspace(-10 * multiplier, 20, 20_001, retstep=True)
        spread, times = multiplier * np.sqrt(steps), np.arange(20)
        inside = binom.pmf(times, steps * batch, 1 / 32) @ norm.pdf(seen, times[:, None], spread)
        bayes = 0.5 + np.abs(inside - norm.pdf(seen, 0, spread)).sum() * width / 4
        assert found.optimum() >= bayes


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_control_knows_how_often_random_batches_leave_the_target_out(iterations):
    """Two steps that draw a row with probability 1/2: it is in none of them in a quarter of the messages."""
    drawn = NoisyChannel(name="it", clipped="example", multiplier=1, steps=2, reads=1, reads_are="binomial")
    fixed = NoisyChannel(name="it", clipped="example", multiplier=1, steps=2, reads=1)
    block = SimpleNamespace(members=np.ones((5, 1), bool))

    def errors(channel, protection="off"):
        app = SimpleNamespace(
            description=SimpleNamespace(channels=(channel,)), iterations=iterations, protection=protection
        )
        return AppChallenger.utility_of(app, block)

    np.testing.assert_allclose(errors(drawn)["noise_error"], np.full(5, 0.25**iterations / 2))
    assert errors(fixed) == errors(drawn, "on") == {}
