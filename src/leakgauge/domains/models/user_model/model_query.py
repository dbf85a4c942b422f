"""Query the user's model once for all records: predict_proba, a torch module, a function or an ONNX file.

What it returns, or what a file holds, is converted to log-probabilities of every class.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.arrays import Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.training.checkpoints import each_checkpoint
from leakgauge.domains.models.user_model.plan_tables import OutputKind
from leakgauge.support.tabular_objects import count_rows
from leakgauge.support.user_code import UserCodeLoader, error_with_location

MIN_LOG_PROBABILITY = float(np.log(1e-45))  # -103.6, for a probability of 0, as in the code of LiRA
IMPOSSIBLE = -103.0  # log-probability of an answer of exactly 0, at most: kept as 1e-45 or less
SUM_TOLERANCE = 1e-3  # how far the sum of a record's probabilities may be from 1: files hold rounded ones
_PROBABILITY_RULE = "a probability must be in [0, 1]"
TORCH_ROWS_AT_ONCE = 10_000  # rows
ONNX_SUFFIX = ".onnx"
ONNX_ROWS_AT_ONCE = 10_000  # rows, unless the file fixes their number
_ONNX_INPUTS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_ONNX_TENSORS = ("tensor(float)", "tensor(double)", "tensor(float16)")
_ONNX_MAPS = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")
WHERE = "challenger.model"
WEIGHTS_SUFFIX = ".safetensors"
PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".sav", ".model")


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """Records x classes of log-probabilities, and a description of what they were computed from."""

    log_probabilities: Reals
    description: str


def from_losses(losses: Reals, where: str, kind: str = "cross_entropy") -> ModelAnswers:
    """From the loss of each record; class 0 stands for the true class.

    A cross-entropy is the logarithm of a probability. Any other loss, such as that of a regression or a
    negative one, is compared as it is.
    """
    if kind == "other":
        return ModelAnswers(-losses[:, None], "losses")
    _refuse_rows(
        losses < 0, losses, where, 'a cross-entropy must be >= 0; for another loss write loss_kind = "other"'
    )
    with np.errstate(divide="ignore"):
        others = np.log(-np.expm1(-losses))
    return ModelAnswers(np.column_stack([-losses, np.maximum(others, MIN_LOG_PROBABILITY)]), "losses")


def from_true_probabilities(probabilities: Reals, where: str) -> ModelAnswers:
    """From the probability of each record's true class; class 0 stands for the true class."""
    _refuse_rows(~((probabilities >= 0) & (probabilities <= 1)), probabilities, where, _PROBABILITY_RULE)
    both = np.column_stack([probabilities, 1 - probabilities])
    return ModelAnswers(_logarithms(both), "probabilities of the true class")


def from_outputs(
    outputs: Any, n_rows: int, where: str, output: OutputKind | None = None, usual: OutputKind | None = None
) -> ModelAnswers:
    """From probabilities or logits, rows x classes; a single column is about class 1 of two.

    Without ``output``, values that look like probabilities are taken as such; others are taken as what is
    ``usual``, or refused. Logits go through a softmax (a single column through a sigmoid).
    """
    matrix = _matrix(outputs, n_rows, where)
    kind: OutputKind = output or ("probabilities" if usual is None or _like_probabilities(matrix) else usual)
    if kind == "logits":
        logits = np.column_stack([np.zeros(n_rows), matrix]) if matrix.shape[1] == 1 else matrix
        logits = logits - logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return ModelAnswers(np.maximum(logs, MIN_LOG_PROBABILITY), "logits")
    hint = "" if output else '; if these are logits, add output = "logits"'
    _refuse_rows(~((matrix >= 0) & (matrix <= 1)).all(axis=1), matrix, where, _PROBABILITY_RULE + hint)
    if matrix.shape[1] == 1:
        matrix = np.column_stack([1 - matrix, matrix])
    total = matrix.sum(axis=1)
    _refuse_rows(
        ~(np.abs(total - 1) <= SUM_TOLERANCE), total, where, f"the sum over the classes must be 1{hint}"
    )
    return ModelAnswers(_logarithms(matrix), "probabilities")


def _matrix(outputs: Any, n_rows: int, where: str) -> Reals:
    try:
        matrix = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(
            f"{where}: returned {type(outputs).__name__}, not a table of numbers; it must have one row "
            "for each record and one column for each class"
        ) from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[0] != n_rows or not matrix.shape[1]:
        raise BadInput(
            f"{where}: returned shape {np.shape(outputs)} for {n_rows} rows; it must have one row for each "
            "record and one column for each class"
        )
    _refuse_rows(~np.isfinite(matrix).all(axis=1), matrix, where, "outputs must be finite numbers")
    return matrix


def _like_probabilities(matrix: Reals) -> bool:
    inside = bool(((matrix >= 0) & (matrix <= 1)).all())
    return inside and (matrix.shape[1] == 1 or bool((np.abs(matrix.sum(axis=1) - 1) <= SUM_TOLERANCE).all()))


