from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, dlaplace, hypergeom, laplace, norm

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, Coins, play
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.attacks.likelihood import Attack
from leakgauge.domains.models.noisy_mean import challenger as means
from leakgauge.domains.models.noisy_mean.challenger import group_guarantee, read_sum_noise
from leakgauge.domains.models.noisy_mean.knowledge import NoisyMeansView, StrongMeanKnowledge
from leakgauge.domains.models.plan_tables import read_challenger_table
from leakgauge.plan import MetricsTable
from leakgauge.theory import tradeoff
from leakgauge.verdict import Finding, decide_finding

COMPONENTS = {"name": "source", "group": "component", "members": "0"}
CONSTANTS = {"source": "constants"}
NO_RNG = np.random.default_rng(0)


def build(game, mechanism, data=CONSTANTS, **changes) -> means.Challenger:
    if game == "mixture":
        changes = {"dependence": COMPONENTS, "targets": 1, **changes}
    options = read_challenger_table({"game": game, **changes})
    return means.build(options=options, data=data, mechanism=mechanism, folder=Path(), seed=3)


def scorer_of(owner, name, **parameters):
    return Attack(**parameters).study(owner.knowledge(name), stream(1, Role.STUDY))


def guesses(scorer, sums, value):
    """Whether a record of this value is called a member, for each noisy sum."""
    seen = NoisyMeansView(np.asarray(sums, float), np.full((len(sums), 1), value))
    return scorer.score(seen, NO_RNG)[:, 0] >= scorer.reading.threshold


def trials_of(owner, name, n_rounds):
    adversary = Adversary(owner.knowledge(name), scorer_of(owner, name))
    return play(owner, {"it": adversary}, 1, range(n_rounds), 0)["it"]


def advantage(trials):
    guessed = trials.scores >= 0
    return guessed[trials.members].mean() - guessed[~trials.members].mean()


LINE = np.arange(-60, 60, 0.001) + 0.0005
WHOLE = np.arange(-400, 400)


@pytest.mark.parametrize(("n", "epsilon"), [(2, 0.5), (10, 0.1), (10, 0.5)])
def test_advantage_on_two_components_matches_laplace_distance(n, epsilon):
    """Total variation of Laplace laws of scale 1/epsilon, n apart: 1 - e^(-n epsilon / 2)."""
    scorer = scorer_of(build("mixture", {"name": "laplace", "epsilon": epsilon}, members=n), "components")
    sums, step = n / 2 + LINE * 2, 0.002
    laws = [laplace.pdf(sums, loc=n * kind, scale=1 / epsilon) for kind in (0, 1)]
    found = [(guesses(scorer, sums, kind) * (laws[kind] - laws[1 - kind])).sum() * step for kind in (0, 1)]
    assert np.mean(found) == pytest.approx(1 - np.exp(-n * epsilon / 2), abs=1e-3)
    assert np.tanh(epsilon / 2) < np.mean(found) < np.tanh(n * epsilon / 2)


def test_advantage_on_four_components_is_mean_total_variation():
    n, epsilon, kinds = 10, 0.3, 4
    owner = build(
        "mixture", {"name": "laplace", "epsilon": epsilon}, members=n, data={**CONSTANTS, "components": 4}
    )
    scorer, sums = scorer_of(owner, "components"), n / 2 + LINE
    laws = np.array([laplace.pdf(sums, loc=n * kind / 3, scale=1 / epsilon) for kind in range(kinds)])
    found, best = [], []
    for kind in range(kinds):
        rest = np.delete(laws, kind, axis=0).mean(axis=0)
        value = float(np.float32(kind / 3))
        found.append((guesses(scorer, sums, value) * (laws[kind] - rest)).sum() * 0.001)
        best.append(np.abs(laws[kind] - rest).sum() * 0.001 / 2)
    assert np.mean(found) == pytest.approx(np.mean(best), abs=2e-3)
    assert np.mean(best) > np.tanh(epsilon / 2)


