"""Draft a plan for federated clients: from a table of features, or from the folder of a Flower app."""

import ast
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from numpy.lib import format as npy_format

from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import ARRAYS, ColumnDescription, FileDescription, name_parts
from leakgauge.support.label_words import CLASS_WORDS, LABEL_WORDS
from leakgauge.support.plan_draft import (
    TEXT_COMMENTS,
    ColumnRole,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    Recognised,
    column_question,
    doubtful_columns,
    limit_question,
    limits_text,
    optional,
    plan_start,
    read_number,
    read_whole,
    table_lines,
    unused_question,
)
from leakgauge.support.table_reader import require_known

_ROWS_ARRAY, _LABEL_ARRAY, _TRAIN_ARRAY = "embedding", "label", "is_train"  # unless a plan names others
_MANY_FEATURES = 32  # a table of embeddings has at least so many columns of numbers
_FEWEST_FEATURES = 8
_HEADS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
_PERTURBATIONS = {
    "laplace": "Laplace noise on clipped features",
    "bitrand": "bits of each feature are flipped (BitRand)",
    "ome": "bits of each feature are flipped (OME)",
    "none": "no noise",
}


@dataclass(frozen=True)
class _Array:
    """An array of a .npz file, of which only the head is read."""

    name: str
    shape: tuple[int, ...]
    is_number: bool

    @property
    def holds_rows(self) -> bool:
        return self.is_number and 2 <= len(self.shape) <= 4

    @property
    def holds_classes(self) -> bool:
        return len(self.shape) == 1 and self.name != _TRAIN_ARRAY


def _arrays(file: FileDescription) -> list[_Array]:
    """The arrays of a .npz file."""
    found = []
    try:
        with ZipFile(file.path) as content:
            for name in content.namelist():
                with content.open(name) as array:
                    read = _HEADS[npy_format.read_magic(array)]
                    shape, _, kind = read(array)
                    found.append(_Array(name.removesuffix(".npy"), shape, kind.kind in "fiub"))
    except (OSError, ValueError, KeyError, BadZipFile):
        raise BadInput(f"{file.path}: cannot be read; it must be a whole .npz file of plain arrays") from None
    return found


def _rows_array(arrays: Sequence[_Array]) -> str | None:
    """The array of rows, if there is no doubt."""
    able = [array.name for array in arrays if array.holds_rows]
    return _ROWS_ARRAY if _ROWS_ARRAY in able else able[0] if len(able) == 1 else None


def _label_array(arrays: Sequence[_Array], rows: str | None) -> str | None:
    """The array of classes: as long as the rows, and the only one, or the only one named so."""
    n_rows = {array.shape[0] for array in arrays if array.name == rows}
    able = [
        array.name for array in arrays if array.holds_classes and (not n_rows or array.shape[0] in n_rows)
    ]
    named = [name for name in able if not set(LABEL_WORDS).isdisjoint(name_parts(name))]
    if _LABEL_ARRAY in able:
        return _LABEL_ARRAY
    return next((names[0] for names in (able, named) if len(names) == 1), None)


def _array_questions(file: FileDescription) -> list[Question]:
    """Which arrays of a .npz file hold rows and classes; asked where the file leaves it open."""
    arrays = _arrays(file)
    listed = ", ".join(f"{array.name} {array.shape}" for array in arrays) or "nothing"
    names = [array.name for array in arrays]
    if not any(array.holds_rows for array in arrays) or not any(array.holds_classes for array in arrays):
        raise BadInput(
            f"{file.path}: needed are an array of numbers (rows, features) and one of classes (rows); it has "
            f"{listed}"
        )

    def read(answer: str) -> str:
        require_known(answer, names, f"{file.path.name}: no array")
        return answer

    rows = _rows_array(arrays)
    return [
        Question(
            key="rows",
            text=f"Which array holds the rows? The file has {listed}",
            default=rows,
            read=read,
            asked=lambda _: rows is None,
        ),
        Question(
            key="label",
            text=f"Which array holds the class of each row? The file has {listed}",
            derive=lambda answers: _label_array(arrays, answers.get("rows")),
            read=read,
            asked=lambda answers: _label_array(arrays, answers.get("rows")) is None,
        ),
    ]


