import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory import tradeoff
from leakgauge.theory.asymmetric_composition import (
    DistributionPair,
    LatticeLaw,
    mirrored_law,
    mixture,
    round_pair,
    spread_pair,
)

FPR = np.linspace(0, 1, 1001)


def random_pair(rng: np.random.Generator, n: int, *, one_sided: bool = False) -> DistributionPair:
    members, others = rng.dirichlet(np.ones(n), 2)
    if one_sided:
        members[0] = others[-1] = 0
    return DistributionPair.of(members / members.sum(), others / others.sum())


def roc(law: LatticeLaw) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the thresholds on the scores of a law, sure revelations first."""
    fpr = np.cumsum(np.concatenate([[0.0], law.others[::-1], [law.sure_others]]))
    tpr = np.cumsum(np.concatenate([[law.sure_members], law.members[::-1], [0.0]]))
    return fpr, tpr


@pytest.mark.parametrize("step", [0.03, 0.4, 5.0])
@pytest.mark.parametrize("one_sided", [False, True])
def test_laws_on_a_lattice_enclose_the_exact_curve_of_a_pair(step, one_sided):
    rng = np.random.default_rng(1)
    for _ in range(20):
        pair = random_pair(rng, 12, one_sided=one_sided)
        exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(pair.others, pair.members))
        for law, sign in ((round_pair(pair, step), 1), (spread_pair(pair, step), -1)):
            for masses, sure in ((law.members, law.sure_members), (law.others, law.sure_others)):
                assert (masses >= 0).all()
                assert masses.sum() + sure == pytest.approx(1, abs=1e-12)
            found = np.interp(FPR, *roc(law))
            assert (sign * (exact - found) >= -1e-12).all()


@pytest.mark.parametrize("step", [0.03, 0.4])
def test_spread_losses_are_the_log_ratios_of_the_worlds(step):
    law = spread_pair(random_pair(np.random.default_rng(2), 30, one_sided=True), step)
    losses = step * (law.first + np.arange(law.members.size))
    np.testing.assert_allclose(law.others * np.exp(losses), law.members, rtol=1e-9, atol=1e-18)


def test_what_only_one_world_can_show_is_revealed_for_sure():
    pair = DistributionPair.of([0.0, 0.7, 0.3], [0.2, 0.8, 0.0])
    for law in (round_pair(pair, 0.1), spread_pair(pair, 0.1)):
        assert law.sure_members == pytest.approx(0.3)
        assert law.sure_others == pytest.approx(0.2)


def test_outputs_that_stand_for_many_are_spread_over_all_their_losses():
    fine_members, fine_others = np.array([[0.1, 0.2, 0.3, 0.4], [0.35, 0.25, 0.25, 0.15]])
    fine = DistributionPair.of(fine_members, fine_others)
    low, high = fine.losses.reshape(2, 2).min(axis=1), fine.losses.reshape(2, 2).max(axis=1)
    coarse = DistributionPair.of(
        fine_members.reshape(2, 2).sum(axis=1), fine_others.reshape(2, 2).sum(axis=1), low, high
    )
    exact = tradeoff.max_tpr(FPR, tradeoff.exact_curve(fine_others, fine_members))
    assert (np.interp(FPR, *roc(spread_pair(coarse, 0.01))) >= exact - 1e-12).all()
    assert (np.interp(FPR, *roc(round_pair(coarse, 0.01))) <= exact + 1e-12).all()


@pytest.mark.parametrize(("low", "high"), [(-np.inf, 0.5), (-0.5, np.inf), (-np.inf, np.inf)])
def test_outputs_of_unknown_losses_may_reveal_anything(low, high):
    pair = DistributionPair.of([0.5, 0.5], [0.5, 0.5], [low, 0.0], [high, 0.0])
    law = spread_pair(pair, 0.1)
    assert law.members.sum() + law.sure_members == pytest.approx(1)
    assert law.others.sum() + law.sure_others == pytest.approx(1)
    assert law.sure_members == pytest.approx(0 if high < 1 else 0.5 * (1 - np.exp(low)), abs=0.02)
    assert law.sure_others == pytest.approx(0 if low > -1 else 0.5 * (1 - np.exp(-high)), abs=0.02)


def test_losses_of_any_size_are_carried():
    tiny = 1e-300
    pair = DistributionPair.of([1 - tiny, tiny, 0.0], [0.5, 0.5 - 1e-40, 1e-40])
    for law in (round_pair(pair, 0.01), spread_pair(pair, 0.01)):
        assert law.members.sum() + law.sure_members == pytest.approx(1)
        assert law.others.sum() + law.sure_others == pytest.approx(1)
        assert law.members.size < 20_000


def test_a_mixture_whose_part_is_seen_has_the_mean_curve_of_its_parts():
    rng = np.random.default_rng(3)
    pairs, weights = [random_pair(rng, 4) for _ in range(3)], np.array([0.5, 0.5, 1.0])
    mixed = mixture(pairs, weights)
    exact = sum(w * abs(p.members - p.others).sum() / 2 for p, w in zip(pairs, weights / 2))
    assert abs(mixed.members - mixed.others).sum() / 2 == pytest.approx(exact)
    assert mixed.members.sum() == pytest.approx(1)


def test_exchanging_the_worlds_turns_the_losses_round():
    pair = random_pair(np.random.default_rng(4), 5, one_sided=True)
    np.testing.assert_array_equal(pair.swapped.losses, -pair.losses)
    np.testing.assert_array_equal(pair.swapped.low, -pair.high)


def test_a_mirrored_law_has_its_own_image_in_the_other_world():
    law = mirrored_law(np.array([0.2, 0.3, 0.1]), 0.5)
    np.testing.assert_allclose(law.members, [0.1 * np.exp(-1), 0.3 * np.exp(-0.5), 0.2, 0.3, 0.1])
    np.testing.assert_array_equal(law.others, law.members[::-1])
    assert law.first == -2


@pytest.mark.parametrize(
    ("members", "others"),
    [([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5]), ([np.nan], [1.0])],
)
def test_what_is_no_pair_of_laws_is_refused(members, others):
    with pytest.raises(BadInput):
        DistributionPair.of(members, others)
