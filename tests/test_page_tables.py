"""Tables of the documentation that follow from a formula: every number is computed again."""

import re
from itertools import chain
from math import ceil, exp, log, log1p, log2, sqrt, tanh
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from leakgauge import promise_tests
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.locations.challenger import build
from leakgauge.mechanisms import bitrand, laplace, ome, privunit
from leakgauge.papers.guan24 import plans
from leakgauge.papers.paper import Scale, Scope
from leakgauge.plan import MetricsTable
from leakgauge.referee.metrics import epsilon_one_run
from leakgauge.theory.query_splitting import optimum_laplace
from page_numbers import number, page_words, percent, rows


def test_epsilon_of_rows_of_512_features():
    flips, _, ome_hundred, ome_one = rows("mechanisms.md", "| nominal epsilon | 1 | 3")
    for place, epsilon in enumerate((1.0, 3.0, 5.0, 10.0), start=1):
        assert number(flips[place]) == round(512 * np.abs(log_odds_of_flips(epsilon)).sum())
        assert number(flips[place]) == round(bitrand.Mechanism(epsilon=epsilon).guarantee.exact_epsilon)
        assert number(ome_hundred[place]) == round(ome.Mechanism(epsilon=epsilon).guarantee.exact_epsilon)
        plain = ome.Mechanism(epsilon=epsilon, alpha=1.0).guarantee.exact_epsilon
        assert number(ome_one[place]) == round(plain, 1)


def test_a_hundred_members_that_come_together():
    for epsilon, independent, measured, optimum, together in rows("models.md", "| ε of a record | bound if"):
        label = float(epsilon)
        assert float(independent) == pytest.approx(np.tanh(label / 2), abs=6e-4)
        assert float(together) == pytest.approx(np.tanh(100 * label / 2), abs=6e-4)
        best = 1 - exp(-100 * label / 2)  # Laplace noise against a shift of 100 epsilon scales
        assert float(optimum) == pytest.approx(best, abs=6e-4)
        low, high = map(float, re.findall(r"\.\d+", measured)[1:])
        assert low <= best <= high


def test_people_with_several_rows():
    ((_, *shares),) = rows("queries.md", "| rows of the person | 1 | 2")
    for n_rows, cell in enumerate(shares, start=1):
        assert percent(cell) == pytest.approx(optimum_laplace(10, n_rows / 4)[0], abs=6e-4)


def classic_sigma(epsilon, delta):
    return sqrt(2 * log(1.25 / delta)) / epsilon


def analytic_sigma(epsilon, delta):
    """The smallest standard deviation at sensitivity 1 (Balle and Wang 2018, theorem 8)."""

    def excess(sigma):
        half, shift = 1 / (2 * sigma), epsilon * sigma
        return norm.cdf(half - shift) - exp(epsilon) * norm.cdf(-half - shift) - delta

    return brentq(excess, 0.05, 50)


def test_limits_on_attacks_against_noisy_gradients():
    table = rows("federated.md", "| the noise | at most, others silent")
    sigmas = [classic_sigma(8, 0.01)] * 5
    sigmas[1] = analytic_sigma(8, 0.01)
    sigmas[4] *= 2  # four clients with noise of their own: their mean has twice the noise of their sum
    for (_, silent, anybody, attack, *_), sigma in zip(table, sigmas, strict=True):
        assert percent(silent) == pytest.approx(norm.cdf(1 / (2 * sigma)), abs=6e-4)
        assert percent(anybody) == pytest.approx(norm.cdf(1 / sigma), abs=6e-4)
        error = percent(attack.split("±")[1])
        assert percent(attack) <= norm.cdf(1 / (2 * sigma)) + 3 * error


def test_iterations_that_a_whole_gradient_takes():
    """To be right 99 % of the time, where other rows send nothing."""
    for page, epsilon in (("federated.md", 8), ("reproduce.md", 9)):
        takes = ceil((2 * norm.ppf(0.99) * classic_sigma(epsilon, 0.01)) ** 2)
        assert re.search(rf"takes {takes}[.,]", page_words(page))


def test_limits_of_a_canary_in_forty_steps():
    *_, silent, seen = rows("dp-training.md", "| initial weights | AUC")
    steps, rate, rng = 40, 0.25, np.random.default_rng(1)
    times = np.arange(steps + 1)
    exact = binom.pmf(times, steps, rate) @ norm.cdf(times / sqrt(2 * steps))
    assert float(silent[1]) == pytest.approx(exact, abs=0.002)
    noise = rng.normal(size=(2, 40_000, steps))
    noise[0] += rng.random((40_000, steps)) < rate
    inside, outside = np.log1p(rate * np.expm1(noise - 0.5)).sum(axis=2)  # log ratios of all steps
    assert float(seen[1]) == pytest.approx((inside > outside).mean(), abs=0.006)


