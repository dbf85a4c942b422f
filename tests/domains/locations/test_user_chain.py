import pickle
import random
from contextlib import nullcontext

import numpy as np
import pytest

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.release_chain import UserReleaseChain
from leakgauge.plan import plan_of
from leakgauge.runner.run_verdicts import judge_folder

COUNTS = np.arange(24).reshape(2, 12)


def rng():
    return np.random.default_rng(1)


def noisy(counts, rng):
    return counts + rng.integers(0, 2, size=counts.shape)


def poisson_law(outputs, counts):
    return np.where(outputs >= counts, -np.log(2), -np.inf)


def test_pipeline_gets_one_table_per_round():
    shapes = []

    def publish(counts, rng):
        shapes.append(counts.shape)
        return counts

    published = UserReleaseChain(publish, 3, 4).sample(COUNTS, rng())
    assert shapes == [(3, 4), (3, 4)]
    np.testing.assert_array_equal(published, COUNTS)


def test_pipeline_cannot_modify_true_counts():
    def publish(counts, rng):
        counts[:] = 0
        return counts

    counts = COUNTS.astype(float)
    UserReleaseChain(publish, 3, 4).sample(counts, rng())
    np.testing.assert_array_equal(counts, COUNTS)


def test_global_random_state_is_seeded():
    def publish(counts, rng):
        return counts + random.random() + np.random.random() + rng.random()  # noqa: NPY002

    chain = UserReleaseChain(publish, 3, 4)
    np.testing.assert_array_equal(chain.sample(COUNTS, rng()), chain.sample(COUNTS, rng()))
    first, second = chain.sample(COUNTS, rng()) - COUNTS
    assert (first != second).all()


def test_declared_distribution_is_used():
    chain = UserReleaseChain(noisy, 3, 4, law=poisson_law)
    assert chain.log_law(np.array([1.0, 0.0]), np.array([0.0, 1.0])).tolist() == [-np.log(2), -np.inf]


def test_distribution_function_gets_arrays_of_one_shape():
    shapes = []

    def law(outputs, counts):
        shapes.append((outputs.shape, counts.shape))
        return np.zeros(outputs.shape)

    found = UserReleaseChain(noisy, 3, 4, law=law).log_law(np.zeros((1, 5)), np.zeros((3, 1)))
    assert found.shape == (3, 5)
    assert shapes == [((3, 5), (3, 5))]


@pytest.mark.parametrize("wrong", [lambda outputs, counts: 0.0, lambda outputs, counts: outputs * np.nan])
def test_rejects_invalid_distribution(wrong):
    with pytest.raises(BadInput, match=r"mechanism\.law: must return the log probability of each of 2"):
        UserReleaseChain(noisy, 3, 4, law=wrong).log_law(np.zeros(2), np.zeros(2))


def test_can_be_pickled():
    again = pickle.loads(pickle.dumps(UserReleaseChain(noisy, 3, 4, law=poisson_law)))
    np.testing.assert_array_equal(
        again.sample(COUNTS, rng()), UserReleaseChain(noisy, 3, 4).sample(COUNTS, rng())
    )


def test_pipeline_stdout_is_suppressed(capsys):
    def publish(counts, rng):
        print("hello")
        return counts

    UserReleaseChain(publish, 3, 4).sample(COUNTS, rng())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("publish", "problem"),
    [
        (lambda counts, rng: counts[:2], r"got 3 x 4 counts and returned \(2, 4\)"),
        (lambda counts, rng: counts / 0.0 * 0.0, "not finite; publish 0"),
        (
            lambda counts, rng: 1 / 0,
            r"raised ZeroDivisionError: division by zero \(.*test_user_chain.py, line \d+\)$",
        ),
        (lambda counts, rng: exit(3), r"raised SystemExit: 3 \(.*test_user_chain.py, line \d+\)$"),
        (lambda counts, rng: [["many"] * 4] * 3, "raised ValueError"),
    ],
    ids=["shape", "nan", "error", "exit", "words"],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:divide by zero:RuntimeWarning")
def test_failing_pipeline_is_named(publish, problem):
    with pytest.raises(BadInput, match=f"mechanism.release.*{problem}"):
        UserReleaseChain(publish, 3, 4).sample(COUNTS, rng())


def test_failing_distribution_is_named():
    def law(outputs, counts):
        return outputs.nothing

    with pytest.raises(
        BadInput, match=r"mechanism\.law raised AttributeError: .*test_user_chain.py, line \d+\)$"
    ):
        UserReleaseChain(noisy, 3, 4, law=law).log_law(np.zeros(1), np.zeros(1))


def test_missing_distribution_is_not_invented():
    with pytest.raises(BadInput, match=r"set mechanism\.law"):
        UserReleaseChain(noisy, 3, 4).log_law(np.zeros(1), np.zeros(1))


