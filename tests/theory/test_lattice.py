import numpy as np
import pytest

from leakgauge.theory import lattice


def both_worlds(law: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    losses = step * np.arange(law.size)
    members = np.concatenate([law, law[1:] * np.exp(-losses[1:])])
    others = np.concatenate([law[:1], law[1:] * np.exp(-losses[1:]), law[1:]])
    return members, others


@pytest.mark.parametrize("step", [0.07, 0.5, 3.0])
def test_laws_on_a_lattice_stay_laws_in_both_worlds(step):
    losses, masses = np.array([0.4, 1.0, 2.2]), np.array([0.2, 0.1, 0.3])
    for law in (lattice.spread(losses, masses, step), lattice.gathered(losses, masses, step)):
        for world in both_worlds(law, step):
            assert (world >= 0).all()
            assert world.sum() == pytest.approx(1, abs=1e-14)


def test_spreading_keeps_the_probability_of_an_atom_in_both_worlds():
    law = lattice.spread(np.array([0.25]), np.array([0.4]), 0.1)
    np.testing.assert_allclose(law[2] + law[3], 0.4)
    np.testing.assert_allclose(law[2] * np.exp(-0.2) + law[3] * np.exp(-0.3), 0.4 * np.exp(-0.25))


def test_gathering_keeps_how_often_the_atom_or_its_mirror_image_is_seen():
    law = lattice.gathered(np.array([0.25]), np.array([0.4]), 0.1)
    np.testing.assert_allclose(law[2] * (1 + np.exp(-0.2)), 0.4 * (1 + np.exp(-0.25)))


def test_a_loss_on_the_lattice_stays_there_despite_rounding():
    whole, rest = lattice.whole_and_rest(0.1 * 3, 0.1)
    assert (int(whole), float(rest)) == (3, 0.0)
    whole, rest = lattice.whole_and_rest([0.35, 0.1], 0.1)
    np.testing.assert_array_equal(whole, [3, 1])
    np.testing.assert_allclose(rest, [0.05, 0.0], atol=1e-12)