def test_exact_allele_counts():
    page = page_words("cell-tables.md")
    snps, people = 200, 60
    assert f"Φ(√(d/n)/2), here {norm.cdf(sqrt(snps / people) / 2):.0%}" in page
    assert f"Φ(√(d/(2n))), here {norm.cdf(sqrt(snps / (2 * people))):.2f}" in page


def gaussian_epsilon(mu, delta):
    """Epsilon at delta of normal noise whose mean moves by mu standard deviations (Balle and Wang 2018)."""

    def excess(epsilon):
        return norm.cdf(mu / 2 - epsilon / mu) - exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta

    return brentq(excess, 0, 400)


def laplace_losses(epsilon, cells):
    """Privacy losses of so many cells with Laplace noise and their probabilities, on a grid."""
    half = 1_000
    grid = np.arange(-half, half + 1) * epsilon / half
    edges = np.concatenate([[-epsilon], (grid[:-1] + grid[1:]) / 2, [epsilon]])
    outputs = (1 - edges / epsilon) / 2  # those between 0 and 1, where the loss is not at its limits
    masses = np.diff(0.5 * np.exp(-epsilon * outputs))
    masses[-1] += 0.5
    masses[0] += 0.5 * exp(-epsilon)
    size = 1 << ceil(log2(len(masses) * cells))
    total = np.fft.irfft(np.fft.rfft(masses, size) ** cells, size)[: 2 * half * cells + 1]
    return np.arange(-half * cells, half * cells + 1) * epsilon / half, total


def response_losses(epsilon, parts):
    """The same for randomized response, which reveals as much as epsilon of every part allows."""
    right = np.arange(parts + 1)
    return epsilon * (2 * right - parts), binom.pmf(right, parts, 1 / (1 + exp(-epsilon)))


def best_accuracy(losses, masses):
    return masses[losses > 1e-9].sum() + masses[np.abs(losses) <= 1e-9].sum() / 2


def composed_epsilon(losses, masses, delta):
    return brentq(lambda e: masses @ np.maximum(0, 1 - np.exp(np.minimum(e - losses, 0))) - delta, 0, 60)


def test_best_attack_on_many_cells():
    optimum, bound = rows("mechanisms.md", "| k | 1 | 5")
    for place, cells in enumerate((1, 5, 10, 20, 60, 140), start=1):
        assert float(optimum[place]) == pytest.approx(best_accuracy(*laplace_losses(0.5, cells)), abs=5.1e-5)
        assert float(bound[place]) == pytest.approx(best_accuracy(*response_losses(0.5, cells)), abs=5.1e-5)


def test_promise_of_ten_gaussian_answers():
    epsilon = gaussian_epsilon(sqrt(10) / analytic_sigma(0.3, 1e-5), 1e-5)
    assert f"answers at ε = 0.3, δ = 10⁻⁵ promise ε = {epsilon:.2f} at the same δ" in page_words("queries.md")


def test_tight_epsilon_of_many_answers_in_a_query_log():
    tight = composed_epsilon(*laplace_losses(0.3, 167), 1e-6)
    said = f"167 Laplace answers of ε = 0.3 add up to {167 * 0.3:.1f}, and together spend {tight:.1f} at δ"
    assert said in page_words("query-log.md")


def test_promise_to_somebody_with_twenty_cells():
    page = page_words("exposure.md")
    by_parts = composed_epsilon(*response_losses(0.5, 20), 1e-5)
    tight = composed_epsilon(*laplace_losses(0.5, 20), 1e-5)
    assert f"to {by_parts:.2f} by Kairouz et al., and to {tight:.2f} by the noise distribution" in page
    of_one = gaussian_epsilon(1 / 8.25, 1e-5)
    by_parts = composed_epsilon(*response_losses(of_one, 20), 1e-5)
    tight = gaussian_epsilon(sqrt(20) / 8.25, 1 - (1 - 1e-5) ** 21)
    assert f"each it gives {tight:.2f}, and the other way {by_parts:.2f}" in page


