"""Shadows for a model whose training is not known: a recipe of the plan tells how to train them."""

import json

import numpy as np
import pytest

from domains.models.user_model.plans import carried_out, game_of, losses_of, write_csv, write_plan
from leakgauge import api
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.recorded_model import numbered_rows
from leakgauge.domains.models.user_model.challenger import record_answers, scale_features

DATA = 'source = "rows.csv", label = "y", member = "in"'
RECIPE = "recipe = { epochs = 150, hidden = [], batch = 50, rate = 0.05 }"
MODEL = """
from sklearn.linear_model import LogisticRegression
import duckdb
it = duckdb.read_csv({path!r}).fetchnumpy()
import numpy as np
rows = np.column_stack([it[f"x{{i}}"] for i in range(40)])
inside = it["in"] == 1
model = LogisticRegression(C=100.0, max_iter=5000).fit(rows[inside], it["y"][inside])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A model with 40 features and 150 members, half of whose labels are chance: it learns them by heart."""
    monkeypatch.setattr(api, "write_report", lambda *_: None)
    rng = np.random.default_rng(13)
    rows = rng.normal(size=(450, 40)).round(5)
    labels = np.where(rng.random(450) < 0.5, rows[:, 0] > 0, rng.random(450) < 0.5).astype(int)
    who = [1] * 150 + [0] * 150 + [None] * 150
    columns = {f"x{i}": rows[:, i] for i in range(40)}
    write_csv(tmp_path / "rows.csv", {"in": who, **columns, "y": labels})
    (tmp_path / "mine.py").write_text(MODEL.format(path=str(tmp_path / "rows.csv")))
    return tmp_path


@pytest.mark.nightly
def test_shadows_beat_loss_threshold(folder):
    attacks = '"loss_threshold", { name = "lira", shadows = 64 }'
    path = write_plan(folder, DATA, f'model = "mine:model", {RECIPE}', attacks)
    code, content = carried_out(path)
    areas = [verdict["metrics"]["auc"] for verdict in content["verdicts"]]
    assert code == 3  # neither a promise nor a limit
    assert areas[1]["low"] > 0.55
    assert areas[1]["value"] > areas[0]["value"] + 0.05
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert "challenger.recipe" in json.dumps(manifest)


@pytest.mark.nightly
def test_recipe_may_name_a_forest(folder):
    """Of a forest that fits its rows exactly, forests say far more than networks do."""
    model = MODEL.replace("linear_model import LogisticRegression", "ensemble import RandomForestClassifier")
    model = model.replace(
        "LogisticRegression(C=100.0, max_iter=5000)", "RandomForestClassifier(random_state=1)"
    )
    (folder / "mine.py").write_text(model.format(path=str(folder / "rows.csv")))
    found = {}
    for recipe in ('{ name = "random_forest" }', "{ epochs = 30, hidden = [32] }"):
        path = write_plan(
            folder, DATA, f'model = "mine:model", recipe = {recipe}', '{ name = "lira", shadows = 16 }'
        )
        scores, members = losses_of(game_of(path))
        found[recipe] = np.mean(scores[members][:, None] < scores[~members])
    forests, networks = found.values()
    assert forests > 0.95
    assert forests > networks + 0.05


def test_recipe_does_not_change_model_outputs(folder):
    plain = losses_of(game_of(write_plan(folder, DATA, 'model = "mine:model"')))[0]
    imitated = losses_of(game_of(write_plan(folder, DATA, f'model = "mine:model", {RECIPE}')))[0]
    np.testing.assert_array_equal(plain, imitated)


def test_rejects_recipe_without_features(tmp_path):
    write_csv(tmp_path / "it.csv", {"member": [1, 0], "loss": [0.5, 1.0]})
    with pytest.raises(BadInput, match="shadow models are trained on features"):
        game_of(write_plan(tmp_path, 'source = "it.csv", loss = "loss"', RECIPE))


def test_number_of_members_is_not_revealed(folder):
    """Of 300 records 150 are members by chance too; without two of them 149 are expected, not 148."""
    text = (folder / "rows.csv").read_text().splitlines()
    (folder / "rows.csv").write_text("\n".join([text[0], *text[3:]]) + "\n")
    for more, expected in (("", 148), (", randomised = true", 149)):
        game = game_of(write_plan(folder, DATA, f'model = "mine:model"{more}'))
        assert game.challenger.knowledge("black_box").n_members == expected


def test_rows_are_matched_by_content():
    rng = np.random.default_rng(12)
    rows, answers = scale_features(rng.normal(size=(50, 3))), rng.normal(size=(50, 2))
    model = record_answers(rows, answers)
    order = rng.permutation(50)
    np.testing.assert_array_equal(model.log_probabilities(rows[order]), answers[order])
    np.testing.assert_array_equal(
        record_answers(numbered_rows(50), answers).log_probabilities(numbered_rows(50)[order]),
        answers[order],
    )
    with pytest.raises(BadInput, match="was not queried about 1 of 2 rows"):
        model.log_probabilities(np.array([rows[0], rows[0] + 1]))


def test_rejects_rows_equal_after_scaling_with_different_outputs():
    """Beside 1e12, numbers that differ by one are the same in single precision."""
    rows = scale_features(np.array([[0.0], [1e12], [1e12 + 1]]))
    with pytest.raises(BadInput, match="rows 1 and 2"):
        record_answers(rows, np.array([[0.0], [-1.0], [-2.0]]))
    assert record_answers(rows, np.array([[0.0], [-2.0], [-2.0]])).log_probabilities(rows).tolist() == [
        [0],
        [-2],
        [-2],
    ]
