"""The code of docs/own-training.md runs, and finds members where the page says it does."""

import gzip
import os
import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "own-training.md"
MESSAGES = Path(os.environ.get("LEAKGAUGE_DATA", "")) / "text" / "SMSSpamCollection.tsv.gz"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run_block(containing: str, **given):
    """Run the block of the page that contains a text; return its variables."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if containing in block]
    names = dict(given)
    exec(compile(code, PAGE.name, "exec"), names)
    return names


def auc(found, attack):
    return next(one for one in found if one.attack == attack).metrics["auc"].value


def test_forest_example():
    result = run_block("forest.html")["result"]
    assert Path("forest.html").stat().st_size > 10_000
    assert auc(result, "lira") > auc(result, "loss_threshold")
    assert auc(result, "rmia") > 0.9


@pytest.mark.nightly
def test_records_at_risk_example():
    before = run_block("forest.html")
    exposed = run_block('expose(out="records"', **before)["exposure"]
    assert set(exposed.exposure.names.tolist()) == {f"patient {number}" for number in range(600)}
    assert Path("records/exposure.csv").stat().st_mode & 0o077 == 0


def test_images_example():
    assert auc(run_block("Conv2d")["found"], "lira") > 0.7


def test_checkpoints_example():
    found = run_block("yield net")["found"]
    assert auc(found, "lira") > 0.6
    assert auc(found, "trajectory_likelihood") > 0.6
    assert found[1].studied["checkpoints"] == 4


def test_texts_example():
    assert auc(run_block("CountVectorizer")["found"], "lira") > 0.6


@pytest.mark.skipif(not MESSAGES.is_file(), reason="LEAKGAUGE_DATA has no SMS Spam Collection")
def test_texts_example_on_real_messages():
    lines = gzip.decompress(MESSAGES.read_bytes()).decode().splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    chosen = np.random.default_rng(6).permutation(len(pairs))[:600]
    texts, labels = [pairs[i][1] for i in chosen], np.array([pairs[i][0] for i in chosen])
    found = run_block("CountVectorizer", texts=texts, labels=labels)["found"]
    assert auc(found, "lira") > 0.55


def test_predictions_example():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.integers(2, size=80)
    given = {
        "leakgauge": __import__("leakgauge"),
        "model": lambda rows: np.full((len(rows), 2), 0.5) + 0.1 * np.sign(rows[:, :1]) * [1, -1],
        "probabilities": rng.dirichlet([1.0, 1.0], size=(6, 80)),
        "included": rng.permuted(np.tile(np.arange(6)[:, None], 80), axis=0) < 3,
        "X_members": X[:40],
        "y_members": y[:40],
        "X_others": X[40:],
        "y_others": y[40:],
    }
    assert {one.attack for one in run_block('"included"', **given)["result"]} == {
        "loss_threshold",
        "lira",
        "rmia",
        "base_ratio",
    }