def test_what_noise_on_one_value_reveals():
    page = page_words("mechanisms.md")
    logistic, laplace = 0.5 + tanh(0.25) / 2, 1 - exp(-0.5) / 2
    assert (
        f"balanced accuracy of {logistic:.3f}, under Laplace noise {laplace:.3f}".replace("0.", ".") in page
    )
    flips = 1 / (1 + np.exp(-log_odds_of_flips(5.0)))
    assert f"the sign flips in {flips[0]:.1%} and the last bit in {flips[-1]:.0%}".replace("%", " %") in page


def log_odds_of_flips(epsilon):
    """By Lai et al. (2021), for 512 features of 10 bits."""
    k = np.arange(10)
    alpha = sqrt((epsilon + 512 * 10) / (2 * 512 * np.exp(2 * epsilon * k / 10).sum()))
    return log(alpha) + k * epsilon / 10


def test_what_rows_with_a_true_epsilon_of_ten_reveal():
    """Each of many bits reveals little, so their log ratios sum to nearly a normal number."""
    found = []
    for mechanism in (bitrand, ome):
        noise = mechanism.Mechanism(epsilon=10.0, calibrate="exact")
        apart = np.asarray(noise.ones_from_one) - np.asarray(noise.ones_from_zero)
        found.append(norm.cdf(np.sqrt(512 * (apart**2).sum())))
    of_a_bit = 1 / (1 + exp(-10 / 5120)) - 0.5
    found.append(norm.cdf(2 * of_a_bit * sqrt(5120)))
    found.append(norm.cdf(10 / 512 * sqrt(512) / 2))  # a Laplace density: moved by 10 / 512 of its scale
    stated = re.search(
        r"of (\S+) \(`bitrand`\), at most (\S+) \(`ome`\), (\S+) .*? and (\S+) ", page_words("mechanisms.md")
    )
    assert [float(one) for one in stated.groups()] == pytest.approx(found, abs=1e-3)


def test_what_one_local_report_reveals():
    odds, half = exp(4.0), exp(2.0)
    rare, buckets = 1 / (odds + 1), round(odds) + 1
    bits = np.outer([0.5, 0.5], [1 - rare, rare])
    inside = half / (half + 1)  # that a number of the piecewise mechanism is near the true one
    found = [
        odds / (odds + 1),
        0.5 + inside * (1 - 1 / odds) / 2,
        half / (half + 1),
        0.5 + np.abs(bits - bits.T).sum() / 4,
        0.5 + (1 - 1 / buckets) * (odds - 1) / (odds + buckets - 1) / 2,
    ]
    page = page_words("mechanisms.md")
    stated = re.search(
        r"(\S+) \(`duchi`\), (\S+) \(`piecewise`\), (\S+) \(symmetric bits\), (\S+) \(OUE\) or (\S+) \(OLH\)",
        page,
    )
    assert [float(one) for one in stated.groups()] == pytest.approx(found, abs=6e-4)
    assert "smaller than stated (3.57 for 4, 50 features)" in page
    paper = privunit.Mechanism(epsilon=4.0, features=50, calibrate="paper")
    assert paper.guarantee.exact_epsilon == pytest.approx(3.57, abs=6e-3)


def test_reports_that_share_their_kept_bits():
    keep = 1 / (1 + exp(-1.0))

    def epsilon(reports):
        """Of one bit that is always shown as 1, and one that never is."""
        ones = (
            keep * 0.75**reports,
            (1 - keep) * 0.5**reports,
            (1 - keep) * 0.75**reports,
            keep * 0.5**reports,
        )
        zeros = (
            (1 - keep) * 0.25**reports,
            keep * 0.5**reports,
            keep * 0.25**reports,
            (1 - keep) * 0.5**reports,
        )
        return sum(log((a + b) / (c + d)) for a, b, c, d in (ones, zeros))

    stated = (
        f"it is {epsilon(1):.2f} for one report, {epsilon(10):.2f} for ten and {epsilon(200):.0f} for many"
    )
    assert stated in page_words("mechanisms.md")


def promise_test(promise):
    return promise_tests.PromiseTest(
        metrics=MetricsTable(), guarantee=promise, n_verdicts=1, schedule=None, trials_per_round=1.0
    )


def power_against_randomized_response(epsilon, n):
    """How often n rounds of randomized response at this epsilon show a bound above 0 with 95 % confidence."""
    allowed = max((k for k in range(n + 1) if binom.cdf(k, n, 0.5) <= 0.05), default=-1)
    return binom.cdf(allowed, n, 1 / (1 + exp(epsilon)))


