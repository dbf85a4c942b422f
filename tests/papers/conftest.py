from pathlib import Path

import pytest

import leakgauge.papers


@pytest.fixture(autouse=True)
def _one_paper_more(monkeypatch, tmp_path):
    """Work in a folder of one's own, where there is one paper more, found by its file alone."""
    more = str(Path(__file__).parent / "more")
    monkeypatch.setattr(leakgauge.papers, "__path__", [*leakgauge.papers.__path__, more])
    monkeypatch.chdir(tmp_path)
