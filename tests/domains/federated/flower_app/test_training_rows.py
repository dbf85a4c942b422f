"""Which rows a client trains on, against small clients whose rows are known."""

import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm

sys.path.insert(0, str(Path(__file__).parent))
from app_variants import VARIANTS
from forked_app import describe

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.flower_app.training_rows import TrainingRows, rows_by_exchange

N_ROWS = 11


class Pair(torch.nn.Module):
    """A network with two inputs, given by place or by name."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, pixels, mask=None):
        return self.layer(pixels if mask is None else pixels * mask)


def watched(train, items):
    """Let a function train a network on items, in steps that it ends; return what was seen."""
    seen = TrainingRows()

    def read(number):
        seen.note_read(number, items[number])
        return torch.as_tensor(items[number][0])

    with seen.watching():
        train(Pair(), read, seen)
    return seen


def items(rng):
    return [(rng.normal(size=3).astype(np.float32), np.ones(3, np.float32), 1) for _ in range(N_ROWS)]


def test_rows_that_are_kept_count_each_time():
    rng = np.random.default_rng(1)
    batches = [rng.choice(N_ROWS, 4, replace=False) for _ in range(5)]

    def train(net, read, seen):
        kept = torch.stack([read(number) for number in range(N_ROWS)])
        for batch in batches:
            with torch.no_grad():
                net(kept)  # is no training
            loss = torch.nn.CrossEntropyLoss()  # a module without parameters
            loss(net(kept[batch]), torch.zeros(4, dtype=torch.int64))
            seen.note_clipped(4, is_step=True)

    seen = watched(train, items(rng))
    for found, batch in zip(seen.steps(seen.rows()), batches, strict=True):
        np.testing.assert_array_equal(found, batch)


@pytest.mark.parametrize("kept", [False, True])
def test_equal_rows_count_once_each_unless_they_are_kept(kept):
    given = items(np.random.default_rng(7))
    given[4] = given[1]

    def train(net, read, seen):
        for rows in ([1, 2], [4, 4], [4, 1]):
            batch = torch.stack([read(number) for number in rows])
            for _ in range(1 + kept):
                net(batch)
                seen.note_clipped(2, is_step=True)

    seen = watched(train, given)
    found = [step.tolist() for step in seen.steps(seen.rows())]
    in_turn, both = [[1, 2], [4, 4], [4, 1]], [[1, 4, 2], [1, 4, 1, 4], [1, 4, 1, 4]]
    assert found == (list(chain(*zip(both, both))) if kept else in_turn)


def test_parts_of_a_step_are_one_step_and_the_rest_is_none():
    def train(net, read, seen):
        for number in range(6):
            net(read(number)[None])
            seen.note_clipped(1, is_step=number in (1, 4))

    seen = watched(train, items(np.random.default_rng(2)))
    assert [step.tolist() for step in seen.steps(seen.rows())] == [[0, 1], [2, 3, 4]]


def test_inputs_that_all_rows_share_do_not_make_an_example_depend_on_all():
    def train(net, read, seen):
        net(read(3)[None], mask=torch.ones(1, 3))

    assert watched(train, items(np.random.default_rng(3))).rows() == [[3]]


def test_an_example_of_two_rows_counts_for_both():
    def train(net, read, seen):
        net(read(3)[None], read(5)[None])

    assert watched(train, items(np.random.default_rng(4))).rows() == [[3, 5]]


@pytest.mark.parametrize("n_clipped", [3, 5])
def test_gradients_that_were_not_seen_leave_the_rows_unknown(n_clipped):
    def train(net, read, seen):
        net(torch.stack([read(number) for number in range(4)]))
        seen.note_clipped(n_clipped, is_step=True)

    assert watched(train, items(np.random.default_rng(5))).rows() is None


def test_rows_that_were_changed_are_not_recognised():
    def train(net, read, seen):
        net(2 * read(3)[None])

    assert watched(train, items(np.random.default_rng(6))).rows() is None


@pytest.mark.parametrize("n_rows", [1, 2, 48, 100])
def test_exchanged_rows_spell_the_row_behind_each_example(n_rows):
    """Examples that are rows with the same random change in each run; some rows twice, some never."""
    rng = np.random.default_rng(n_rows)
    used, changes = rng.integers(n_rows, size=70), rng.normal(size=70)

    def run(exchanged):
        values = np.where(exchanged, 100.0, 0.0) + np.arange(n_rows)
        return [(str(one).encode(),) for one in np.sqrt(values[used]) + changes]

    found = rows_by_exchange(run(np.zeros(n_rows, bool)), n_rows, run)
    assert found == [(number,) for number in used]


@pytest.mark.parametrize("kind", ["of two rows", "of none", "of all", "of another number"])
def test_other_examples_have_no_row(kind):
    runs = []

    def run(exchanged):
        runs.append(exchanged)
        values = np.where(exchanged, 100, 0) + np.arange(20)
        examples = {
            "of two rows": values + np.roll(values, 1),
            "of none": np.arange(20),
            "of all": values + values.sum(),
            "of another number": values[: len(runs)],
        }[kind]
        return [(str(one).encode(),) for one in examples]

    assert rows_by_exchange(run(np.zeros(20, bool)), 20, run) is None


def channel_of(folder, name):
    project, config = VARIANTS[name](folder)
    found = describe(project, run_config=tuple(config.items()))
    assert not isinstance(found, str | BadInput), found
    (channel,) = found.channels
    return channel


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name",
    [
        "opacus .5",
        "opacus in parts",
        "opacus ghost",
        "opacus kept rows",
        "opacus kept batches",
        "opacus kept after the first epoch",
        "opacus scaled",
        "opacus scaled and kept",
    ],
)
def test_a_row_is_in_two_of_six_steps_whether_it_is_kept_or_not(tmp_path, name):
    """48 rows in batches of 16, twice."""
    channel = channel_of(tmp_path, name)
    assert (channel.steps, channel.reads, channel.reads_are) == (6, 2.0, "fixed")
    assert channel.optimum() == pytest.approx(norm.cdf(2 / (2 * 0.5 * np.sqrt(6))))
    assert channel.ceiling() == pytest.approx(norm.cdf(np.sqrt(2) / 0.5))


@pytest.mark.nightly
def test_rows_that_are_kept_count_in_every_epoch(tmp_path):
    """All rows in each of 36 steps, with noise of two bounds; one read would allow Phi(1 / 2) to anybody."""
    channel = channel_of(tmp_path, "opacus 2 kept batches")
    assert (channel.steps, channel.reads, channel.reads_are) == (36, 36.0, "fixed")
    assert channel.optimum() == pytest.approx(norm.cdf(np.sqrt(36) / (2 * 2)))
    assert channel.ceiling() == pytest.approx(norm.cdf(np.sqrt(36) / 2))


def drawn_reads(name, rng, n_runs):
    """How often row 0 of 48 is in each of six steps, by the rule of an app."""
    reads = np.zeros((n_runs, 6))
    for run in reads:
        if name == "opacus one batch":
            run[:] = 0 in rng.choice(48, 16, replace=False)
        elif name == "opacus replayed":
            order = np.concatenate([rng.permutation(48), rng.permutation(48)])
            run[:] = [np.sum(order[rng.integers(16 * step, size=16)] == 0) for step in range(1, 7)]
        else:  # batches of one epoch, by the sampler of Opacus, twice
            run[:] = np.tile(rng.random(3) < 1 / 3, 2)
    return reads


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["opacus one batch", "opacus replayed", "opacus kept after the first epoch poisson"]
)
def test_kept_rows_that_are_drawn_at_random_have_limits_that_hold(tmp_path, name):
    """Attackers who know how often the row is in each step, by simulation of the app's own rule."""
    channel = channel_of(tmp_path, name)
    assert (channel.steps, channel.reads_are) == (6, "unknown")
    reads = drawn_reads(name, np.random.default_rng(13), 60_000)
    assert 2.0 - 1e-9 <= channel.reads < 3.0
    for iterations in (1, 3):
        sent = reads.reshape(-1, iterations, 6)
        sums = np.sqrt((sent.sum(axis=2) ** 2).sum(axis=1))
        knows_sum = norm.cdf(sums / (2 * 0.5 * np.sqrt(6))).mean()
        knows_steps = norm.cdf(np.sqrt((sent**2).sum(axis=(1, 2))) / 0.5).mean()
        assert channel.optimum(iterations) >= knows_sum - 0.003
        assert channel.ceiling(iterations) >= knows_steps - 0.003


@pytest.mark.nightly
def test_batches_that_opacus_draws_from_kept_rows_are_binomial(tmp_path):
    channel = channel_of(tmp_path, "opacus kept rows poisson")
    assert (channel.steps, channel.reads_are) == (6, "binomial")
    assert channel.reads == pytest.approx(2.0)


@pytest.mark.nightly
def test_rows_that_are_mixed_have_no_stated_limit(tmp_path):
    channel = channel_of(tmp_path, "opacus mixed")
    assert channel.reads_are == "hidden"
    assert channel.ceiling() is None