def test_rounds_that_a_violation_needs():
    exact, with_delta, known_curve, both = rows("statistics.md", "| promised epsilon | 0.5")
    for place, epsilon in enumerate((0.5, 1.0, 3.0, 5.0, 10.0), start=1):
        assert number(exact[place]) == ceil(log(20) / log1p(exp(-epsilon)))  # all right by chance: 5 %
        for row, delta in ((exact, 0.0), (with_delta, 1e-5)):
            promise = Guarantee(epsilon=epsilon, delta=delta)
            assert number(row[place]) == promise_test(promise).rounds_to_violate
        needed = int(number(both[place]))
        assert needed == promise_test(Guarantee(epsilon=epsilon)).rounds_needed
        assert needed >= number(exact[place])
        if needed > number(exact[place]):  # then the fewest that see a leak of that size in 80 of 100 runs
            seen = [n for n in range(200) if power_against_randomized_response(epsilon, n) >= 0.8]
            assert needed == seen[0]
        noise = laplace.Mechanism(epsilon=epsilon).guarantee
        assert number(known_curve[place]) == promise_test(noise).rounds_to_violate
    assert "at least 3 at least 62, of 5 at least 447, of 10 at least 66,000" in page_words("faq.md")


def test_how_often_known_exact_answers_in_1_of_500_calls_are_found():
    """Who guesses at the two exact answers alone, with half of the error; noise is on a grid of 1/1024."""
    half = 1 / 2048
    right = 1 / 500 + (1 - exp(-half)) * 499 / 500
    wrong = (exp(half - 1) - exp(-half - 1)) / 2 * 499 / 500
    found, numbers = 0.0, np.arange(121)
    for guesses in range(1, 121):  # 53 on average
        refutes = binom.sf(numbers - 1, guesses, 1 / (1 + exp(-1))) <= 0.025
        share = binom.pmf(numbers, guesses, right / (right + wrong))[refutes].sum()
        found += binom.pmf(guesses, 20_000, right + wrong) * share
    assert f"knows the two exact answers finds it in {found:.0%} of audits".replace("%", " %") in page_words(
        "statistics.md"
    )


def test_counts_of_the_city_that_stands_in_for_milan():
    stated = re.search(
        r"makes (\S+) % of the counts .*? \((\S+) % with the default", page_words("reproduce.md")
    )
    note = plans.place_note(Scope(scale=Scale.QUICK))
    for text, popularity in zip(stated.groups(), (0.25, 1.0), strict=True):
        cities = [capped_city(plans.CITY, seed, {"popularity": popularity}) for seed in range(8)]
        share = np.mean([small_share(city, seed) for seed, city in enumerate(cities)])
        assert float(text) == pytest.approx(100 * share, abs=0.3)
        if popularity == 0.25:  # the share in the note, without the cap 98.5
            assert f"{text} % of the counts above 0 of 1,000 people are at most 5" in note
            visits = np.mean([city.traces.n_visits.mean() for city in cities])
            for pattern, words in (
                (r"after the daily cap of 10, (\S+) visits on average", note),
                (r"and (\S+) after the daily cap of 10", page_words("reproduce.md")),
            ):
                assert float(re.search(pattern, words)[1]) == pytest.approx(visits, abs=0.15)
    records = np.mean([capped_city(plans.CDR, seed, {}).traces.n_visits.mean() for seed in range(2)])
    said = re.search(r"(\S+) visits on average after the daily cap of 20", note)[1]
    assert float(said) == pytest.approx(records, abs=1)


def capped_city(place, seed, options):
    """The people of a city after the daily cap of the games."""
    return build(
        data=place.data.table | options,
        challenger=place.challenger_table(3),
        mechanism={"name": "raw"},
        folder=Path(),
        seed=seed,
    )


def small_share(city, seed):
    """The share of the counts above 0 of 1,000 people that are at most 5."""
    people = city.crowd.people(1, 1_000, np.random.default_rng(seed))
    counts = np.asarray(city.crowd.counts(people))
    return (counts[counts > 0] <= 5).mean()


def test_what_rounds_without_an_error_show():
    page = page_words("statistics.md")
    forty, hundreds = (f"{100 * 0.05 ** (1 / n):.1f} %" for n in (40, 400))
    assert f"40 rounds without an error show {forty}, 400 rounds {hundreds}" in page
    assert f"100 rounds without an error show {100 * 0.01**0.01:.1f} %" in page
    few, more = (0.5 + 0.5 * (1 - 0.05 ** (1 / n)) for n in (12, 24))
    assert f"{few:.2f} with 12 splits, {more:.2f} with 24" in page