def _refuse_rows(wrong: Any, values: Reals, where: str, rule: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = np.array2string(values[row], precision=6, threshold=4, edgeitems=2, max_line_width=200)
        raise BadInput(f"{where}: {shown} in row {row} (counted from 0); {rule}")


def _logarithms(probabilities: Reals) -> Reals:
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), MIN_LOG_PROBABILITY)


def log_of_others(logs: Reals, labels: Ints) -> Reals:
    """The log-probability of all classes but the true one together.

    Where each of them was answered with exactly 0, so is their sum, however many classes there are: the
    model is certain.
    """
    others = logs.copy()
    np.put_along_axis(others, labels[:, None], -np.inf, axis=1)
    largest = others.max(axis=1)
    return np.where(largest <= IMPOSSIBLE, largest, np.logaddexp.reduce(others, axis=1))


def query_torch_module(module: Any, rows: Reals) -> Reals:
    """Its output for all rows, in evaluation mode (no dropout), without gradients.

    Rows are converted to the type of its first weight; the mode it was in is restored.
    """
    import torch

    first = next(module.parameters(), torch.empty(0))
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            parts = [
                module(
                    torch.as_tensor(
                        rows[start : start + TORCH_ROWS_AT_ONCE], dtype=first.dtype, device=first.device
                    )
                )
                for start in range(0, len(rows), TORCH_ROWS_AT_ONCE)
            ]
            return np.asarray(torch.cat(parts).double().cpu().numpy())
    finally:
        module.train(training)


@dataclass(frozen=True, eq=False)
class RawModelOutputs:
    """What a model returned, its classes where it names them, and what such models usually return."""

    outputs: Any
    classes: Sequence[Any] | None = None
    usual: OutputKind | None = None


def query_in_memory(model: Any, rows: Any, where: str) -> RawModelOutputs:
    """Query all rows at once; an exception of the model becomes a message of one line."""
    if isinstance(model, type):
        raise BadInput(f"{where}: this is the class {model.__name__}; name a model that was trained")
    try:
        if is_torch_module(model):
            return RawModelOutputs(query_torch_module(model, rows), usual="logits")
        if hasattr(model, "predict_proba"):
            return RawModelOutputs(model.predict_proba(rows), getattr(model, "classes_", None))
        if callable(model):
            return RawModelOutputs(model(rows))
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{where}: queried with {_described(rows)}, it raised {error_with_location(error)}"
        ) from error
    raise BadInput(
        f"{where}: this is of type {type(model).__name__}; it must have predict_proba, or be a torch "
        "module or a function of rows"
    )


def require_column_order(model: Any, columns: Sequence[str], where: str) -> None:
    """Refuse columns of a file in another order than the model was trained on, where it knows their names."""
    known = getattr(model, "feature_names_in_", None)
    if known is None or list(map(str, known)) == list(columns) or sorted(map(str, known)) != sorted(columns):
        return
    raise BadInput(
        f"{where}: it was trained on the same columns in another order, and rows go to it without names; "
        f"write features = [{', '.join(repr(str(name)) for name in known)}], or order the file like this"
    )


def _described(rows: Any) -> str:
    width = f" of {rows.shape[1]} features" if np.ndim(rows) == 2 else ""
    return f"{count_rows(rows)} rows{width}"


def is_torch_module(model: Any) -> bool:
    """Whether something is a torch module; torch is not imported for that."""
    torch = sys.modules.get("torch")  # a torch module exists only if torch was imported
    return torch is not None and isinstance(model, torch.nn.Module)


def query_onnx_file(path: Path, rows: Reals, where: str) -> RawModelOutputs:
    """Its output for all rows; also reads the maps of probabilities that scikit-learn converters write."""
    session = _open_onnx(path, where)
    source, goal = _onnx_input(session, rows, where), _onnx_output(session, where)
    fixed = source.shape[0] if source.shape and isinstance(source.shape[0], int) else None
    size = fixed or ONNX_ROWS_AT_ONCE
    values = rows.astype(_ONNX_INPUTS[source.type])
    parts: list[Any] = []
    for start in range(0, len(values), size):
        part = values[start : start + size]
        filled = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)]) if fixed else part
        try:
            (outputs,) = session.run([goal.name], {source.name: filled})
        except Exception as error:
            raise BadInput(f"{where}: {_one_line(error)}") from error
        parts.append(outputs[: len(part)])
    if goal.type in _ONNX_MAPS:
        classes = list(parts[0][0])
        return RawModelOutputs(
            [[record[name] for name in classes] for part in parts for record in part], classes
        )
    return RawModelOutputs(np.concatenate(parts))


