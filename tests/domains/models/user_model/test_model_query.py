"""Models that are queried: scikit-learn, torch, a function, an ONNX file."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from domains.models.user_model.plans import game_of, losses_of, numbers, write_csv, write_plan

DATA = 'source = "rows.csv", label = "y", member = "in"'


@pytest.fixture
def folder(tmp_path):
    rows, labels, members = numbers(300, seed=4)
    columns = {f"x{i}": rows[:, i] for i in range(4)}
    write_csv(tmp_path / "rows.csv", {"in": members.astype(int), **columns, "y": labels})
    return tmp_path


def data():
    rows, labels, _ = numbers(300, seed=4)
    return rows, labels


UNTRAINED = ", accuracy_check = false"


def found(folder, model, more=""):
    return losses_of(game_of(write_plan(folder, DATA, f'model = "{model}"{more}')))[0]


def test_predict_proba_gets_rows_of_file(folder):
    rows, labels = data()
    (folder / "mine.py").write_text(
        "import numpy as np\nfrom sklearn.linear_model import LogisticRegression\n"
        "it = np.loadtxt('{}', delimiter=',', skiprows=1)\n"
        "model = LogisticRegression().fit(it[:, 1:5], it[:, 5])\n".format(folder / "rows.csv")
    )
    model = LogisticRegression().fit(rows, labels)
    expected = [log_loss([y], [p], labels=[0, 1]) for y, p in zip(labels, model.predict_proba(rows))]
    np.testing.assert_allclose(found(folder, "mine:model"), expected, rtol=1e-9)


def test_model_classes_are_matched_by_name(folder):
    """Its columns are in the order of its own classes, which is not that of the numbers in the file."""
    (folder / "mine.py").write_text(
        "import numpy as np\n"
        "class Model:\n"
        "    classes_ = np.array([1, 0])\n"
        "    def predict_proba(self, rows):\n"
        "        return np.tile([0.25, 0.75], (len(rows), 1))\n"
        "model = Model()\n"
    )
    _, labels = data()
    np.testing.assert_allclose(found(folder, "mine:model"), -np.log(np.where(labels == 1, 0.25, 0.75)))


def test_columns_are_chosen_by_name_and_in_that_order(folder):
    (folder / "mine.py").write_text(
        "import numpy as np\n"
        "def model(rows):\n"
        "    assert rows.shape[1] == 2 and rows.dtype == np.float64\n"
        "    return 1 / (1 + np.exp(-rows[:, 0] - 2 * rows[:, 1]))\n"
    )
    rows, labels = data()
    chosen = DATA + ', features = ["x2", "x0"]'
    game = game_of(write_plan(folder, chosen, 'model = "mine:model"'))
    signs = np.where(labels == 1, 1, -1)
    expected = np.logaddexp(0, -signs * (rows[:, 2] + 2 * rows[:, 0]))
    np.testing.assert_allclose(losses_of(game)[0], expected, rtol=1e-9)


TORCH = """
import torch
torch.manual_seed(3)
from torch.nn import Dropout, Linear, ReLU
model = torch.nn.Sequential(Linear(4, 8), ReLU(), Dropout(0.5), Linear(8, 3))
softened = torch.nn.Sequential(model, torch.nn.Softmax(dim=1))
single = torch.nn.Linear(4, 1)
"""


def torch_losses(name):
    import torch

    namespace = {}
    exec(TORCH, namespace)
    rows, labels = data()
    outputs = namespace[name].eval()(torch.tensor(rows, dtype=torch.float32)).detach()
    if name == "single":
        aims = torch.tensor(labels, dtype=torch.float32)
        return torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], aims, reduction="none")
    return torch.nn.functional.cross_entropy(outputs, torch.tensor(labels), reduction="none")


def test_torch_module_is_run_in_eval_mode(folder):
    (folder / "mine.py").write_text(TORCH)
    np.testing.assert_allclose(
        found(folder, "mine:model", UNTRAINED), torch_losses("model"), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        found(folder, "mine:single", UNTRAINED), torch_losses("single"), rtol=1e-4, atol=1e-6
    )


def test_module_with_softmax_is_detected(folder):
    (folder / "mine.py").write_text(TORCH)
    np.testing.assert_allclose(
        found(folder, "mine:softened", UNTRAINED), torch_losses("model"), rtol=1e-4, atol=1e-6
    )


def test_training_mode_is_restored(folder):
    import torch

    from leakgauge.domains.models.user_model import model_query

    module = torch.nn.Dropout(0.5).train()
    assert (model_query.query_torch_module(module, np.ones((3, 2))) == 1).all()
    assert module.training


def onnx_model(path, *, ending=None, fixed=None):
    """x W + b, then perhaps a softmax, and perhaps the list of dictionaries of scikit-learn's converters."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = np.random.default_rng(5).normal(size=(4, 2)).astype(np.float32)
    bias = np.array([0.5, -0.25], dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Add", ["m", "b"], ["z"])]
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, [fixed or "n", 2])
    if ending:
        nodes.append(helper.make_node("Softmax", ["z"], ["p"], axis=1))
        out = helper.make_tensor_value_info("p", TensorProto.FLOAT, [fixed or "n", 2])
    if ending == "maps":
        nodes.append(helper.make_node("ZipMap", ["p"], ["d"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]))
        kind = helper.make_map_type_proto(
            TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        )
        out = helper.make_value_info("d", helper.make_sequence_type_proto(kind))
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [fixed or "n", 4])],
        [out],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    rows, labels = data()
    logits = rows @ weights + bias
    return np.logaddexp(0, np.where(labels == 1, -1, 1) * (logits[:, 1] - logits[:, 0]))