TARGETS = np.array([[1.0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("publish", "named"),
    [
        (lambda counts, rng: counts + rng.laplace(size=counts.shape), ()),
        (lambda counts, rng: np.where(counts < 2, 0, counts), ()),
        (lambda counts, rng: with_first(counts + rng.laplace(size=counts.shape), counts.sum()), ("change",)),
        (lambda counts, rng: counts / counts.sum(), ("change",)),
        (lambda counts, rng: counts + np.random.default_rng().laplace(size=counts.shape), ("own",)),
    ],
)
def test_cells_that_no_attack_reads_are_named_if_they_tell_of_a_target(publish, named):
    found = UserReleaseChain(publish, 3, 4).unread_cells(np.arange(12.0)[None], TARGETS)
    assert len(found) == len(named)
    assert all(word in text for word, text in zip(named, found))


def drawn(counts, rng, shape=None):
    return np.round(rng.laplace(scale=5.0, size=counts.shape if shape is None else shape))


def balanced(noise, axis=None):
    return noise - noise.mean(axis=axis, keepdims=True)


def mirrored(noise):
    half = noise.shape[1] // 2
    return np.hstack([noise[:, :half], -noise[:, :half]])


DEPENDENT = {
    "one draw for all cells": lambda counts, rng: counts + drawn(counts, rng, ()),
    "one draw for each epoch": lambda counts, rng: counts + drawn(counts, rng, (1, counts.shape[1])),
    "an exact total": lambda counts, rng: counts + balanced(drawn(counts, rng)),
    "exact totals of places": lambda counts, rng: counts + balanced(drawn(counts, rng), axis=1),
    "noise and its opposite": lambda counts, rng: counts + mirrored(drawn(counts, rng)),
}
INDEPENDENT = {
    "laplace": lambda counts, rng: counts + drawn(counts, rng),
    "clamped": lambda counts, rng: np.maximum(counts + drawn(counts, rng), 0),
    "suppressed": lambda counts, rng: np.where((noisy := counts + drawn(counts, rng)) > 9, noisy, 0),
    "long tails": lambda counts, rng: counts + rng.standard_t(3, size=counts.shape),
    "none": lambda counts, rng: np.where(counts > 2, counts, 0),
}


def unread_of(publish, seed):
    counts = np.random.default_rng(seed).poisson(6.0, size=(1, 120)).astype(float)
    return UserReleaseChain(publish, 6, 20).unread_cells(counts, np.eye(1, 120))


@pytest.mark.parametrize("name", DEPENDENT)
def test_noise_that_cells_share_is_named(name):
    assert [text.split(",")[0] for text in unread_of(DEPENDENT[name], 1)] == ["sums of cells"]


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_noise_is_not_accused(name):
    assert not any(unread_of(INDEPENDENT[name], seed) for seed in range(20))


def test_cells_without_noise_beside_others_are_named():
    def publish(counts, rng):
        noise = drawn(counts, rng)
        noise[0] = 0
        return counts + noise

    assert unread_of(publish, 1) == ("cells that are published as they are, while others have noise",)


@pytest.mark.parametrize(("centre", "fits"), [(0.0, True), (1000.0, False)])
def test_a_distribution_that_draws_contradict_is_refused(centre, fits):
    def law(outputs, counts):
        return -np.abs(outputs - counts - centre) / 5.0

    def publish(counts, rng):
        return counts + rng.laplace(scale=5.0, size=counts.shape)

    chain = UserReleaseChain(publish, 6, 20, law=law, whole=False)
    with nullcontext() if fits else pytest.raises(BadInput, match="is not the distribution of the release"):
        chain.unread_cells(np.full((1, 120), 6.0), np.eye(1, 120))


def with_first(table, value):
    table[0, 1] = value
    return table


def test_nobody_is_cleared_beside_cells_that_are_not_read(tmp_path):
    """The exact total of all visits stands in a cell where no target was."""
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n\n\ndef publish(counts, rng):\n"
        "    noisy = counts + rng.laplace(scale=30, size=counts.shape)\n"
        "    noisy.reshape(-1)[0] = counts.sum()\n    return noisy\n"
    )
    plan = {
        "seed": 3,
        "limits": {"accuracy": 0.7},
        "audit": [
            {
                "name": "total",
                "domain": "locations",
                "rounds": 800,
                "data": {"source": "synthetic", "users": 100, "sites": 5, "epochs": 24, "visits": 5},
                "mechanism": {"name": "own", "release": "mine:publish", "epsilon": 1.0, "unit": "event"},
                "attacks": [{"name": "likelihood", "knowledge": "informed"}],
                "challenger": {"group_size": "everyone", "targets": {"n": 1}},
            }
        ],
    }
    result = leakgauge.run(plan_of(plan, folder=tmp_path), out=tmp_path / "out")
    assert result.summary.risk.value < 0.6  # the attack reads the cells of the target alone
    assert (result.summary.exit_code, result.summary.risk.status) == (3, "undecided")
    assert "cells in which the target never was" in result.summary.risk.reason
    again = judge_folder(tmp_path / "out")
    assert again.summary.exit_code == 3
