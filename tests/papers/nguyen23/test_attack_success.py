import pytest

from leakgauge.papers.comparison import Agreement, OurNumber
from leakgauge.papers.nguyen23 import data

pytestmark = pytest.mark.usefixtures("small_rows")


def at(cells, *words):
    """The one cell whose setting has all these words."""
    (found,) = [cell for setting, cell in cells.items() if all(word in setting for word in words)]
    return found


def rates(audit, label):
    return {"likelihood": (1.0, 0.98), "clipped": (0.5, 0.5), "trained": (0.8, 0.6)}[label]


@pytest.fixture
def bitrand(show):
    return show("figure_5", rates)


def test_statements_of_section_5_are_compared(bitrand):
    cells, _ = bitrand
    # Section 5: at least 0.77 from 5 on, near 0.99 from 9 on, 0.62 for CIFAR-10 at 3 and 4.
    trained = at(cells, "success, trained neuron", "CelebA", "max(x, 0)", "ε = 5 ")
    assert trained.published.value == 0.77
    assert trained.verdict is Agreement.DIFFERS  # 0.7
    assert at(cells, "TNR, trained neuron", "CelebA", "max(x, 0)", "ε = 5").verdict is Agreement.AGREES
    assert at(cells, "TPR, trained neuron", "CelebA", "max(x, 0)", "ε = 5").verdict is Agreement.NOT_PRINTED
    assert at(cells, "TNR, trained neuron", "ImageNet", "ε = 3").verdict is Agreement.NOT_PRINTED


def test_likelihood_neuron_is_another_attack(bitrand):
    cells, _ = bitrand
    for epsilon, words in ((1, None), (3, "above 0.67"), (5, "above 0.77"), (10, "0.99")):
        found = at(cells, "success, likelihood neuron", "CelebA", "max(x, 0)", f"ε = {epsilon} ")
        assert found.verdict is Agreement.OURS_ONLY
        assert words is None or f"of a trained neuron: {words}" in found.reason
    assert at(cells, "TNR, likelihood neuron", "CelebA", "max", "ε = 5").verdict is Agreement.OURS_ONLY


def test_statement_of_one_data_set_is_not_compared_with_other_rows():
    ours = OurNumber(low=0.6, value=0.61, high=0.62)
    for column, epsilon, verdict in (
        (data.CIFAR_10, 3, Agreement.OTHER_DATA),
        (data.CIFAR_10, 5, Agreement.DIFFERS),
        (data.CIFAR_10, 1, Agreement.NOT_PRINTED),  # drawn in figure 5
    ):
        assert data.success_number("it", ours, data.success_claim_bitrand(column, epsilon)).verdict is verdict


def test_weaker_trained_neuron_is_explained(bitrand):
    cells, _ = bitrand
    found = at(cells, "success, trained neuron", "CIFAR-10", "max", "ε = 5 ")
    assert found.ours.value == pytest.approx(0.7)
    assert found.verdict is Agreement.DIFFERS
    assert "one mask of flips" in found.reason


def test_two_hinges_are_not_compared(bitrand):
    cells, _ = bitrand
    found = at(cells, "with two hinges a feature", "ImageNet", "ε = 10 ")
    assert found.published is None
    assert "sign bit" in found.reason


def test_exact_epsilon_is_shown_beside_nominal_one(bitrand):
    cells, _ = bitrand
    assert "ε = 5 (exact: 1,234)" in at(cells, "success, likelihood", "CelebA", "max", "ε = 5 ").setting


def test_ome_has_its_own_statements(show):
    cells, shown = show("figure_11", lambda audit, label: (0.96, 0.96), reach=0.002)
    for column, words in (("CelebA", "0.9,"), ("ImageNet", "above 0.95,"), ("CIFAR-10", "0.9,")):
        found = at(cells, "success, likelihood", column, "max", "ε = 1 ")
        assert f"of a trained neuron: {words}" in found.reason
        assert found.verdict is Agreement.OURS_ONLY
    assert len(shown.charts) == 6


def test_chart_has_rates_success_and_utility(bitrand):
    _, shown = bitrand
    assert len(shown.charts) == 6
    labels = {row["label"] for row in shown.charts[1].spec["data"]["values"]}
    assert {
        "success, likelihood neuron",
        "success, trained neuron",
        "TPR, likelihood neuron",
        "TNR, likelihood neuron",
        "honest classifier, right answers",
    } <= labels


def test_utility_is_measured_on_client_rows(bitrand):
    cells, _ = bitrand
    noisy = at(cells, "right answers", "CIFAR-10", "max", "ε = 3")
    assert 0 < noisy.ours.value < 1
    assert "without any noise" in noisy.reason