def _open_onnx(path: Path, where: str) -> Any:
    if not _is_installed("onnxruntime"):
        raise BadInput(
            f"{where}: ONNX files are run by onnxruntime, which is not installed; run: "
            "pip install 'leakgauge[ml]'"
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # sums must not depend on threads
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            path.read_bytes(), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise BadInput(f"{where}: cannot be opened: {_one_line(error)}; export the model again") from error


def _onnx_input(session: Any, rows: Reals, where: str) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise BadInput(
            f"{where}: it takes {len(inputs)} inputs ({', '.join(node.name for node in inputs[:5])}); export "
            "it with one, rows x features"
        )
    source = inputs[0]
    if source.type not in _ONNX_INPUTS:
        raise BadInput(f"{where}: it takes {source.type}; rows are numbers: export it with tensor(float)")
    width = source.shape[-1] if source.shape else None
    if isinstance(width, int) and width != rows.shape[1]:
        raise BadInput(
            f"{where}: it takes {width} features, but the file has {rows.shape[1]}; name them: data.features"
        )
    return source


def _onnx_output(session: Any, where: str) -> Any:
    candidates = [output for output in session.get_outputs() if output.type in (*_ONNX_TENSORS, *_ONNX_MAPS)]
    if len(candidates) != 1:
        names = ", ".join(f"{output.name} ({output.type})" for output in session.get_outputs()[:5])
        raise BadInput(
            f"{where}: one output must hold probabilities or logits, rows x classes; it has {names}"
        )
    return candidates[0]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


@dataclass(frozen=True, eq=False)
class QueriedModel:
    """The answers of a model, the names of its classes, and a digest that identifies it.

    ``checkpoints`` are the answers at each checkpoint of its training, where there are some; the last ones
    are those of the model.
    """

    answers: ModelAnswers
    classes: Sequence[Any] | None
    digest: str
    checkpoints: tuple[ModelAnswers, ...] = ()


def query_model(
    named: str, output: OutputKind | None, rows: Reals, columns: Sequence[str], folder: Path
) -> QueriedModel:
    """Query "module:name" in the plan's folder, or an ONNX file there; nothing is ever unpickled.

    ``columns`` are the names of the features. A name may stand for a list of models: checkpoints.
    """
    where = f"{WHERE} = {named!r}"
    refuse_file(named, where)
    if named.endswith(ONNX_SUFFIX):
        path = folder / named
        if not path.is_file():
            raise BadInput(f"{where}: there is no such file in {folder}; check the path")
        response = query_onnx_file(path, rows, where)
        identity = sha256(path.read_bytes()).hexdigest()
        seen = [from_outputs(response.outputs, len(rows), where, output)]
        classes, several = response.classes, False
    else:
        loader = UserCodeLoader(folder)
        model = _load_model(loader, named)
        several = isinstance(model, list | tuple)
        for one in model if several else [model]:
            require_column_order(one, columns, where)
        seen, classes = query_checkpoints(model, rows, where, output)
        identity = "\n".join(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))
    digest = sha256(f"{named}\n{identity}".encode(errors="surrogatepass")).hexdigest()
    return QueriedModel(seen[-1], classes, digest, tuple(seen) if several else ())


def query_checkpoints(
    model: Any, rows: Any, where: str, output: OutputKind | None
) -> tuple[list[ModelAnswers], Sequence[Any] | None]:
    """The answers of a model, or of each model of a list; all of them must have the same classes."""
    seen: list[ModelAnswers] = []
    classes: Sequence[Any] | None = None
    for one in each_checkpoint(model, where) or [model]:
        response = query_in_memory(one, rows, where)
        said = from_outputs(response.outputs, count_rows(rows), where, output, response.usual)
        named = None if response.classes is None else list(response.classes)
        if seen and (named, said.log_probabilities.shape) != (classes, seen[0].log_probabilities.shape):
            raise BadInput(f"{where}: checkpoint {len(seen) + 1} has other classes than the one before it")
        seen.append(said)
        classes = named
    return seen, classes


def refuse_file(named: str, where: str) -> None:
    """Refuse files that hold no model, or that may run any code when they are opened."""
    if named.endswith(WEIGHTS_SUFFIX):
        raise BadInput(
            f"{where}: a safetensors file holds weights but not the network that they belong to; write a "
            "module that builds the network and loads them (safetensors.torch.load_file), and name the "
            'network: model = "module:name"'
        )
    if named.endswith(PICKLE_SUFFIXES):
        raise BadInput(
            f"{where}: files of this type are not opened, because they may run any code; write a module "
            'that loads it, and name what it loads: model = "module:name"'
        )


def _load_model(loader: UserCodeLoader, named: str) -> Any:
    """The object that a plan names; where torch is missing, the message says how to install it."""
    try:
        return loader.load(named, WHERE)
    except BadInput as error:
        if isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == "torch":
            raise BadInput(f"{error}; run: pip install 'leakgauge[ml]'") from error
        raise
