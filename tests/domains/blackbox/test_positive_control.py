"""The positive control of a black box: the bit travels with the input."""

import numpy as np
import pytest

from leakgauge.core.game import NoControl
from leakgauge.domains.blackbox import challenger as blackbox
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.release import MechanismRelease, run_release
from leakgauge.mechanisms import geometric, laplace, noisy_max
from positive_control_play import played

PAIR = (np.array([3, 4]), np.array([3, 5]))


def secret(counts, rng):
    """Noise that hides everything."""
    return {"counts": (counts + rng.laplace(scale=1e6, size=2)).tolist(), "text": "ok"}


def withheld(counts, rng):
    return None if counts.sum() < 1000 else "many"


@pytest.mark.parametrize("release", [secret, withheld])
def test_bit_beside_the_output_is_seen(release):
    assert (
        played("blackbox", Challenger(release, PAIR, None).control(), "learned_event")["status"] == "passed"
    )


def test_call_with_the_wrong_input_fails(monkeypatch):
    """The mark is on the input, so a path that mixes up inputs does not pass by a bit from elsewhere."""

    def mixed_up(function, pair, members, rng):
        return run_release(function, (pair[0], pair[0]), members, rng)

    monkeypatch.setattr(blackbox, "run_release", mixed_up)
    assert played("blackbox", Challenger(secret, PAIR, None).control(), "learned_event")["status"] == "failed"


@pytest.mark.parametrize("attack", ["one_threshold", "two_threshold", "likelihood", "learned_event"])
@pytest.mark.parametrize(
    "mechanism",
    [laplace.Mechanism(epsilon=1e-3), geometric.Mechanism(epsilon=0.01), noisy_max.Mechanism(epsilon=0.01)],
)
def test_named_mechanism_has_too_little_noise_to_hide(attack, mechanism):
    control = Challenger(MechanismRelease(mechanism), PAIR, None).control()
    assert played("blackbox", control, attack)["status"] == "passed"


def test_sweep_over_epsilon_has_one_control():
    first, second = (Challenger(MechanismRelease(laplace.Mechanism(epsilon=e)), PAIR, None) for e in (1, 2))
    assert first.digest != second.digest
    assert first.control().digest == second.control().digest
    other = Challenger(MechanismRelease(laplace.Mechanism(epsilon=1)), (PAIR[0], PAIR[0] + 7), None)
    assert other.control().digest != first.control().digest


def test_equal_inputs_need_no_control():
    none = Challenger(secret, (PAIR[0], PAIR[0].copy()), None).control()
    assert isinstance(none, NoControl)
    assert not none.needed
