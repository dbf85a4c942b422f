import random

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.support.global_rng import refuse_own_generator, seeded_global_generators

OWN = np.random.default_rng(0)


def draws_from_its_own(value, rng):
    return value + OWN.laplace()


def draws_globally(value, rng):
    return value + np.random.laplace() + random.random()  # noqa: NPY002


def test_rejects_user_created_generator():
    hidden = np.random.RandomState(3)
    with pytest.raises(BadInput, match="generator of its own, OWN"):
        refuse_own_generator(draws_from_its_own, "challenger.release")
    with pytest.raises(BadInput, match="generator of its own, hidden"):
        refuse_own_generator(lambda value, rng: value + hidden.normal(), "challenger.release")
    refuse_own_generator(lambda value, rng: value + rng.normal(), "challenger.release")
    refuse_own_generator(draws_globally, "challenger.release")


def test_global_generators_are_seeded_and_restored():
    box = Challenger(draws_globally, (0.0, 1.0), None)
    members = np.zeros((50, 1), bool)
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    first, again, other = (box.release(members, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert not set(first) & set(other)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_global_state_is_restored_after_error():
    before = random.getstate()
    with pytest.raises(ZeroDivisionError), seeded_global_generators(np.random.default_rng(0)):
        raise ZeroDivisionError
    assert random.getstate() == before
