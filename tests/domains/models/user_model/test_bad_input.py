"""Mistakes in a plan about a finished model are reported in one line, with exit code 2."""

import sys

import pytest

from domains.models.user_model.plans import OPTIMAL, write_csv, write_plan
from leakgauge.cli.main import main

LOSSES = 'source = "it.csv", loss = "loss"'
ROWS = 'source = "it.csv", label = "y"'


def refusal(path, capsys):
    """The message about a plan that cannot be run."""
    code = main(["run", str(path), "--out", str(path.parent / "out")])
    printed = capsys.readouterr()
    assert code == 2
    assert not (path.parent / "out").exists()
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.fixture
def folder(tmp_path):
    write_csv(
        tmp_path / "it.csv",
        {
            "member": [1, 0, 1, 0],
            "loss": [0.5, 1.5, 0.25, 2.0],
            "p": [0.5, 0.25, 0.75, 1.0],
            "q": [0.5, 0.75, 0.25, 0.0],
            "y": [0, 1, 1, 0],
            "town": ["a", "b", "c", "d"],
        },
    )
    return tmp_path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('source = "no.csv", loss = "loss"', "there is no file 'no.csv'"),
        (
            'source = "it.csv", loss = "los"',
            "data: it.csv has no column 'los'; it has ",
        ),
        (
            'source = "it.csv", loss = "loss", member = "in"',
            "data: it.csv has no column 'in'; it has ",
        ),
        (
            'source = "it.csv", loss = "town"',
            "data.loss: 'town' of it.csv does not hold numbers in every row",
        ),
        (
            'source = "it.csv", loss = "loss", member = "town"',
            "data.member: 'town' has another value in row 0",
        ),
        (
            'source = "it.csv", loss = "loss", member = "loss"',
            "data.member: 'loss' has another value in row 0",
        ),
        ('source = "it.csv"', "name the column of the model's answers"),
        ('source = "it.csv", loss = "loss", probability = "p"', "got loss and probability"),
        ('source = "it.csv", loss = "loss", label = "y"', "data.label: it is for probabilities"),
        ('source = "it.csv", probabilities = ["p", "q"]', "data.label: it is for probabilities"),
        ('source = "it.csv", probabilities = ["p"], label = "y"', 'write probability = "p"'),
        (
            'source = "it.csv", probabilities = ["p", "member"], label = "y"',
            "'member' is the column of membership",
        ),
        ('source = "it.csv", probabilities = ["p", "loss"], label = "y"', "a probability must be in [0, 1]"),
        ('source = "it.csv", probabilities = ["p", "p"], label = "y"', "the sum over the classes must be 1"),
        (
            'source = "it.csv", probabilities = ["p", "q"], label = "town"',
            "4 different labels, but 2 columns",
        ),
        (
            'source = "it.csv", probability = "loss"',
            "1.5 in row 1 (counted from 0); a probability must be in",
        ),
        ('source = "it.csv", loss = "loss", features = ["p"]', "features are not used"),
        ('source = "it.csv", loss = "loss", drop = ["p"]', "no key is called 'drop'"),
    ],
)
def test_unreadable_table_is_explained(folder, capsys, data, message):
    assert message in refusal(write_plan(folder, data), capsys)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([0.5, None, 1, 2], "'loss' has no finite number in 1 of 4 rows, the first of them row 1"),
        ([0.5, float("nan"), float("inf"), 2], "'loss' has no finite number in 2 of 4 rows"),
    ],
)
def test_invalid_losses_are_named(tmp_path, capsys, column, message):
    write_csv(tmp_path / "it.csv", {"member": [1, 0, 1, 0], "loss": column})
    assert message in refusal(write_plan(tmp_path, LOSSES), capsys)


@pytest.mark.parametrize("members", [[1, 1, 1], [0, 0, 0], [1, None, 1]])
def test_members_and_non_members_are_needed(tmp_path, capsys, members):
    write_csv(tmp_path / "it.csv", {"member": members, "loss": [0.5, 1.0, 2.0]})
    assert "an audit needs both" in refusal(write_plan(tmp_path, LOSSES), capsys)


def test_rejects_empty_file(tmp_path, capsys):
    (tmp_path / "it.csv").write_text("member,loss\n")
    assert "it.csv has no rows" in refusal(write_plan(tmp_path, LOSSES), capsys)


@pytest.mark.parametrize(
    ("challenger", "message"),
    [
        ("epsilon = 1.0", "add randomised = true if so"),
        ("randomised = true, delta = 1e-5", "needs an epsilon"),
        ("randomised = true, epsilon = -1.0", "challenger: epsilon must be >= 0"),
        ('model = "mine:five", recipe = { epochs = 0 }', "challenger.recipe: epochs must be >= 1"),
        ('model = "mine:five", recipe = { hidden = [0] }', "challenger.recipe: hidden: a layer needs one"),
        ('output = "logits"', "name the model, or leave it out"),
        ("members = 5", "no key is called 'members'"),
    ],
)
def test_invalid_challenger_is_explained(folder, capsys, challenger, message):
    assert message in refusal(write_plan(folder, LOSSES, challenger), capsys)


def test_rejects_several_rounds(folder, capsys):
    assert "got 2000; write rounds = 1" in refusal(write_plan(folder, LOSSES, rounds=2000), capsys)


def test_rejects_mechanism_for_finished_model(folder, capsys):
    path = write_plan(folder, LOSSES)
    path.write_text(path.read_text() + 'mechanism = { name = "dp_sgd", epsilon = 1.0 }\n')
    assert "mechanism: the model is already trained" in refusal(path, capsys)


