import pytest

from leakgauge.papers.comparison import Agreement

ALWAYS_RIGHT = {"refusal": (1.0, 1.0), "combined": (1.0, 1.0), "t_test": (0.12, 0.95), "few": (0.12, 0.948)}


@pytest.fixture
def cells(show):
    def rates(audit, label):
        return ALWAYS_RIGHT[label] if audit.name == "per_row" else (0.0, 1.0)

    return show("cases", rates)[0]


def test_budget_allows_few_queries_only(audits):
    per_row, per_predicate = audits("cases")
    assert per_row.challenger["accountant"] == "per_row"
    assert per_predicate.challenger["accountant"] == "per_predicate"
    spent = {
        who.label: who.attack_parameters["queries"] * per_row.mechanism["epsilon"]
        for who in per_row.contenders
    }
    assert spent.pop("few") == pytest.approx(per_row.challenger["budget"])
    assert all(epsilon > per_row.challenger["budget"] for epsilon in spent.values())


def test_refusals_are_certain_and_t_test_is_not(cells):
    for name in ("members found by refusals", "members found by the four cases together"):
        assert cells[f"case 4: {name}, simulated"].verdict is Agreement.AGREES
    assert (
        cells["case 3: non-members found by the absence of refusals, simulated"].verdict is Agreement.AGREES
    )
    tested = "case 3: non-members found by the t-test of 100 answers"
    for name in (tested, f"{tested}, simulated"):
        assert cells[name].verdict is Agreement.DIFFERS
        assert "5 %" in cells[name].reason
    # A t-test of 100 answers is close to its level whatever the noise.
    assert cells[tested].ours.value == pytest.approx(0.95, abs=0.001)


def test_sound_accountant_is_ours_only(cells):
    found = cells["cases 3 and 4: success of refusals, a sound accountant, simulated"]
    assert found.ours.value == 0.5
    assert found.verdict is Agreement.OURS_ONLY
    assert "theorem 4" in found.reason


def test_few_answers_are_weak_evidence(cells):
    # Simulated elsewhere: 0.534; the formula 0.516, the best attack 0.675.
    found = cells["cases 1 and 2: success of the t-test, 10 answers"]
    assert found.ours.value == pytest.approx(0.534, abs=1e-3)
    assert found.published.value == pytest.approx(0.516, abs=5e-4)
    assert cells["cases 1 and 2: the optimum, 10 answers"].ours.value == pytest.approx(0.675, abs=1e-3)
    assert cells["cases 1 and 2: success of the t-test, 10 answers, simulated"].holds_exact