def test_strong_adversary_reaches_bound_under_geometric_noise_only():
    """Tanh(epsilon / 2) is reached on counts; two Laplace laws 1 apart allow 1 - e^(-epsilon / 2)."""
    epsilon = 1.0
    owner = build("strong", {"name": "geometric", "epsilon": epsilon}, members=20)
    known = owner.knowledge("strong")
    assert isinstance(known, StrongMeanKnowledge)
    assert (known.target, known.substitute) == (1, 0)
    inside, outside = (dlaplace.pmf(WHOLE - around, epsilon) for around in (known.others + 1, known.others))
    guessed = guesses(scorer_of(owner, "strong"), WHOLE, 1.0)
    assert (guessed * (inside - outside)).sum() == pytest.approx(np.tanh(epsilon / 2), abs=1e-12)

    owner = build("strong", {"name": "laplace", "epsilon": epsilon}, members=20)
    sums = known.others + LINE
    inside, outside = (laplace.pdf(sums, loc=around) for around in (known.others + 1, known.others))
    guessed = guesses(scorer_of(owner, "strong"), sums, 1.0)
    found = (guessed * (inside - outside)).sum() * 0.001
    assert found == pytest.approx(1 - np.exp(-epsilon / 2), abs=1e-3)
    assert 2 * tradeoff.max_accuracy(owner.guarantee) - 1 == pytest.approx(found, abs=1e-3)


def test_strong_adversary_reaches_gaussian_curve():
    owner = build("strong", {"name": "gaussian", "sigma": 2.0, "delta": 1e-5}, members=20)
    trials = trials_of(owner, "strong", 4_000)
    most = 2 * norm.cdf(1 / 4) - 1
    assert advantage(trials) == pytest.approx(most, abs=3 * np.sqrt(0.5 / 2_000))
    assert 2 * tradeoff.max_accuracy(owner.guarantee) - 1 == pytest.approx(most, abs=1e-3)


def test_independent_bound_fails_and_group_bound_holds_for_identical_records():
    owner = build("mixture", {"name": "laplace", "epsilon": 0.2}, members=20)
    trials = trials_of(owner, "components", 3_000)
    assert advantage(trials) == pytest.approx(1 - np.exp(-2), abs=3 * np.sqrt(0.5 / 1_500))
    record, _ = read_sum_noise({"name": "laplace", "epsilon": 0.2})
    assert decide_finding(trials, record.guarantee, MetricsTable(), 1, None) is Finding.VIOLATED
    assert decide_finding(trials, owner.guarantee, MetricsTable(), 1, None) is not Finding.VIOLATED
    assert "does not describe this risk" in owner.notes[-1]


def test_group_of_n_records_is_promised_n_epsilon():
    owner = build("mixture", {"name": "laplace", "epsilon": 0.2}, members=20)
    promised = owner.guarantee
    assert promised.epsilon == pytest.approx(4)
    assert (promised.unit, promised.nominal_epsilon, promised.nominal_unit) == (Unit.GROUP, 0.2, Unit.RECORD)
    assert 2 * tradeoff.max_accuracy(promised) - 1 == pytest.approx(1 - np.exp(-2), abs=1e-3)
    noise, _ = read_sum_noise({"name": "gaussian", "sigma": 5.0, "delta": 1e-5})
    moved = group_guarantee(noise, 10)
    assert 2 * tradeoff.max_accuracy(moved) - 1 == pytest.approx(2 * norm.cdf(1) - 1, abs=1e-3)


def test_coins_are_tied_for_records_of_one_round():
    assert build("mixture", {"name": "laplace", "epsilon": 1.0}, members=5).coins is Coins.FAIR
    assert build("mixture", {"name": "laplace", "epsilon": 1.0}, members=5, targets=3).coins is Coins.TIED


def test_release_is_noisy_sum_over_members():
    owner = build("strong", {"name": "geometric", "epsilon": 50.0}, members=20)  # no noise to speak of
    bits = np.array([[True], [False]])
    played = owner.release(bits, np.random.default_rng(1))
    others = owner.knowledge("strong").others
    np.testing.assert_allclose(played.released, [(others + 1) / 20, others / 20])


def test_add_remove_leaves_out_absent_value():
    mechanism = {"name": "geometric", "epsilon": 50.0, "relation": "add_remove"}
    owner = build("strong", mechanism, members=20)
    played = owner.release(np.array([[True], [False]]), np.random.default_rng(1))
    assert played.view.sums[0] - played.view.sums[1] == 1
    assert owner.knowledge("strong").substitute == 0
    assert owner.guarantee.relation is Relation.ADD_REMOVE


