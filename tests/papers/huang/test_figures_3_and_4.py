import numpy as np
import pytest
from scipy import stats

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.huang import PAPER, figures_3_and_4
from leakgauge.papers.huang.figures_3_and_4 import ALL_ANSWERS, BUDGET_EACH, TOTAL_BUDGET
from leakgauge.papers.paper import PlayedItem, Scale, Scope
from leakgauge.papers.reproduction import reproduce


def theorem_5(m, epsilon, freedom):
    """The formula of the paper, integrated as it stands."""
    critical, shift = stats.t.ppf(0.975, freedom), -epsilon * np.sqrt(m) / np.sqrt(2)
    law = stats.t(m - 1)
    return (1.95 - (law.cdf(critical + shift) - law.cdf(-critical + shift))) / 2


@pytest.fixture(scope="module")
def shown():
    played = PlayedItem(scope=Scope(scale=Scale.QUICK))
    return {name: PAPER.item(name).show(played) for name in ("figure_3", "figure_4")}


@pytest.fixture(scope="module")
def verdicts(shown):
    return {name: {cell.setting: cell.verdict for cell in some.cells} for name, some in shown.items()}


@pytest.mark.parametrize(
    ("some", "budget"), [(TOTAL_BUDGET, 10.0), (TOTAL_BUDGET, 0.5), (BUDGET_EACH, 0.33), (BUDGET_EACH, 0.01)]
)
def test_theorem_5_is_drawn_as_printed(some, budget):
    epsilons = [budget / m if some is TOTAL_BUDGET else budget for m in ALL_ANSWERS]
    for misprint in (False, True):
        want = [
            theorem_5(m, epsilon, m - (not misprint))
            for m, epsilon in zip(ALL_ANSWERS, epsilons, strict=True)
        ]
        np.testing.assert_allclose(some.printed(budget, misprint=misprint), want, atol=1e-12)


def simulated(m, epsilon, rounds=40_000):
    """Success of the t-test of section 4.4, S with 1/m, off by 0.0025 or so."""
    noise = np.random.default_rng(5).laplace(size=(rounds, m))
    rejected = []
    for samples in (noise, noise + epsilon):
        t = samples.mean(axis=1) * np.sqrt(m) / samples.std(axis=1)
        rejected.append((np.abs(t) > stats.t.ppf(0.975, m - 1)).mean())
    return (1 - rejected[0] + rejected[1]) / 2


@pytest.mark.parametrize("budget", [5.0, 10.0])
def test_t_test_matches_simulation(budget):
    found = TOTAL_BUDGET.tested((10,))[0, TOTAL_BUDGET.budgets.index(budget)]
    assert found == pytest.approx(simulated(10, budget / 10), abs=0.008)


def test_ranges_match_paper():
    assert [(panel[0], panel[-1]) for panel in TOTAL_BUDGET.panels] == [(0.1, 1.0), (0.1, 10.0)]
    assert [(panel[0], panel[-1]) for panel in BUDGET_EACH.panels] == [(0.01, 0.1), (0.01, 0.33)]
    assert (
        (ALL_ANSWERS[0], ALL_ANSWERS[-1])
        == (figures_3_and_4.FEWEST_ANSWERS, figures_3_and_4.MOST_ANSWERS)
        == (4, 29)
    )


def test_total_budget_is_shared_between_answers(audits):
    for audit in audits("figure_3"):
        (contender,) = audit.contenders
        total = audit.mechanism["epsilon"] * contender.attack_parameters["queries"]
        assert total == pytest.approx(float(audit.name.split("-")[1]))
    for audit in audits("figure_4"):
        assert audit.mechanism["epsilon"] == float(audit.name.split("-")[1])
        assert [who.attack_parameters["queries"] for who in audit.contenders] == [4, 10, 29]
        assert all(who.attack_parameters["form"] == "paper" for who in audit.contenders)


