"""Tables in which a person adds 0, 1 or 2 to a cell: counts, noise, promise, attacks and exposure."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, chisquare, norm

from domains.locations.small_town import LAPLACE, RAW, game, genotypes, value_table
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.guarantee import Relation
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import guarantee, knowledge
from leakgauge.domains.locations.attacks import (
    likelihood,
    one_threshold,
    reference,
    shadow_logistic,
    two_threshold,
)
from leakgauge.domains.locations.challenger import build
from leakgauge.domains.locations.counts import count_ratios
from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.value_ratios import informative_cells, log_ratios_of_trace
from leakgauge.domains.locations.crowd_cells import POOL, REFERENCE, CrowdCells
from leakgauge.domains.locations.data.traces import bound_contributions
from leakgauge.domains.locations.exposure import expose
from leakgauge.domains.locations.group_sampling import count_kernels
from leakgauge.domains.locations.group_sampling.crowd import Crowd, VisitorClasses
from leakgauge.domains.locations.group_sampling.subset_sampler import SubsetSampler
from leakgauge.domains.locations.guarantee import (
    guarantee_per_person,
    noise_guarantee,
    weakest_noise_guarantee,
)
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference
from leakgauge.domains.locations.partial_traces import PartialTrace
from leakgauge.domains.locations.plan_tables import read_challenger_table, read_mechanism_table
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.runner.play_block import study_attack

# Six people, three cells: two alike, one without anything, one pair of twos.
SIX = np.array([[2, 0, 1], [2, 0, 1], [1, 2, 0], [0, 1, 0], [0, 0, 0], [2, 2, 0]])


@pytest.fixture(params=["compiled", "numpy"])
def path(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(count_kernels, "kernels", lambda: None)
    elif count_kernels.kernels() is None:
        pytest.skip("numba is not installed (extra `fast`)")


# --- counts


def test_traces_give_back_the_table():
    people = value_table(SIX)
    np.testing.assert_array_equal(people.visits.toarray(), SIX)
    np.testing.assert_array_equal(people.visitors(), SIX.sum(axis=0))
    np.testing.assert_array_equal(people.n_visits, SIX.sum(axis=1))
    np.testing.assert_array_equal(people.value_counts, [[(row == 1).sum(), (row == 2).sum()] for row in SIX])
    for person, row in enumerate(SIX):
        np.testing.assert_array_equal(people.cells(person), np.flatnonzero(row))
        np.testing.assert_array_equal(people.values(person), row[row > 0])


@pytest.mark.usefixtures("path")
def test_counts_of_given_groups_add_values():
    crowd = Crowd(value_table(SIX))
    groups = np.array([[0, 2, 5], [3, 4, -1], [1, 1, 2]], dtype=np.int32)
    expected = [SIX[[0, 2, 5]].sum(axis=0), SIX[[3, 4]].sum(axis=0), SIX[[1, 1, 2]].sum(axis=0)]
    np.testing.assert_array_equal(crowd.counts(groups), expected)
    np.testing.assert_array_equal(crowd.counts(groups, np.array([2, 0])), np.array(expected)[:, [2, 0]])


def enumerated(size):
    groups = list(combinations(range(6), size))
    law = Counter(tuple(SIX[list(group)].sum(axis=0).tolist()) for group in groups)
    return {key: n / len(groups) for key, n in law.items()}


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("sampler", ["classes", "subsets"])
def test_drawn_groups_match_enumeration(sampler):
    visitors = Crowd(value_table(SIX)).on(np.arange(3)).visits
    draw = VisitorClasses.of(6, visitors, 2) if sampler == "classes" else SubsetSampler(6, visitors)
    rows = draw.groups(6_000, 3, np.random.default_rng(4))
    law, found = enumerated(3), Counter(map(tuple, rows.tolist()))
    assert set(found) <= set(law)
    assert chisquare([found[key] for key in law], [6_000 * law[key] for key in law]).pvalue > 1e-3
    common, extra = draw.pairs(3_000, 5, np.random.default_rng(5))
    np.testing.assert_array_equal(common + extra.toarray(), np.tile(SIX.sum(axis=0), (3_000, 1)))


def test_caps_bound_the_sum_of_values():
    capped = bound_contributions(value_table(SIX), per_user=2, rng=np.random.default_rng(1))
    table = capped.visits.toarray()
    np.testing.assert_array_equal(table.sum(axis=1), np.minimum(SIX.sum(axis=1), 2))
    assert (table <= SIX).all()


@pytest.mark.parametrize("everyone", [True, False])
def test_release_counts_the_values_of_targets(everyone):
    people = genotypes(30, 8)
    challenger = game(people, RAW, group_size="everyone" if everyone else 12, targets=2)
    bits = np.array([[True, True], [True, False], [False, False]])
    rng = np.random.default_rng
    with_both, with_one, with_none = challenger.release(bits, rng(3)).whole
    if everyone:
        targets = people.visits[challenger.people.targets].toarray().astype(int)
        np.testing.assert_array_equal(with_both - with_one, targets[1])
        np.testing.assert_array_equal(with_one - with_none, targets[0])
    assert with_both.sum() > with_none.sum()


# --- sensitivity and promise


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_sensitivities_are_those_of_the_worst_unit(cap):
    """The largest L1 and L2 length of a vector of values up to 2 whose sum is capped, by enumeration."""
    vectors = [v for v in product(range(3), repeat=5) if sum(v) <= cap]
    rules = read_challenger_table({"group_size": 9, "per_user": cap})
    for name, length in (("laplace", sum), ("gaussian", lambda v: sum(x * x for x in v) ** 0.5)):
        table = {"name": name, "epsilon": 1.0, "unit": "user"} | (
            {"delta": 1e-5} if name == "gaussian" else {}
        )
        chain = read_mechanism_table(table, rules, 2)
        assert chain.noise.sensitivity == pytest.approx(max(map(length, vectors)))


def test_sensitivity_of_an_event_is_the_largest_value():
    chain = read_mechanism_table(LAPLACE, read_challenger_table({"group_size": 9}), 2)
    assert chain.noise.sensitivity == 2.0
    assert chain.noise.noise_scale == 2.0  # epsilon 1


def test_laplace_promise_is_the_sum_of_values_over_the_scale():
    found = noise_guarantee(laplace.Mechanism(scale=4.0), [3, 2], Relation.ADD_REMOVE)
    assert found.epsilon == pytest.approx(7 / 4)
    assert found.sensitivity == 7


def test_gaussian_promise_is_that_of_the_squares():
    """Balle and Wang (2018): delta = Phi(m/2 - eps/m) - e^eps Phi(-m/2 - eps/m), m = |shift| / sigma."""
    noise = gaussian.Mechanism(sigma=3.0, delta=1e-5)
    found = noise_guarantee(noise, [3, 2], Relation.ADD_REMOVE)
    mu, eps = (3 + 4 * 2) ** 0.5 / 3.0, found.epsilon
    delta = norm.cdf(mu / 2 - eps / mu) - np.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
    assert delta == pytest.approx(1e-5, rel=1e-3)


@pytest.mark.parametrize("noise", [laplace.Mechanism(scale=4.0), gaussian.Mechanism(sigma=3.0, delta=1e-5)])
def test_promise_is_that_of_the_worst_target(noise):
    counts = np.random.default_rng(3).integers(1, 7, (12, 2))
    each = [noise_guarantee(noise, row, Relation.ADD_REMOVE).epsilon for row in counts.tolist()]
    assert weakest_noise_guarantee(noise, counts, Relation.ADD_REMOVE).epsilon == pytest.approx(max(each))


def test_promises_of_many_people_are_never_too_small(monkeypatch):
    monkeypatch.setattr(guarantee, "_ALL_UP_TO", 4)
    monkeypatch.setattr(guarantee, "_LEVELS", 4)
    counts = np.random.default_rng(3).integers(0, 10, (150, 2))
    found = guarantee_per_person(laplace.Mechanism(scale=6.0), counts)
    for person in (0, 17, 101):
        alone = guarantee_per_person(laplace.Mechanism(scale=6.0), counts[[person]])
        assert alone.tight[0] - 1e-9 <= found.tight[person] <= 1.3 * alone.tight[0] + 1
        assert found.kairouz[person] == alone.kairouz[0]


# --- attacks


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("suppress", [0, 2])
def test_ratios_of_values_match_sums_over_all_counts(replaces, suppress):
    """log sum_c P_in(c) K[k + c + v, o] - log sum_c P_out(c) K[k + c, o], term by term."""
    noise = geometric.Mechanism(epsilon=0.7)
    chain = ReleaseChain(noise=noise, group_size=40, clamp=bool(suppress), suppress=suppress)
    values, weights = np.array([2, 1, 2, 1]), np.array([1.0, 1.0, 1.0, 0.0])
    rates, n_in, known = np.array([0.1, 0.3, 0.6, 0.2]), 18, np.array([3, 0, 5, 2])
    n_out = n_in + 2 * replaces
    prior = CountPrior(rates, n_in, n_out, np.zeros(4, dtype=np.int64))
    outputs = np.array([[0, 3, 12, 4], [5, 0, 20, 0], [9, 40, 17, 7]], dtype=float)
    trace = PartialTrace(np.arange(4), weights, values=values)
    found = log_ratios_of_trace(
        lambda *facts: count_ratios.log_ratios(chain, *facts), outputs, known, prior, trace
    )
    for (row, cell), ratio in np.ndenumerate(found):
        added = int(values[cell] * weights[cell])
        mixed = [
            sum(
                binom.pmf(c, n, rates[cell])
                * np.exp(chain.log_law(outputs[row, cell], float(known[cell] + c + more)))
                for c in range(n + 1)
            )
            for n, more in ((n_in, added), (n_out, 0))
        ]
        assert ratio == pytest.approx(np.log(mixed[0] / mixed[1]), abs=1e-6)


def test_known_counts_without_noise_decide_for_values_too():
    prior = CountPrior(np.full(1, 0.5), 0, 0, np.zeros(1, dtype=np.int64))
    chain = ReleaseChain(noise=None, group_size=9)
    trace = PartialTrace(np.arange(1), np.ones(1), values=np.array([2]))
    outputs = np.array([[4.0], [5.0], [6.0]])
    found = log_ratios_of_trace(
        lambda *facts: count_ratios.log_ratios(chain, *facts), outputs, 4, prior, trace
    )
    assert found.ravel().tolist() == [-1e6, 0.0, 1e6]  # without the target; impossible; with it


def test_values_of_cells_that_are_only_likely_are_refused():
    """The ratio of two more with probability w is log(1 - w + w P(c + 2) / P(c)), not a sum of two."""
    prior = CountPrior(np.full(2, 0.5), 5, 5, np.zeros(2, dtype=np.int64))
    chain = ReleaseChain(noise=geometric.Mechanism(epsilon=0.7), group_size=9)

    def ratios(values, weights):
        trace = PartialTrace(np.arange(2), np.array(weights), values=np.array(values))
        law = lambda *facts: count_ratios.log_ratios(chain, *facts)  # noqa: E731
        return log_ratios_of_trace(law, np.array([[4.0, 2.0]]), 1, prior, trace)

    with pytest.raises(BadInput, match="needs certainty about cells to which a target adds more than 1"):
        ratios([2, 1], [0.5, 1.0])
    assert np.isfinite(ratios([2, 1], [1.0, 0.5])).all()
    assert np.isfinite(ratios([2, 1], [0.0, 0.5])).all()


def accuracy(challenger, attack, kind, rounds=400, **known):
    knows = knowledge.build(kind, known, challenger, 1)
    scorer = study_attack(attack, knows, stream(1, Role.STUDY), "it", challenger.n_targets)
    trials = play(challenger, {"it": Adversary(knows, scorer)}, seed=3, rounds=range(rounds), block=0)["it"]
    return float(np.mean((trials.scores > 0) == trials.members)), trials


@pytest.mark.parametrize(
    ("mechanism", "relation"), [(LAPLACE, "add_remove"), (LAPLACE, "replace_one"), (RAW, "replace_one")]
)
@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (likelihood.Attack(), "informed"),
        (likelihood.Attack(), "auxiliary"),
        (reference.Attack(references="all", cells="all", shadows=300), "auxiliary"),
        (one_threshold.Attack(shadows=300), "auxiliary"),
    ],
)
def test_attacks_find_members(mechanism, relation, attack, kind):
    challenger = game(genotypes(120, 200), mechanism, relation=relation, group_size=20, targets=2)
    found, _ = accuracy(challenger, attack, kind, rounds=60)
    assert found > (0.65 if kind == "auxiliary" else 0.97 if mechanism is RAW else 0.85)


def test_all_cells_count_where_another_person_replaces_the_target():
    challenger = game(genotypes(120, 200), RAW, relation="replace_one", group_size=20)
    knows = knowledge.build("auxiliary", {}, challenger, 1)
    wide = informative_cells(knows.sketches[0], knows.public)
    assert wide.cells.size == 200
    np.testing.assert_array_equal(np.flatnonzero(wide.weights), knows.sketches[0].cells)
    public = replace(knows.public, relation=Relation.ADD_REMOVE)
    assert informative_cells(knows.sketches[0], public) is knows.sketches[0]


@pytest.mark.parametrize(
    ("attack", "kind", "message"),
    [
        (one_threshold.Attack(), "zero", "synthetic people, who have 0 or 1 in a cell"),
        (shadow_logistic.Attack(), "zero", "use the attack 'likelihood'"),
        (two_threshold.Attack(shadows=0), "auxiliary", "values 0 and 1 only"),
    ],
)
def test_attacks_that_know_only_ones_refuse(attack, kind, message):
    challenger = game(genotypes(), LAPLACE)
    with pytest.raises(BadInput, match=message):
        attack.study(knowledge.build(kind, {}, challenger, 1), stream(1, Role.STUDY))


@pytest.mark.parametrize(
    ("kind", "known", "message"),
    [
        ("friends", {}, "friends say which cells a target has, not with which value"),
        ("auxiliary", {"places": 3}, "this table has cells without times"),
    ],
)
def test_knowledge_of_places_or_friends_is_refused(kind, known, message):
    with pytest.raises(BadInput, match=message):
        knowledge.build(kind, known, game(genotypes(), LAPLACE), 1)


# --- the attack of Dwork et al. (2015) against its normal approximation


def test_inner_product_matches_its_normal_approximation():
    """Counts of n people over d independent SNPs, one target, whom somebody else replaces.

    The product of counts with y - p has mean <y - p, y - p> higher with the target, and standard deviation
    sqrt(n sum (y - p)^2 s^2) for known means p and variances s^2: for all targets together, a separation of
    about sqrt(d / n), the trace of Dwork, Smith, Steinke, Ullman and Vadhan (2015).
    """
    n, d = 60, 150
    people = genotypes(4_000, d, seed=5)
    table = people.visits.toarray().astype(float)
    challenger = game(people, RAW, relation="replace_one", group_size=n, reference=0.5, targets=1)
    attack = reference.Attack(references="all", cells="all", shadows=2_000)
    rule = attack.study(knowledge.build("auxiliary", {}, challenger, 1), stream(1, Role.STUDY))
    _, trials = accuracy(challenger, attack, "auxiliary", rounds=3_000)
    (rules,) = rule.score.target_rules
    w = np.zeros(d)
    w[rules.cells] = rules.rule.weights
    target = table[challenger.people.targets[0]]
    pool = table[challenger.people.pool]
    np.testing.assert_allclose(w, target - table[challenger.people.reference].mean(axis=0), atol=1e-9)
    shift = float(w @ (target - pool.mean(axis=0)))
    spread = float(np.sqrt(n * (w**2 @ pool.var(axis=0))))
    members, others = trials.scores[trials.members], trials.scores[~trials.members]
    sd = np.sqrt((members.var() + others.var()) / 2)
    separation = (members.mean() - others.mean()) / sd
    assert separation == pytest.approx(shift / spread, abs=4 * np.sqrt(4 / 3_000))
    assert shift / spread == pytest.approx(np.sqrt(d / n), rel=0.25)
    wins = (members[:, None] > others).mean() + (members[:, None] == others).mean() / 2
    assert wins == pytest.approx(norm.cdf(shift / spread / np.sqrt(2)), abs=0.025)


# --- exposure


@pytest.mark.parametrize("suppress", [0, 4])
def test_informed_exposure_is_the_total_variation(suppress):
    """Every output of every cell of a person, with the true counts of everyone else."""
    noise = {"name": "geometric", "epsilon": 1.5, "clamp": bool(suppress), "suppress": suppress}
    people = value_table(SIX)
    challenger = game(people, noise, group_size="everyone", splits=1)
    found = expose(challenger, ["informed"]).against[0].accuracy
    total, outputs = SIX.sum(axis=0), np.arange(0.0, 13.0) if suppress else np.arange(-20.0, 33.0)
    for person, row in enumerate(SIX):
        laws = [np.ones(1), np.ones(1)]
        for cell in np.flatnonzero(row):
            for world, count in enumerate((total[cell] - row[cell], total[cell])):
                law = np.exp(challenger.chain.log_law(outputs, float(count)))
                laws[world] = np.multiply.outer(laws[world], law).ravel()
        exact = 0.5 + np.abs(laws[1] - laws[0]).sum() / 4
        assert found[person] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("kind", ["informed", "auxiliary"])
def test_exposure_agrees_with_simulated_releases(kind):
    people = genotypes(80, 30, seed=2)
    mechanism = {"name": "geometric", "epsilon": 1.0, "clamp": True, "suppress": 20}
    challenger = game(people, mechanism, group_size="everyone", splits=1, targets=1)
    found = expose(challenger, [kind]).against[0]
    person = int(challenger.people.targets[0])
    attack = likelihood.Attack(fit="never")
    simulated, _ = accuracy(challenger, attack, kind, rounds=6_000)
    assert found.accuracy[person] == pytest.approx(simulated, abs=3 * np.sqrt(0.25 / 6_000) + 0.002)


def test_exposure_in_random_groups_is_refused():
    with pytest.raises(BadInput, match='group_size = "everyone"'):
        expose(game(genotypes(), LAPLACE, group_size=20), ["informed"])


def test_assumed_rates_leave_room_for_what_the_person_adds():
    """Somebody of the pool who adds 2 is two more than the reference holds; somebody of it is in there."""
    challenger = game(value_table(SIX), LAPLACE, group_size="everyone", splits=1, reference=3)
    usual = rates_from_reference(challenger.reference.traces)
    crowd = CrowdCells.of_everyone(challenger.traces, challenger.people.reference)
    found, cells = crowd.believed(usual).rates, np.arange(3)
    for place, inside in ((POOL, False), (REFERENCE, True)):
        for value in (1, 2):
            expected = usual(cells, 0.0 if inside else float(value))
            np.testing.assert_array_equal(found[2 * place + value - 1], expected)
    assert (usual(cells, 2.0) > usual(cells, 1.0)).all()


def test_exposure_leaves_out_who_can_only_guess(tmp_path):
    """From the release alone, counts of one column cannot be estimated; with rows and columns they can."""
    (tmp_path / "trips.csv").write_text(
        "user,origin,destination\n" + "".join(f"u{n % 9},o{n % 3},d{n % 4}\n" for n in range(60))
    )
    trips = {"source": "trips.csv", "columns": {"cell": ["origin", "destination"]}}
    alleles = {"source": "synthetic-genotypes", "users": 30, "snps": 10}
    for data, due in ((alleles, ["informed", "auxiliary"]), (trips, ["informed", "auxiliary", "zero"])):
        tables = {"challenger": {"group_size": "everyone", "targets": 2}, "mechanism": LAPLACE}
        found = expose(build(data=data, **tables, folder=tmp_path, seed=1))
        assert [one.adversary for one in found.against] == due
