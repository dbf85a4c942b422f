import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.paper import Scale


@pytest.mark.parametrize("scale", list(Scale))
def test_rules_are_flat_and_networks_improve_with_shadows(scale, pretend):
    shown = pretend("figure_22", scale=scale)
    stated = [cell for cell in shown.cells if cell.published is not None]
    assert len(stated) == 2 * (3 * 2 + 2 + 2) - 2 * 2
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}


def test_auc_of_a_score_without_shadows_is_not_judged(pretend):
    shown = {cell.setting: cell for cell in pretend("figure_22").cells}
    for rule in ("one_threshold", "reference", "two_threshold"):
        for knowledge in ("informed", "auxiliary"):
            setting = f"{rule}, 20,000 shadows minus {rule}, 400 shadows, {knowledge}, 60 cells"
            judged = shown[f"AUC: {setting}"].verdict.is_compared
            assert judged is (rule == "two_threshold")
            assert shown[f"accuracy: {setting}"].verdict is Agreement.AGREES
            if not judged:
                assert "by construction" in shown[f"AUC: {setting}"].reason
                assert shown[f"AUC: {setting}"].verdict is Agreement.NOT_PRINTED


def test_rules_that_gain_from_shadows_would_differ(pretend):
    def gaining(variant):
        return 0.05 if variant.attack_parameters.get("shadows") == 400 else 0.0

    shown = {cell.setting: cell for cell in pretend("figure_22", lost=gaining).cells}
    for quantity, rule in (("accuracy", "one_threshold"), ("AUC", "two_threshold")):
        cell = shown[f"{quantity}: {rule}, 20,000 shadows minus {rule}, 400 shadows, informed, 60 cells"]
        assert cell.verdict is Agreement.DIFFERS


def test_number_of_shadows_is_on_logarithmic_axis(pretend):
    shown = pretend("figure_22")
    assert len(shown.charts) == 4
    for chart in shown.charts:
        assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
        rows = chart.spec["data"]["values"]
        network = [row["x"] for row in rows if row["label"] == "network"]
        assert network == [400, 2_000, 20_000, 200_000]
