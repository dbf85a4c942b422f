"""One item from the command to the page."""

import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.guan24 import shadow_sampling
from leakgauge.papers.paper import Scale
from leakgauge.papers.reproduction import reproduce


@pytest.mark.nightly
@pytest.mark.parametrize("numbers", [(1_050, 5_000), (1_050, 2_000, 5_000, 20_000)])
def test_attack_works_with_synthetic_traces(tmp_path, monkeypatch, numbers):
    monkeypatch.setitem(shadow_sampling.TRACE_NUMBERS, Scale.QUICK, numbers)
    made = reproduce("guan24", only="figure_12", out=tmp_path / "out")
    found = {cell.setting: cell for cell in made.cells}
    assert found["city: zero-knowledge, AUC with 5,000 synthetic traces"].ours.low > 0.75
    likelihood = found["city: likelihood, zero, AUC without any trace"]
    assert likelihood.ours.low > 0.8
    assert made.page.read_text().count("figure-12") >= 1
    assert made.count(Agreement.DIFFERS) <= 1