def test_noise_of_a_training():
    accounting = pytest.importorskip("dp_accounting")
    relations = accounting.NeighboringRelation

    def poisson(sigma, relation):
        accountant = accounting.pld.PLDAccountant(relation, value_discretization_interval=1e-4)
        step = accounting.PoissonSampledDpEvent(0.02, accounting.GaussianDpEvent(sigma))
        return accountant.compose(step, 5_000).get_epsilon(1e-5)

    def without_replacement(sigma):
        accountant = accounting.rdp.RdpAccountant(neighboring_relation=relations.REPLACE_ONE)
        step = accounting.SampledWithoutReplacementDpEvent(10_000, 200, accounting.GaussianDpEvent(sigma))
        return accountant.compose(step, 5_000).get_epsilon(1e-5)

    table = rows("models.md", "| on the label | calibration")
    sigmas, epsilons = [number(row[2]) for row in table], [number(row[3]) for row in table]
    assert poisson(sigmas[0], relations.ADD_OR_REMOVE_ONE) == pytest.approx(1, abs=0.003)
    assert poisson(sigmas[1], relations.REPLACE_ONE) == pytest.approx(1, abs=0.006)
    for sigma, epsilon in zip(sigmas[2:], epsilons[2:], strict=True):  # 100 epochs, each a release moved by 2
        assert epsilon == pytest.approx(gaussian_epsilon(2 * sqrt(100) / sigma, 1e-5), rel=0.006)
    assert "the true ε behind the label 1 is at most 8.4" in page_words("reproduce.md")
    for sigma, label in zip(sigmas[3:], (1, 10), strict=True):  # labelled as if batches were drawn at random
        assert without_replacement(sigma) == pytest.approx(label, rel=0.02)


def test_exact_epsilon_of_the_clients_of_the_example():
    table = rows("federated.md", "| BitRand, label | exact")
    for row, epsilon in zip(table[:2], (1.0, 3.0), strict=True):
        k = np.arange(10)
        alpha = sqrt((epsilon + 64 * 10) / (2 * 64 * np.exp(2 * epsilon * k / 10).sum()))
        assert number(row[1]) == round(64 * np.abs(log(alpha) + k * epsilon / 10).sum())
    for page in ("../README.md", "roles/federated-team.md"):
        assert "668" in page_words(page)


def test_what_a_promise_allows_an_attacker():
    assert f"beyond the {1 / (1 + exp(-1)):.1%} that ε = 1 would allow" in page_words("models.md")
    assert f"ε = 3 for a person allows an attacker to be right {100 / (1 + exp(-3)):.0f} %" in page_words(
        "faq.md"
    )
    assert f"is {tanh(0.5):.3f} at ε = 1".replace("0.", ".") in page_words("reproduce.md")


def bounds(epsilon, n_rounds, n_audits, rng, *, signed):
    """Lower bounds on epsilon from audits of Laplace noise, by log-likelihood ratios or by their ranks."""
    found = []
    for _ in range(n_audits):
        members = rng.random(n_rounds) < 0.5
        outputs = members + rng.laplace(scale=1 / epsilon, size=n_rounds)
        # |x| - |x - 1| would show by its last bits which outputs had 1 added to them
        scores = epsilon * (2 * np.clip(outputs, 0, 1) - 1) if signed else outputs
        numbers = np.arange(n_rounds)
        reading = Reading(signed=signed, threshold=0.0)
        trials = Trials(numbers, np.zeros(n_rounds, int), members, scores, Coins.FAIR, reading)
        found.append(epsilon_one_run.Metric()(trials).low)
    return np.array(found)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "row", rows("statistics.md", "| true epsilon | `one_run`, signed"), ids=lambda row: row[0]
)
def test_how_much_of_epsilon_a_bound_shows(row):
    epsilon, rng = float(row[0]), np.random.default_rng(20261118)
    sizes = (200, 1_000, 10_000)
    cells = [zip(sizes, map(float, cell.split("/")), (cell is row[1],) * 3, strict=True) for cell in row[1:]]
    for n_rounds, stated, signed in chain(*cells):
        found = bounds(epsilon, n_rounds, 300, rng, signed=signed) / epsilon
        spread = 1.2533 * found.std() / sqrt(300)  # standard error of a median, as if normal
        assert stated == pytest.approx(np.median(found), abs=4 * spread + 0.01), (n_rounds, signed)
        assert (found > 1).mean() <= 0.05 + 4 * sqrt(0.05 * 0.95 / 300)