@pytest.mark.parametrize("attack", ["lira", "rmia", "shadow", "calibrated_loss"])
def test_rejects_attacks_that_need_training(folder, capsys, attack):
    assert "it is not stated how this one was trained" in refusal(
        write_plan(folder, LOSSES, attacks=f'"{attack}"'), capsys
    )


@pytest.mark.parametrize(("attack", "knowledge"), [("strong", "strong"), ("loss_threshold", "components")])
def test_rejects_knowledge_of_training(folder, capsys, attack, knowledge):
    attacks = f'{{ name = "{attack}", knowledge = "{knowledge}" }}'
    assert "use black_box, training_loss or blind" in refusal(
        write_plan(folder, LOSSES, attacks=attacks), capsys
    )


MODELS = """
import numpy as np
number = 3
class Kind:
    def predict_proba(self, rows): return rows
def short(rows): return np.full((len(rows) - 1, 2), 0.5)
def cube(rows): return np.zeros((len(rows), 2, 2))
def lost(rows): return np.full((len(rows), 2), np.nan)
def message(rows): return ["a"] * len(rows)
def wild(rows): return np.tile([2.0, -1.0], (len(rows), 1))
def breaks(rows): raise ValueError("two\\nlines")
def three(rows): return np.full((len(rows), 3), 1 / 3)
def five(rows): return np.full(len(rows), 0.5)
class Named:
    classes_ = ["yes", "no"]
    def predict_proba(self, rows): return np.full((len(rows), 2), 0.5)
named = Named()
"""
NUMBERS = ROWS + ', features = ["p", "q"]'


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("mine:number", "this is of type int; it must have predict_proba"),
        ("mine:Kind", "this is the class Kind; name a model that was trained"),
        ("mine:short", "returned shape (3, 2) for 4 rows"),
        ("mine:cube", "returned shape (4, 2, 2) for 4 rows"),
        ("mine:lost", "outputs must be finite numbers"),
        ("mine:message", "returned list, not a table of numbers"),
        ("mine:wild", 'a probability must be in [0, 1]; if these are logits, add output = "logits"'),
        ("mine:breaks", "raised ValueError: two lines ("),
        ("mine:breaks", "mine.py, line 11)"),
        ("mine:named", "is not a class of the model; known: yes, no"),
        ("mine:nothing", "has no 'nothing'"),
        ("other:model", "there is no other.py in"),
        ("mine", 'must be written "module:name"'),
        ("no.onnx", "there is no such file"),
        ("broken.onnx", "cannot be opened"),
        ("model.pkl", "they may run any code"),
        ("model.pt", "they may run any code"),
    ],
)
def test_unusable_model_is_explained(folder, capsys, model, message):
    (folder / "mine.py").write_text(MODELS)
    (folder / "broken.onnx").write_bytes(b"not a model")
    assert message in refusal(write_plan(folder, NUMBERS, f'model = "{model}"'), capsys)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ROWS, "data.features: 'town' of it.csv holds VARCHAR, and rows go to the model as they are"),
        (ROWS + ', features = ["pp"]', "data: it.csv has no column 'pp'; it has "),
        (ROWS + ', features = ["p", "y"]', "'y' is the label"),
        (ROWS + ', features = ["member"]', "'member' is the column of membership"),
        (ROWS + ", features = []", "features is empty"),
        ('source = "it.csv", features = ["p"]', "data.label is missing"),
        (NUMBERS + ', loss = "loss"', "challenger.model gives the answers"),
        ('source = "it.csv", label = "z", features = ["p"]', "data: it.csv has no column 'z'; it has "),
        ('source = "it.csv", label = "town", features = ["p"]', "4 different labels, but 2 columns"),
    ],
)
def test_unusable_rows_are_explained(folder, capsys, data, message):
    (folder / "mine.py").write_text(MODELS)
    assert message in refusal(write_plan(folder, data, 'model = "mine:five"'), capsys)


def test_missing_onnxruntime_is_reported(folder, capsys, monkeypatch):
    (folder / "model.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    printed = refusal(write_plan(folder, NUMBERS, 'model = "model.onnx"'), capsys)
    assert "pip install 'leakgauge[ml]'" in printed


def test_missing_torch_is_reported(folder, capsys, monkeypatch):
    (folder / "mine.py").write_text("import torch\nmodel = torch.nn.Linear(4, 2)\n")
    monkeypatch.setitem(sys.modules, "torch", None)
    printed = refusal(write_plan(folder, NUMBERS, 'model = "mine:model"'), capsys)
    assert printed.endswith("run: pip install 'leakgauge[ml]'")


def test_rejects_model_of_one_class(folder, capsys):
    (folder / "mine.py").write_text(
        "import numpy as np\nclass One:\n    classes_ = [0]\n"
        "    def predict_proba(self, rows):\n        return np.ones((len(rows), 1))\nmodel = One()\n"
    )
    printed = refusal(write_plan(folder, NUMBERS, 'model = "mine:model"'), capsys)
    assert "challenger.model: it has only the class 0; a classifier has at least two" in printed


def test_valid_plan_runs(folder, capsys, monkeypatch):
    """So that none of the above is refused for another reason."""
    from leakgauge import api

    monkeypatch.setattr(api, "write_report", lambda *_: None)
    (folder / "mine.py").write_text(MODELS)
    for data, challenger in ((LOSSES, ""), (NUMBERS, 'model = "mine:five"')):
        path = write_plan(folder, data, challenger, OPTIMAL)
        assert (
            main(["run", str(path), "--out", str(folder / f"out{len(challenger)}")]) == 3
        )  # nothing was asked
