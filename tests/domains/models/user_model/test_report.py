"""The report on a finished model says that it is a single release."""

import numpy as np

from domains.models.user_model.plans import write_csv, write_plan
from leakgauge.cli.main import main


def test_report_describes_single_release(tmp_path, capsys):
    rng = np.random.default_rng(21)
    members = np.arange(300) < 150
    write_csv(tmp_path / "it.csv", {"member": members.astype(int), "loss": rng.exponential(2 - members)})
    path = write_plan(tmp_path, 'source = "it.csv", loss = "loss"', attacks='"loss_threshold"')
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 3  # nothing was asked
    printed = capsys.readouterr().out
    assert (
        "No bound on ε: membership was given, not assigned at random; several records of one "
        "release" in printed
    )
    text = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "<strong>One release.</strong> For 1 attacker there was a single release" in text
    assert "Rounds are independent" not in text
    assert "mean of targets" not in text
    assert "Who is exposed" not in text
    assert "The first chart sets" not in text
