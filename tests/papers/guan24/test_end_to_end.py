"""One item from the command to the page."""

import pytest

from leakgauge.papers.comparison import Agreement
from leakgauge.papers.reproduction import reproduce


@pytest.mark.slow
def test_attack_works_with_synthetic_traces(tmp_path):
    made = reproduce("guan24", only="figure_12", out=tmp_path / "out")
    found = {cell.setting: cell for cell in made.cells}
    assert found["city: zero-knowledge, AUC with 5,000 synthetic traces"].ours.low > 0.75
    likelihood = found["city: likelihood, zero, AUC without any trace"]
    assert likelihood.ours.low > 0.8
    assert made.page.read_text().count("figure-12") >= 1
    assert made.count(Agreement.DIFFERS) <= 1