@pytest.mark.parametrize("relation", list(Relation))
def test_auxiliary_score_averages_over_other_rows(relation):
    """Half of all values are 1: sums of the others are binomial, and of noise on them the pmf is known."""
    n, epsilon = 12, 1.0
    owner = build(
        "iid", {"name": "geometric", "epsilon": epsilon, "relation": relation.value}, members=n, targets=1
    )
    known = replace(owner.knowledge("black_box"), values=np.array([0.0, 1.0]), targets=np.array([1.0]))
    scorer = Attack(imagined=40_000).study(known, stream(1, Role.STUDY))
    counts, sums = np.arange(n + 1), np.arange(-4, n + 5)
    noise = dlaplace.pmf(sums[:, None] - counts[None, :], epsilon)
    inside = noise @ binom.pmf(counts - 1, n - 1, 0.5)
    empty = relation is Relation.ADD_REMOVE
    outside = noise @ (binom.pmf(counts, n - 1, 0.5) if empty else binom.pmf(counts, n, 0.5))
    found = scorer.score(NoisyMeansView(sums.astype(float), np.ones((sums.size, 1))), NO_RNG)[:, 0]
    np.testing.assert_allclose(found, np.log(inside / outside), atol=0.05)


def test_overlapping_components_use_bayes_rule():
    """Ones are 3 of 10 in a component and 7 of 10 in the other: members are drawn without replacement."""
    n, epsilon = 5, 1.0
    owner = build("mixture", {"name": "geometric", "epsilon": epsilon}, members=n)
    shares = (3, 7)
    components = tuple(np.repeat([0.0, 1.0], [10 - ones, ones]) for ones in shares)
    known = replace(owner.knowledge("components"), components=components)
    scorer = Attack(imagined=40_000).study(known, stream(1, Role.STUDY))
    sums, counts = np.arange(-3, n + 4), np.arange(n + 1)
    noise = dlaplace.pmf(sums[:, None] - counts[None, :], epsilon)
    inside = sum(  # besides the record, a one, others like those that the attacker has
        ones / 10 * (noise @ hypergeom.pmf(counts - 1, 10, ones, n - 1)) for ones in shares
    )
    outside = sum(
        noise @ hypergeom.pmf(counts, 10, ones, n) * other / 10 for ones, other in (shares, shares[::-1])
    )
    found = scorer.score(NoisyMeansView(sums.astype(float), np.ones((sums.size, 1))), NO_RNG)[:, 0]
    np.testing.assert_allclose(found, np.log(inside / outside), atol=0.05)


def test_user_table_uses_first_or_named_feature():
    data = {"rows": 200, "features": 3}
    first = build("mixture", {"name": "laplace", "epsilon": 1.0}, data=data, members=10)
    named = build("mixture", {"name": "laplace", "epsilon": 1.0, "feature": "x2"}, data=data, members=10)
    assert "'x0'" in first.notes[1]
    assert "'x2'" in named.notes[1]
    assert first.digest != named.digest
    trials_of(first, "components", 50)


@pytest.mark.parametrize(
    ("game", "mechanism", "data", "changes", "message"),
    [
        ("group", {}, CONSTANTS, {"dependence": COMPONENTS}, "use game = 'mixture'"),
        ("strong", {"sensitivity": 2.0}, CONSTANTS, {}, "sensitivity cannot be set"),
        ("strong", {"feature": "age"}, CONSTANTS, {}, "no feature is called 'age'"),
        ("strong", {"feature": 3}, CONSTANTS, {}, "must be the name of a feature, got 3"),
        ("strong", {"name": "geometric"}, {"rows": 100}, {}, "'x0' is not 0 or 1 in all rows"),
        ("mixture", {}, {**CONSTANTS, "components": 1}, {}, "components must be >= 2, got 1"),
        ("mixture", {}, {**CONSTANTS, "rows": 1}, {}, "rows must be >= 2, got 1"),
        ("mixture", {"epsilon": 1e300}, CONSTANTS, {}, "epsilon must be at most 1e\\+06"),
    ],
)
def test_rejects_invalid_settings(game, mechanism, data, changes, message):
    with pytest.raises(BadInput, match=message):
        build(game, {"name": "laplace", "epsilon": 1.0, **mechanism}, data=data, **changes)


@pytest.mark.parametrize(
    ("game", "name"), [("strong", "components"), ("mixture", "strong"), ("iid", "blind")]
)
def test_rejects_knowledge_of_another_game(game, name):
    owner = build(game, {"name": "laplace", "epsilon": 1.0}, members=20, targets=1)
    with pytest.raises(BadInput, match=f"knowledge '{name}' does not fit a noisy mean"):
        owner.knowledge(name)


def test_block_is_reproducible():
    owner = build("exchangeable", {"name": "laplace", "epsilon": 1.0}, members=20, targets=3)
    first, again = (trials_of(owner, "black_box", 20).scores for _ in range(2))
    np.testing.assert_array_equal(first, again)
