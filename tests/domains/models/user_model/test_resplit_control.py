"""The control without dependence: the records of a finished model, split anew within their groups."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import leakgauge
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import categorical
from leakgauge.domains.models.training.noise_calibration import PLAIN_TRAINING
from leakgauge.domains.models.training.trainer import Examples
from leakgauge.domains.models.training.trainers.random_forest import Trainer
from leakgauge.domains.models.user_model.resplit_control import resplit_challenger, sources_of

ATTACK = {"name": "loss_threshold", "threshold": "optimal", "knowledge": "black_box"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def two_hospitals(seed=1, n=600):
    """Members are of one hospital, whose outcomes depend on the first feature in the opposite way."""
    rng = np.random.default_rng(seed)
    members = np.arange(n) % 2 == 0
    rows = rng.normal(size=(n, 3)) + np.outer(members, [0, 3.0, 0])
    labels = (np.where(members, 1, -1) * rows[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return rows, labels, members


def auc(model, train, control):
    rows, labels, members = two_hospitals()
    return leakgauge.audit_model(
        model.fit(rows[members][:, :1], labels[members]),
        rows[members][:, :1],
        labels[members],
        rows[~members][:, :1],
        labels[~members],
        train=train,
        attacks=[ATTACK],
        control=control,
    )[0].metrics["auc"]


def test_what_only_distinguishes_the_groups_vanishes_in_the_control():
    """A logistic regression of one feature memorises nothing; it recognises the hospital of its members."""
    model = LogisticRegression
    assert auc(model(), model(), control=False).low > 0.9
    assert auc(model(), model(), control=True).value == pytest.approx(0.5, abs=0.1)  # 4 standard errors


def test_what_a_model_memorises_stays_in_the_control():
    rows, labels, members = two_hospitals()
    forest = RandomForestClassifier(30, random_state=1).fit(rows[members], labels[members])
    found = leakgauge.audit_model(
        forest,
        rows[members],
        labels[members],
        rows[~members],
        labels[~members],
        train=RandomForestClassifier(30),
        attacks=[ATTACK],
        control=True,
    )
    assert found[0].metrics["auc"].value > 0.6
    assert "one simulated release, and others may differ" in found[0].metrics["auc"].reason
    assert "pooled and split anew at random" in found.notes[0]
    assert found[0].instrument["control"]["status"] == "not possible"


def test_members_are_drawn_within_their_groups():
    rng = np.random.default_rng(3)
    groups = [categorical("abc"[i % 3] for i in range(91)), categorical(str(i // 50) for i in range(91))]
    asked = np.arange(1, 91)
    sources, n_sources = sources_of(groups, asked)
    assert n_sources == 6
    table = Examples(rng.normal(size=(91, 2)).astype(np.float32), rng.integers(2, size=91), 2)
    control = resplit_challenger(
        table,
        asked,
        30,
        Trainer(trees=2).prepare(PLAIN_TRAINING, 30),
        groups,
        features=None,
        rows_are_numbered=False,
        digest="",
        notes=(),
    )
    drawn = control.flip(400, rng)
    assert (drawn.sum(axis=1) == 30).all()
    for source in range(6):
        share = drawn[:, sources == source].mean(axis=1)
        assert abs(share - 1 / 3).max() < 1.5 / (sources == source).sum() + 0.05
    assert drawn.mean(axis=0) == pytest.approx(np.full(90, 1 / 3), abs=0.12)  # 5 standard errors
    (training,) = control.release(drawn[:1], rng)
    np.testing.assert_array_equal(training.rows.trained_on, asked[drawn[0]])


def test_note_says_where_members_are_recognised_without_the_model():
    rows, labels, members = two_hospitals()
    model = LogisticRegression().fit(rows[members], labels[members])

    def notes(shown):
        parts = rows[shown], labels[shown], rows[~shown], labels[~shown]
        return " ".join(leakgauge.audit_model(model, *parts, accuracy_check=False).notes)

    assert "never sees the model is right about 9" in notes(members)
    assert "never sees the model" not in notes(np.random.default_rng(1).permutation(members))


PLAN = """
[[audit]]
name = "control"
domain = "models"
rounds = 3
data = {{ source = "rows.csv", label = "y", group = "site", name = "id" }}
challenger = {{ game = "given", model = "ours:model", {challenger} }}
attacks = [{{ name = "loss_threshold" }}]
"""
CODE = """
from pathlib import Path
import numpy as np
from sklearn.linear_model import LogisticRegression
table = np.loadtxt(Path(__file__).with_name("rows.csv"), delimiter=",", skiprows=1, usecols=(0, 1, 2, 3, 4))
own = table[:, 4] == 1
model = LogisticRegression().fit(table[own, :3], table[own, 3])
fit = LogisticRegression()
"""


def write_audit(folder: Path, challenger: str) -> Path:
    rows, labels, members = two_hospitals(n=200)
    lines = ["a,b,c,y,member,site,id"]
    for i, row in enumerate(rows.tolist()):
        cells = (*row, labels[i], int(members[i]), "north" if members[i] else "south", f"p{i}")
        lines.append(",".join(map(str, cells)))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    (folder / "ours.py").write_text(CODE)
    (folder / "plan.toml").write_text(PLAN.format(challenger=challenger))
    return folder / "plan.toml"


def test_plan_splits_within_the_groups_of_its_data(tmp_path):
    (found,) = leakgauge.run(
        write_audit(tmp_path, 'train = "ours:fit", control = true'), out=tmp_path / "run"
    )
    assert found.rounds == 3
    assert "within each of 2 groups" in (tmp_path / "run" / "report.html").read_text()
    assert abs(found.metrics["auc"].value - 0.5) < 0.1


@pytest.mark.parametrize(
    ("challenger", "message"),
    [
        ("control = true", "say how: train"),
        ('train = "ours:fit", control = true, randomised = true', "membership was randomised"),
        ('train = "ours:fit", targets = 3', "use names"),
    ],
)
def test_controls_that_cannot_be_are_refused(tmp_path, challenger, message):
    with pytest.raises(BadInput, match=message):
        leakgauge.run(write_audit(tmp_path, challenger), out=tmp_path / "run")