def _label(file: FileDescription) -> ColumnDescription | None:
    """The column of classes, by its name."""
    return file.find(LABEL_WORDS)


def _features(file: FileDescription) -> list[str]:
    label = _label(file)
    numbers = [column for column in file.columns if column.is_number and column.name.lower() != "id"]
    return [column.name for column in numbers if column != label]


def _recognise_features(file: FileDescription) -> Recognised | None:
    if file.suffix in ARRAYS:
        return Recognised(score=0.9, because="a file of arrays (embeddings)")
    found, label = _features(file), _label(file)
    if label is None or len(found) < _FEWEST_FEATURES or doubtful_columns(file):
        return None
    is_class = file.find(CLASS_WORDS) is not None
    score = 0.75 if is_class and len(found) >= _MANY_FEATURES else 0.25
    return Recognised(score=score, because=f"{len(found)} columns of numbers and {label.name} (label)")


def _feature_questions(file: FileDescription | None) -> Sequence[Question]:
    label = None if file is None else _label(file)
    if file is not None and file.suffix in ARRAYS:
        first = _array_questions(file)
    else:
        text = "Which column is the class of a row"
        first = [column_question(file, "label", text, label.name if label else None)]
    return [
        *first,
        Question(
            key="perturbation",
            text="How do clients perturb a row before they train on it",
            default="bitrand",
            choices=_PERTURBATIONS,
            decides="mechanism.name",
        ),
        Question(
            key="epsilon",
            text="With which epsilon",
            default="3",
            read=read_number(),
            asked=lambda answers: answers.get("perturbation") != "none",
            decides="mechanism.epsilon",
        ),
        Question(
            key="batch",
            text="How many rows does a client train on at a time",
            default="32",
            read=read_whole(2),
            decides="challenger.batch",
        ),
        *unused_question(file),
        limit_question("a row is in a client's batch"),
    ]


def _draft_features(context: DraftContext) -> DraftedPlan:
    label = context["label"]
    data: dict[str, Any] = {"source": context.source, **context.text_keys}
    keys = {"rows": context.answers.get("rows"), "labels": label}
    defaults = {"rows": _ROWS_ARRAY, "labels": _LABEL_ARRAY}
    named = {key: name for key, name in keys.items() if name not in (None, defaults[key])}
    if named:
        data["keys"] = named
    if context.file is not None and context.file.columns:
        unused = (label, "id", *context.answers.get("unused", ()))
        numbers = [column.name for column in context.file.columns if column.is_number]
        data["features"] = [name for name in numbers if name not in unused]
    perturbation = context["perturbation"]
    mechanism: dict[str, Any] = {"name": perturbation}
    if perturbation != "none":
        mechanism["epsilon"] = context["epsilon"]
    lines = [
        *plan_start(
            context,
            "federated",
            title="Rows of federated clients",
            question="Clients perturb their rows and train on them: can a dishonest server recognise a row?",
        ),
        "rounds = 100  # simulated trainings of a client",
        "block = 20",
        'attacks = ["likelihood_neuron"]  # the server sends a model with one neuron that recognises the row',
        "",
        "[audit.data]",
        table_lines(
            data,
            TEXT_COMMENTS
            | {
                "source": "the rows; a relative path starts in this folder",
                "keys": "what rows and classes are called"
                if "rows" in named
                else "what the column of classes is called",
            },
        ),
        "[audit.mechanism]",
        table_lines(
            mechanism, {"epsilon": "as it is labelled; the report also states what the noise achieves"}
        ),
        "[audit.challenger]",
        table_lines(
            {"targets": 8, "batch": context["batch"]},
            {
                "targets": "rows looked for, each with a client of its own",
                "batch": "rows that a client trains on",
            },
        ),
    ]
    text = "\n".join(lines).rstrip("\n") + "\n" + limits_text(context["limit"])
    features = tuple(data.get("features", ()))
    roles = (ColumnRole("classes", (label,), "label"), ColumnRole("features", features)) if features else ()
    return DraftedPlan(text=text, roles=roles)


