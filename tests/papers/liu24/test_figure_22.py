import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.paper import Scale


@pytest.mark.parametrize("scale", list(Scale))
def test_rules_are_flat_and_networks_improve_with_shadows(scale, pretend):
    shown = pretend("figure_22", scale=scale)
    stated = [cell for cell in shown.cells if cell.published is not None]
    assert len(stated) == 2 * (3 * 2 + 2 + 1)
    assert {cell.verdict for cell in stated} == {Agreement.AGREES}


def test_number_of_shadows_is_on_logarithmic_axis(pretend):
    shown = pretend("figure_22")
    assert len(shown.charts) == 4
    for chart in shown.charts:
        assert chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"
        rows = chart.spec["data"]["values"]
        network = [row["x"] for row in rows if row["label"] == "network"]
        assert network == [400, 2_000, 20_000, 200_000]
