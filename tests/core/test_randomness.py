import numpy as np
import pytest

from leakgauge.core.randomness import Role, stream


def test_streams_of_different_roles_and_blocks_differ():
    draws = {
        stream(seed, role, block).integers(2**62) for seed in (0, 1) for role in Role for block in (0, 1)
    }
    assert len(draws) == 2 * len(Role) * 2


@pytest.mark.parametrize(
    ("role", "number"),
    [("BITS", 0), ("RELEASE", 1), ("STUDY", 2), ("SCORE", 3), ("DATA", 4), ("TIES", 5), ("INSTRUMENT", 6)],
)
def test_role_numbers_are_fixed(role, number):
    assert Role[role] == number


def test_stream_equals_numpy_seed_sequence():
    expected = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(2, 5))).random()
    assert stream(9, Role.STUDY, 5).random() == expected
