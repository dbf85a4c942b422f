"""A model in an ONNX file, run by onnxruntime."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.domains.models.own.callables import Said

ENDING = ".onnx"
AT_ONCE = 10_000  # rows, unless the file fixes their number
_INPUTS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}
_TABLES = ("tensor(float)", "tensor(double)", "tensor(float16)")
_MAPS = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")


def ask(path: Path, rows: Reals, where: str) -> Said:
    """Its output for all rows; probabilities as scikit-learn's converters write them are understood too."""
    session = _open(path, where)
    source, goal = _input(session, rows, where), _output(session, where)
    fixed = source.shape[0] if source.shape and isinstance(source.shape[0], int) else None
    size = fixed or AT_ONCE
    values = rows.astype(_INPUTS[source.type])
    parts: list[Any] = []
    for start in range(0, len(values), size):
        part = values[start : start + size]
        filled = np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)]) if fixed else part
        try:
            (found,) = session.run([goal.name], {source.name: filled})
        except Exception as error:
            raise BadInput(f"{where}: {_told(error)}") from error
        parts.append(found[: len(part)])
    if goal.type in _MAPS:
        classes = list(parts[0][0])
        return Said([[record[name] for name in classes] for part in parts for record in part], classes)
    return Said(np.concatenate(parts))


def _open(path: Path, where: str) -> Any:
    if not _there("onnxruntime"):
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
        raise BadInput(f"{where}: cannot be opened: {_told(error)}") from error


def _input(session: Any, rows: Reals, where: str) -> Any:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise BadInput(
            f"{where}: it takes {len(inputs)} inputs ({', '.join(one.name for one in inputs[:5])}); export "
            "it with one, rows x features"
        )
    source = inputs[0]
    if source.type not in _INPUTS:
        raise BadInput(f"{where}: it takes {source.type}; rows are numbers: export it with tensor(float)")
    width = source.shape[-1] if source.shape else None
    if isinstance(width, int) and width != rows.shape[1]:
        raise BadInput(
            f"{where}: it takes {width} features, but the file has {rows.shape[1]}; name them: data.features"
        )
    return source


def _output(session: Any, where: str) -> Any:
    found = [one for one in session.get_outputs() if one.type in (*_TABLES, *_MAPS)]
    if len(found) != 1:
        names = ", ".join(f"{one.name} ({one.type})" for one in session.get_outputs()[:5])
        raise BadInput(
            f"{where}: one output must hold probabilities or logits, rows x classes; it has {names}"
        )
    return found[0]


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _told(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