@pytest.mark.parametrize(
    ("ending", "fixed", "more"),
    [
        (None, None, ', output = "logits"'),
        ("softmax", None, ""),
        ("maps", None, ""),
        ("softmax", 7, ""),  # a number of rows that 300 is no multiple of
    ],
)
def test_onnx_losses_match_formula(folder, ending, fixed, more):
    expected = onnx_model(folder / "model.onnx", ending=ending, fixed=fixed)
    np.testing.assert_allclose(found(folder, "model.onnx", more), expected, rtol=1e-4, atol=1e-6)


def test_onnx_logits_are_not_taken_for_probabilities(folder):
    from leakgauge.core.errors import BadInput

    onnx_model(folder / "model.onnx")
    with pytest.raises(BadInput, match='output = "logits"'):
        found(folder, "model.onnx")


def test_utility_of_members_and_others_is_reported(folder):
    (folder / "mine.py").write_text("def model(rows):\n    return (rows[:, 0] > 0) * 0.8 + 0.1\n")
    game = game_of(write_plan(folder, DATA, 'model = "mine:model"'))
    rows, labels, members = numbers(300, seed=4)
    right = (rows[:, 0] > 0) == labels
    useful = game.challenger.utility_of(game.challenger.release(None, None))
    assert useful["members"][0] == pytest.approx(right[members].mean())
    assert useful["others"][0] == pytest.approx(right[~members].mean())


def test_digest_covers_model_outputs(folder):
    """Weights may lie in a file that only the module knows of."""
    (folder / "mine.py").write_text(
        f"import numpy as np\nw = np.load({str(folder / 'w.npy')!r})\n"
        "def model(rows):\n    return 1 / (1 + np.exp(-rows @ w))\n"
    )
    path, digests = write_plan(folder, DATA, 'model = "mine:model"'), []
    for weights in ([1.0, 0, 0, 0], [1.0, 0, 0, 0], [1.1, 0, 0, 0]):
        np.save(folder / "w.npy", weights)
        digests.append(game_of(path).digest)
    assert digests[0] == digests[1] != digests[2]