def _project(file: FileDescription) -> dict[str, Any] | None:
    """What the pyproject.toml of a Flower app says of it; nothing where the folder is none."""
    path = file.path / "pyproject.toml"
    if not path.is_file():
        return None
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not valid TOML: {error}; fix the file there") from None
    found = table.get("tool", {}).get("flwr")
    return found if isinstance(found, dict) else None


def _data_functions(folder: Path) -> list[str]:
    """The functions of a project that load data, by their names, as "module:function"; nothing is run."""
    found = []
    for path in sorted(folder.glob("*/*.py")) + sorted(folder.glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        found += [f"{path.stem}:{name}" for name in names if "load" in name and "data" in name]
    return found


def _recognise_app(file: FileDescription) -> Recognised | None:
    if not file.path.is_dir() or _project(file) is None:
        return None
    return Recognised(score=0.95, because="its pyproject.toml describes a Flower app")


def _app_questions(file: FileDescription | None) -> Sequence[Question]:
    if file is None or not file.path.is_dir() or _project(file) is None:
        where = "" if file is None else f"{file.path}: "
        raise BadInput(
            f"{where}name the folder of a Flower app, whose pyproject.toml has a table [tool.flwr]"
        )
    hooks = _data_functions(file.path)
    return [
        Question(
            key="data-hook",
            text="Which function of the app loads a client's rows, as module:function",
            default=hooks[0] if hooks else None,
            asked=lambda _: len(hooks) != 1,
        ),
        Question(
            key="epsilon",
            text='Which epsilon does the app promise to a row? "none" states no promise',
            default="none",
            read=optional(read_number()),
        ),
        limit_question("a row is among those of a client"),
    ]


def _draft_app(context: DraftContext) -> DraftedPlan:
    promise = None if context["epsilon"] is None else {"epsilon": context["epsilon"]}
    known = _project(context.file) or {} if context.file else {}
    n_rounds = known.get("app", {}).get("config", {}).get("num-server-rounds")
    lines = [
        *plan_start(
            context,
            "federated",
            title="Flower app",
            question="A Flower app as it is: can a dishonest server tell which rows a client trained on?",
        ),
        "rounds = 100  # trainings of a client, each by the code of the app",
        "",
        "[audit.challenger]",
        table_lines(
            {
                "app": context.source,
                "data_hook": context["data-hook"],
                "targets": 1,
                "iterations": n_rounds if isinstance(n_rounds, int) else None,
                "promise": promise,
            },
            {
                "iterations": "training rounds of the app",
                "app": "the folder of the app; a relative path starts in this folder",
                "data_hook": "the function of the app that loads a client's rows",
            },
        ),
    ]
    return DraftedPlan(text="\n".join(lines).rstrip("\n") + "\n" + limits_text(context["limit"]))


def draft_kinds() -> dict[str, DraftKind]:
    """Return what a plan can be drafted for, by name."""
    return {
        "features": DraftKind(
            about="A table of features with a class: rows that federated clients perturb and train on.",
            keys={
                "label": "the column of classes",
                "rows": "the array of rows in a .npz file",
                "unused": "columns that are no features, divided by commas, or none",
                "perturbation": "how rows are perturbed: laplace, bitrand, ome or none",
                "epsilon": "the epsilon that is promised, or none",
                "batch": "rows that a client trains on",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_feature_questions,
            draft=_draft_features,
            recognise=_recognise_features,
        ),
        "flower-app": DraftKind(
            about="The folder of a Flower app, audited as it is.",
            keys={
                "data-hook": "the function that loads a client's rows",
                "epsilon": "the epsilon that is promised, or none",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_app_questions,
            draft=_draft_app,
            recognise=_recognise_app,
            beside_file=True,
        ),
    }
