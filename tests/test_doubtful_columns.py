"""What a file may be taken for by mistake: probabilities, splits and second places are never assumed."""

import re

import numpy as np
import pytest

from leakgauge.cli.main import main


def write(path, columns):
    names, rows = list(columns), zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n")


def noise(n, stream):
    return np.round(np.random.default_rng(stream).random(n), 4)


N = 200
PROBABILITIES = {
    "split": ["train", "test"] * (N // 2),
    "y": [i % 2 for i in range(N)],
    **{f"p_{i}": noise(N, i) for i in range(10)},
}
TWO_TABLES = {
    **{f"f{i}": noise(N, i) * 9 for i in range(10)},
    "source": ["real", "synthetic"] * (N // 2),
    "label": [i % 3 for i in range(N)],
}
TRIPS = {
    "user": [i % 20 for i in range(N)],
    "origin": [f"zone {i % 7}" for i in range(N)],
    "destination": [f"zone {i % 5}" for i in range(N)],
}


@pytest.fixture
def new(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(columns, *more):
        write(tmp_path / "file.csv", columns)
        code = main(["new", "file.csv", "--yes", "--no-preview", *more])
        written = (tmp_path / "file-audit" / "plan.toml").exists()
        return code, capsys.readouterr().err, written

    return call


@pytest.mark.parametrize("columns", [PROBABILITIES, TWO_TABLES])
@pytest.mark.parametrize("kind", [(), ("--kind", "rows", "--label", "LABEL"), ("--kind", "features")])
def test_splits_and_probabilities_are_never_taken_for_features(new, columns, kind):
    label = "y" if "y" in columns else "label"
    words = [label if word == "LABEL" else word for word in kind]
    if words == ["--kind", "features"]:
        words += ["--label", label]
    code, error, written = new(columns, *words)
    assert (code, written, error.count("\n")) == (2, False, 1)
    assert ("--kind" in error) if not kind else ("answer with --unused" in error)
    assert "split" in error


def test_what_is_named_as_unused_is_no_feature(new, tmp_path):
    code, _, written = new(TWO_TABLES, "--kind", "rows", "--label", "label", "--unused", "source")
    assert (code, written) == (0, True)
    assert re.search(r'drop = \["source"\]', (tmp_path / "file-audit" / "plan.toml").read_text())


def test_a_table_of_trips_is_not_counted_by_one_of_its_places(new):
    code, error, written = new(TRIPS)
    assert (code, written) == (2, False)
    assert "origin, destination" in error
    assert "answer with --cell" in error
    assert new(TRIPS, "--cell", "destination")[::2] == (0, True)
