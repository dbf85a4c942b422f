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


def features(**more):
    return {f"f{i}": 9 * noise(N, i) - 4 for i in range(5)} | more | {"label": [i % 3 for i in range(N)]}


SHARES = np.random.default_rng(1).dirichlet(np.ones(3), N).round(4)
OTHERS = {  # what else a model said, or a split, under names of one's own
    "free names": {"label": [i % 3 for i in range(N)], **dict(zip(("cat", "dog", "fish"), SHARES.T))},
    "percent": {"label": [i % 3 for i in range(N)], **dict(zip(("a", "b", "c"), (100 * SHARES.T).round(1)))},
    "logits": {"label": [i % 3 for i in range(N)], **{f"logit_{i}": 9 * noise(N, i) - 4 for i in range(3)}},
    "score": {"label": [i % 2 for i in range(N)], "score": noise(N, 3), "ward": ["a", "b"] * (N // 2)},
    "other words": features(Teilmenge=["Training", "Test"] * (N // 2)),
    "generated": features(kind=["original", "generated"] * (N // 2)),
    "members": features(in_training=[i % 2 for i in range(N)]),
}


@pytest.mark.parametrize("columns", OTHERS.values(), ids=OTHERS)
def test_what_looks_like_it_by_its_values_is_never_a_feature_either(new, columns):
    for kind in ((), ("--kind", "rows", "--label", "label")):
        code, error, written = new(columns, *kind)
        assert (code, written, error.count("\n")) == (2, False, 1)
    assert "answer with --unused" in error


def test_plain_features_are_not_doubted(new):
    shares = {"sand": noise(N, 1), "silt": noise(N, 2), "yes": [i % 2 for i in range(N)]}
    assert new(features(**shares), "--kind", "rows", "--label", "label")[::2] == (0, True)


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
