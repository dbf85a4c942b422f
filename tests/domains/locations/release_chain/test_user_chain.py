import pickle
import random

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.release_chain.user_chain import UserReleaseChain

COUNTS = np.arange(24).reshape(2, 12)


def rng():
    return np.random.default_rng(1)


def noisy(counts, rng):
    return counts + rng.integers(0, 2, size=counts.shape)


def poisson_law(outputs, counts):
    return np.where(outputs >= counts, -np.log(2), -np.inf)


def test_a_pipeline_gets_one_table_of_places_and_epochs_per_round():
    shapes = []

    def publish(counts, rng):
        shapes.append(counts.shape)
        return counts

    published = UserReleaseChain(publish, 3, 4).sample(COUNTS, rng())
    assert shapes == [(3, 4), (3, 4)]
    np.testing.assert_array_equal(published, COUNTS)


def test_a_pipeline_cannot_spoil_the_true_counts():
    def publish(counts, rng):
        counts[:] = 0
        return counts

    counts = COUNTS.astype(float)
    UserReleaseChain(publish, 3, 4).sample(counts, rng())
    np.testing.assert_array_equal(counts, COUNTS)


def test_the_same_stream_publishes_the_same_even_with_the_global_dice():
    def publish(counts, rng):
        return counts + random.random() + np.random.random() + rng.random()  # noqa: NPY002

    chain = UserReleaseChain(publish, 3, 4)
    np.testing.assert_array_equal(chain.sample(COUNTS, rng()), chain.sample(COUNTS, rng()))
    first, second = chain.sample(COUNTS, rng()) - COUNTS
    assert (first != second).all()


def test_a_law_that_is_given_is_used():
    chain = UserReleaseChain(noisy, 3, 4, law=poisson_law)
    assert chain.log_law(np.array([1.0, 0.0]), np.array([0.0, 1.0])).tolist() == [-np.log(2), -np.inf]


def test_a_law_is_given_arrays_of_one_shape():
    shapes = []

    def law(outputs, counts):
        shapes.append((outputs.shape, counts.shape))
        return np.zeros(outputs.shape)

    found = UserReleaseChain(noisy, 3, 4, law=law).log_law(np.zeros((1, 5)), np.zeros((3, 1)))
    assert found.shape == (3, 5)
    assert shapes == [((3, 5), (3, 5))]


@pytest.mark.parametrize("wrong", [lambda outputs, counts: 0.0, lambda outputs, counts: outputs * np.nan])
def test_a_law_that_is_none_is_refused(wrong):
    with pytest.raises(BadInput, match=r"mechanism\.law: must return the log probability of each of 2"):
        UserReleaseChain(noisy, 3, 4, law=wrong).log_law(np.zeros(2), np.zeros(2))


def test_it_travels_to_workers():
    again = pickle.loads(pickle.dumps(UserReleaseChain(noisy, 3, 4, law=poisson_law)))
    np.testing.assert_array_equal(
        again.sample(COUNTS, rng()), UserReleaseChain(noisy, 3, 4).sample(COUNTS, rng())
    )


def test_what_a_pipeline_prints_is_kept_out_of_the_answer(capsys):
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
        (lambda counts, rng: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda counts, rng: exit(3), "raised SystemExit: 3"),
        (lambda counts, rng: [["many"] * 4] * 3, "raised ValueError"),
    ],
    ids=["shape", "nan", "error", "exit", "words"],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning", "ignore:divide by zero:RuntimeWarning")
def test_a_pipeline_that_fails_is_named(publish, problem):
    with pytest.raises(BadInput, match=f"mechanism.release.*{problem}"):
        UserReleaseChain(publish, 3, 4).sample(COUNTS, rng())


def test_a_law_that_is_not_known_is_not_made_up():
    with pytest.raises(BadInput, match=r"give mechanism\.law"):
        UserReleaseChain(noisy, 3, 4).log_law(np.zeros(1), np.zeros(1))
