"""Records at risk from Python: names and groups of records in memory, and files of their owner alone."""

import csv
import json
import stat

import numpy as np
import pandas as pd
import polars
import pytest

import leakgauge
from leakgauge.core.errors import BadInput

N, SHADOWS = 120, 16
LOUD = ("p3", "p65")  # a member and another


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fit(X, y, rng):
    """Learns the rows 3 and 65 by heart, and nothing about any other."""
    X = np.asarray(X, dtype=float)
    known = set(X[:, 0].astype(int)) & {3, 65}
    noise = dict(enumerate(rng.normal(size=N)))

    def model(rows):
        rows = np.asarray(rows, dtype=float)
        odds = [noise[int(row[0])] + 8.0 * (int(row[0]) in known) for row in rows]
        return 1 / (1 + np.exp(-np.array(odds)))

    return model


NUMBERS = np.arange(N)
NAMES, WARDS = [f"p{i}" for i in NUMBERS], np.where(NUMBERS % 4 == 3, "east", "west")
LABELS = np.ones(N, dtype=int)
HALVES = slice(0, 60), slice(60, N)


def audit(X, y=None, **options):
    labels = LABELS if y is None else y
    given = [part for half in HALVES for part in (X[half], labels[half] if y is None else y)]
    model = fit(NUMBERS[:60, None], None, np.random.default_rng(4))
    attacks = options.pop("attacks", ["loss_threshold"])
    return leakgauge.audit_model(model, *given, train=fit, attacks=attacks, accuracy_check=False, **options)


def split(values):
    return tuple(values[half] for half in HALVES)


def accuracies(exposed):
    (against,) = exposed.exposure.against
    return dict(zip(exposed.exposure.names.tolist(), against.accuracy.tolist()))


COLUMNS = {"number": NUMBERS, "ward": NUMBERS % 4 == 3, "id": NAMES, "y": LABELS}
FRAME = pd.DataFrame(COLUMNS)


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (NUMBERS[:, None], {"names": split(NAMES), "groups": {"ward": split(WARDS)}}),
        (FRAME, {"y": "y", "names": "id", "groups": ["ward"]}),
        (polars.DataFrame(COLUMNS), {"y": "y", "names": "id", "groups": "ward"}),
    ],
    ids=["array", "pandas", "polars"],
)
def test_exposed_records_are_named_by_their_owner(X, options, tmp_path):
    exposed = audit(X, **options).expose(out=tmp_path / "out", shadows=SHADOWS)
    found = accuracies(exposed)
    assert set(found) == set(NAMES)
    assert sorted(found, key=found.get)[-2:] in (list(LOUD), list(LOUD[::-1]))
    assert min(found[name] for name in LOUD) > 0.8 > sorted(found.values())[-3]
    file = tmp_path / "out" / "exposure.csv"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with file.open() as rows:
        assert {row["record"] for row in csv.DictReader(rows)} == set(NAMES)
    published = (tmp_path / "out" / "exposure.json").read_text() + (
        tmp_path / "out" / "exposure.html"
    ).read_text()
    assert "p65" not in published
    groups = {
        one["value"]: one["people"]
        for one in json.loads((tmp_path / "out" / "exposure.json").read_text())["audits"][0]["groups"]
        if one["group"] == "ward"
    }
    assert sorted(groups.values()) == [30, 90]


def test_records_without_names_are_called_by_their_part_and_number():
    found = accuracies(audit(NUMBERS[:, None]).expose(shadows=SHADOWS))
    assert min(found["members 3"], found["others 5"]) > 0.8
    assert found["members 4"] < 0.8


def test_some_records_by_name():
    exposed = audit(NUMBERS[:, None], names=split(NAMES)).expose(targets=["p65", "p4"], shadows=SHADOWS)
    found = accuracies(exposed)
    assert list(found) == ["p65", "p4"]
    assert found["p65"] > 0.8 > found["p4"]
    assert exposed.to_frame().shape[0] == 2
    for text in (repr(exposed), repr(exposed.exposure)):
        assert "2 records against black_box" in text
        assert "p65" not in text
        assert "\n" not in text