@pytest.mark.nightly
def test_t_test_has_the_published_trends(verdicts):
    falls, rises = verdicts["figure_3"], verdicts["figure_4"]
    for budget in ("0.5", "1", "5", "10"):
        assert falls[f"t-test: 4 answers minus 29, ε in all = {budget}"] is Agreement.AGREES
    for budget in ("0.05", "0.1", "0.2", "0.33"):
        assert rises[f"t-test: 29 answers minus 4, ε each = {budget}"] is Agreement.AGREES
    # 1e-4 is below the numerical error of the numbers.
    assert falls["t-test: 4 answers minus 29, ε in all = 0.1"] is Agreement.UNDECIDED
    grown = [verdict for some in verdicts.values() for name, verdict in some.items() if " minus 0.0" in name]
    assert len(grown) == 4
    assert set(grown) == {Agreement.AGREES}


@pytest.mark.nightly
def test_no_reading_of_theorem_5_has_both_trends(verdicts):
    theorem, after = "theorem 5: largest {} per", "the formulas after it, T(m): largest {} per"
    for name, turn, words, verdict in (
        ("figure_3", "rise", theorem, Agreement.DIFFERS),
        ("figure_3", "rise", after, Agreement.AGREES),
        ("figure_4", "fall", theorem, Agreement.AGREES),
        ("figure_4", "fall", after, Agreement.DIFFERS),
    ):
        found = [v for setting, v in verdicts[name].items() if setting.startswith(words.format(turn))]
        assert found == [verdict, verdict]
    # By hand: with no budget at all and four answers, the formula after the theorem gives this.
    assert theorem_5(4, 0.0, 4) == pytest.approx(0.5096, abs=5e-5)
    assert theorem_5(5, 2.0, 4) > theorem_5(4, 2.5, 3)


@pytest.mark.nightly
def test_theory_and_experiment_disagree(shown):
    cells = [cell for cell in shown["figure_3"].cells if cell.setting.startswith("t-test minus theorem 5")]
    assert [cell.verdict for cell in cells] == [Agreement.DIFFERS, Agreement.DIFFERS]
    assert "4 answers, 5" in cells[1].setting
    assert cells[1].ours.value == pytest.approx(simulated(4, 1.25) - theorem_5(4, 1.25, 3), abs=0.008)
    assert all(cell.why for some in shown.values() for cell in some.cells if cell.verdict == "differs")


@pytest.mark.nightly
def test_every_budget_has_three_lines(shown):
    for some in shown.values():
        assert len(some.charts) == 2
        for chart in some.charts:
            rows = chart.spec["data"]["values"]
            assert {row["label"].partition(",")[0] for row in rows} == {"optimum", "t-test", "theorem 5"}
            assert len({row["label"] for row in rows}) == 9
            best = {
                (row["label"].partition(", ")[2], row["x"]): row["value"]
                for row in rows
                if row["label"].startswith("optimum")
            }
            tested = [row for row in rows if row["label"].startswith("t-test")]
            assert all(row["value"] < best[row["label"].partition(", ")[2], row["x"]] for row in tested)


def test_simulated_results_are_compared_with_exact_rate(show):
    cells, shown = show("figure_3", lambda audit, label: (0.9, 0.84), reach=0.002)
    assert cells["t-test: 4 answers, ε in all = 10, simulated"].holds_exact is True  # 0.8695
    assert cells["t-test: 10 answers, ε in all = 10, simulated"].holds_exact is False
    assert cells["t-test: 4 answers minus 29, ε in all = 10, simulated"].verdict is Agreement.UNDECIDED
    dots = [row for row in shown.charts[1].spec["data"]["values"] if row["stroke"] == "dot"]
    assert [(row["x"], row["value"]) for row in dots] == [(4, 0.87), (10, 0.87), (29, 0.87)] * 3


def test_figure_is_reproduced_end_to_end(tmp_path, monkeypatch):
    from leakgauge.papers.huang import figures_3_and_4, plans

    monkeypatch.setitem(figures_3_and_4.PLAYED, Scale.QUICK, (4, 29))
    monkeypatch.setitem(figures_3_and_4.DRAWN, Scale.QUICK, (4, 29))
    monkeypatch.setitem(plans.ROUNDS, Scale.QUICK, 2_000)
    made = reproduce("huang", only="figure_4", out=tmp_path / "out")
    played = [cell for cell in made.cells if cell.setting.endswith("simulated")]
    assert len(played) == 11
    assert [cell.verdict for cell in played].count(Agreement.AGREES) == 1  # the trend
    assert all(cell.holds_exact for cell in played if cell.exact is not None)
    assert made.page.stat().st_size > 10_000