def test_columns_of_files(tmp_path):
    for half, name in zip(HALVES, ("members.csv", "others.csv")):
        FRAME.assign(ward=WARDS)[half].to_csv(tmp_path / name, index=False)
    files = [str(tmp_path / "members.csv"), "y", str(tmp_path / "others.csv"), "y"]
    model = fit(NUMBERS[:60, None], None, np.random.default_rng(4))
    result = leakgauge.audit_model(
        model, *files, train=fit, names="id", groups="ward", attacks=["loss_threshold"], accuracy_check=False
    )
    found = accuracies(result.expose(shadows=SHADOWS))
    assert min(found[name] for name in LOUD) > 0.8
    with pytest.raises(BadInput, match=r"names: members.csv has no column 'who'; it has number"):
        leakgauge.audit_model(model, *files, names="who")


def test_control_splits_within_groups():
    result = audit(NUMBERS[:, None], groups={"ward": split(WARDS)}, control=True)
    assert any("within each of 2 groups" in note for note in result.notes)
    with pytest.raises(BadInput, match="only the result of audit_model"):
        result.expose()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": NAMES}, "names: must be a tuple with the values of 60 members, 60 others"),
        ({"names": split(["same"] * N)}, "names is empty in 0 rows, and has 1 different values in 120 rows"),
        ({"names": "id"}, "names: 'id' is no column of X_members; give a tuple of the values"),
        ({"groups": ["ward"]}, "groups: 'ward' is no column of X_members"),
        ({"groups": {"ward": WARDS}}, "groups: 'ward': must be a tuple with the values of 60 members"),
    ],
)
def test_wrong_names_and_groups_are_refused(options, message):
    with pytest.raises(BadInput, match=message) as refusal:
        audit(NUMBERS[:, None], **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["p999"]}, "targets: no record is called 'p999'; records are called as names says"),
        ({"shadows": 4}, "shadows = 4: each record needs models with and without it"),
        ({"workers": 0}, "workers"),
        ({"out": 3}, "out"),
    ],
)
def test_wrong_arguments_of_expose_are_refused(options, message):
    result = audit(NUMBERS[:, None], names=split(NAMES))
    with pytest.raises(BadInput, match=message) as refusal:
        result.expose(**options)
    assert "challenger." not in str(refusal.value)


def test_model_without_training_code_has_no_exposure():
    model = fit(NUMBERS[:60, None], None, np.random.default_rng(4))
    result = leakgauge.audit_model(
        model, NUMBERS[:60, None], LABELS[:60], NUMBERS[60:, None], LABELS[60:], accuracy_check=False
    )
    with pytest.raises(BadInput, match="say how it was trained: train; or bring predictions") as refusal:
        result.expose()
    assert "challenger." not in str(refusal.value)


@pytest.mark.parametrize("more", [{}, {"accuracy": 0.999}])
def test_limit_on_people_recognised_is_undecided_until_they_are_counted(more):
    attacks = [{"name": "lira", "shadows": 8}]
    result = audit(
        NUMBERS[:, None], attacks=attacks, limits={"recognised": 0.01, "recognised_at": 0.8, **more}
    )
    for summary in (result.summary, result.check({"recognised": 0.5, **more})):
        assert (summary.exit_code, summary.risk.status) == (3, "undecided")
        assert "result.expose()" in summary.reasons[0]
    result.expose(targets=[f"members {i}" for i in range(50)], shadows=SHADOWS)
    assert result.summary.exit_code == 3  # some people are not everybody
    result.expose(shadows=64)
    assert (result.summary.exit_code, result.summary.risk.status) == (1, "over")
    assert result.summary.risk.value == pytest.approx(len(LOUD) / N)
    within = result.check({"recognised": 0.05, "recognised_at": 0.8, **more})
    assert (within.exit_code, within.recognised.status) == (0, "within")
    assert result.check({"accuracy": 0.95}).recognised is None


def test_control_of_a_model_cannot_count_people():
    summary = audit(NUMBERS[:, None], control=True, limits={"recognised": 0.01}).summary
    assert summary.exit_code == 3
    assert "limit accuracy instead" in summary.reasons[0]
