"""The audit of a finished model in memory: records and model as Python objects, or as files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.models.shadow_predictions import ShadowPredictions, read_shadow_predictions
from leakgauge.domains.models.training.user_trainer import training_of
from leakgauge.domains.models.user_model import model_query
from leakgauge.domains.models.user_model.challenger import Challenger, assemble, membership_notes
from leakgauge.domains.models.user_model.plan_tables import UserModelChallengerTable
from leakgauge.domains.models.user_model.records import (
    FileMembership,
    RecordsFile,
    UserModelRecords,
    class_positions,
    distinct_names,
    group_column,
    loss_kind,
)
from leakgauge.domains.models.user_model.resplit_control import ResplitChallenger
from leakgauge.support.tabular import open_table_file
from leakgauge.support.tabular_objects import content_digest, count_rows, join_rows, take_rows

SHADOWED = ("lira", "rmia", "base_ratio")
WITH_SHADOWS: tuple[dict[str, Any] | str, ...] = ("loss_threshold", *SHADOWED)
WITH_CHECKPOINTS = "trajectory_likelihood"
WITHOUT_SHADOWS: tuple[dict[str, Any] | str, ...] = ("loss_threshold",)
_MOSTLY_DIFFERENT = 0.9  # share of different rows from which a row in both parts is no coincidence
_MISSING = ("nan", "NaT", "<NA>")  # what missing values of pandas look like
OPTIMAL = {"name": "loss_threshold", "threshold": "optimal", "knowledge": "black_box"}


@dataclass(frozen=True, eq=False)
class Part:
    """Records of one kind: X, and y or nothing; ``columns`` are those of a file.

    ``names`` identify records, or their numbers do; ``groups`` are values of each record.
    """

    name: str
    X: Any
    y: Any
    columns: tuple[str, ...] = ()
    names: Sequence[str | None] | None = None
    groups: Mapping[str, Sequence[str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not count_rows(self.X):
            raise BadInput(f"X_{self.name}: there are no rows; an audit needs members and others")
        if self.y is not None and len(self.y) != count_rows(self.X):
            raise BadInput(
                f"y_{self.name}: {len(self.y)} labels for {count_rows(self.X)} rows of X_{self.name}; each "
                "row needs one"
            )

    @property
    def record_names(self) -> Sequence[str | None]:
        """The names of the records; without them what they are and their numbers, counted from 0."""
        if self.names is not None:
            return self.names
        return [f"{self.name} {row}" for row in range(count_rows(self.X))]


def prepare_model_audit(
    model: Any,
    members: tuple[Any, Any],
    others: tuple[Any, Any],
    *,
    reference: tuple[Any, Any] | None,
    train: Any,
    shadows: Mapping[str, Any] | Path | None,
    names: Any = None,
    groups: Any = None,
    seed: int,
    options: dict[str, Any],
    n_shadows: int | None = None,
) -> tuple[Challenger | ResplitChallenger, tuple[dict[str, Any] | str, ...]]:
    """Set up the audit, and name the attacks that it can play by default."""
    named = {"members": members, "others": others} | ({} if reference is None else {"reference": reference})
    column, columns = names if isinstance(names, str) else None, _column_names(groups)
    parts = [_part(name, *_pair(given, name), column, columns) for name, given in named.items()]
    parts = _with_values([parts[0], *(_like(parts[0], part) for part in parts[1:])], names, groups)
    table = UserModelChallengerTable(
        model=_model_name(model),
        train=None if train is None else "train",
        shadows=None if shadows is None else "shadows",
        **options,
    )
    training = None if train is None else training_of(train, "train")
    order = stream(seed, Role.DATA).permutation(sum(count_rows(part.X) for part in parts))
    predictions = None
    if shadows is not None:
        predictions = _reordered(read_shadow_predictions(shadows, order.size), order)
    losses_of_epochs = predictions is not None and predictions.kind == "trajectories"
    records = _records(model, parts, table, order, losses_of_epochs)
    shared = _shared_rows(parts[0], parts[1])
    notes = [*membership_notes("records in memory", table, records), *shared]
    challenger = assemble(records, table, training=training, predictions=predictions, notes=notes, seed=seed)
    with_shadows = train is not None or shadows is not None
    attacks = WITH_SHADOWS if with_shadows else WITHOUT_SHADOWS
    if records.checkpoints and (train is not None or losses_of_epochs):
        attacks = (*attacks, WITH_CHECKPOINTS)
    if n_shadows is not None:
        attacks = tuple({"name": one, "shadows": n_shadows} if one in SHADOWED else one for one in attacks)
    if table.control:
        return challenger.resplit(), attacks
    return challenger, (OPTIMAL, *attacks[1:]) if table.randomised else attacks


def _like(first: Part, other: Part) -> Part:
    """Other rows with their columns in the order of the first ones; others than these are refused."""
    columns = [part.columns or list(getattr(part.X, "columns", ())) for part in (first, other)]
    if set(columns[0]) != set(columns[1]):
        apart = sorted(map(str, set(columns[0]) ^ set(columns[1])))
        raise BadInput(
            f"X_{other.name}: its columns are not those of X_{first.name}; only one of the two has "
            f"{', '.join(apart[:5])}"
        )
    shapes = [np.shape(part.X)[1:] for part in (first, other) if hasattr(part.X, "shape")]
    if len(shapes) == 2 and shapes[0] != shapes[1]:
        raise BadInput(
            f"X_{other.name}: rows of shape {shapes[1]}, and those of X_{first.name} have {shapes[0]}; give "
            "the same features"
        )
    if list(columns[0]) == list(columns[1]):
        return other
    if not other.columns:
        return replace(other, X=other.X[list(columns[0])])
    places = [other.columns.index(column) for column in columns[0]]
    return replace(other, X=other.X[:, places], columns=tuple(columns[0]))


def _with_values(parts: Sequence[Part], names: Any, groups: Any) -> list[Part]:
    """The parts with the names and groups that are given as values, not as columns."""
    called = None if names is None or isinstance(names, str) else _for_each(parts, names, "names")
    found = {}
    if isinstance(groups, Mapping):
        found = {str(name): _for_each(parts, values, f"groups: {name!r}") for name, values in groups.items()}
    return [
        replace(
            part,
            names=part.names if called is None else called[place],
            groups={**part.groups, **{name: values[place] for name, values in found.items()}},
        )
        for place, part in enumerate(parts)
    ]


def _for_each(parts: Sequence[Part], values: Any, where: str) -> list[list[str | None]]:
    """Values given for the records of each part."""
    sizes = [count_rows(part.X) for part in parts]
    if not isinstance(values, list | tuple) or [np.ndim(one) and len(one) for one in values] != sizes:
        kinds = ", ".join(f"{size} {part.name}" for size, part in zip(sizes, parts))
        raise BadInput(f"{where}: must be a tuple with the values of {kinds}, or name a column of X")
    return [[_text(value) for value in one] for one in values]


def _without(X: Any, name: str) -> Any:
    return X.drop(columns=[name]) if hasattr(X, "iloc") else X.drop(name)


def _text(value: Any) -> str | None:
    text = str(value)
    return None if value is None or text in _MISSING else text


def _shared_rows(members: Part, others: Part) -> list[str]:
    """Refuse others who are the members; note those who are among them, where rows rarely repeat."""
    own, other = _row_keys(members), _row_keys(others)
    known = set(own)
    if own and sorted(own) == sorted(other):
        raise BadInput(
            "X_others: the same rows as X_members; others must be rows that the model was not trained on"
        )
    shared = sum(key in known for key in other)
    if not shared or len(known) < _MOSTLY_DIFFERENT * len(own):
        return []
    kept = f"{shared} of {len(other)} others are rows of the members too"
    return [f"beware: {kept}, which makes members look protected; leave them out"]


def _row_keys(part: Part) -> list[bytes]:
    """The content of each row with its label; nothing where rows are not rows of a table or array."""
    rows = np.asarray(part.X)
    if rows.ndim < 2:
        return []
    flat, labels = rows.reshape(len(rows), -1), [""] * len(rows) if part.y is None else part.y
    texts = flat.dtype.hasobject
    return [
        (repr(row.tolist()).encode() if texts else row.tobytes()) + str(label).encode()
        for row, label in zip(flat, labels, strict=True)
    ]


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise BadInput(f"{name}: must be a tuple of rows and labels, (X, y)")
    return given


def _model_name(model: Any) -> str | None:
    if model is None or isinstance(model, str):
        return model
    last = model[-1] if isinstance(model, list | tuple) and model else model  # checkpoints
    return type(last).__name__


def _column_names(groups: Any) -> tuple[str, ...]:
    """The columns that are groups; none where values are given."""
    if groups is None or isinstance(groups, Mapping):
        return ()
    return (groups,) if isinstance(groups, str) else tuple(groups)


def _part(name: str, X: Any, y: Any, names: str | None, groups: Sequence[str]) -> Part:
    """Read a file, or take columns out of a data frame, where ``y`` and ``names`` are columns."""
    if isinstance(X, str | Path):
        return _part_of_file(name, Path(X), y, names, groups)
    wanted = {"y": [y] if isinstance(y, str) else [], "names": [names] if names else [], "groups": groups}
    for where, columns in wanted.items():
        for column in columns:
            if not hasattr(X, "columns") or column not in list(X.columns):
                about = f"y_{name}" if where == "y" else where
                values = "labels" if where == "y" else "a tuple of the values of each part"
                raise BadInput(
                    f"{about}: {column!r} is no column of X_{name}; give {values}, or the name of a column"
                )
    labels = np.asarray(X[y]) if isinstance(y, str) else None if y is None else np.asarray(y)
    texts = {column: [_text(value) for value in X[column]] for column in (*wanted["names"], *groups)}
    for column in (*wanted["y"], *wanted["names"]):
        X = _without(X, column)
    called = None if names is None else texts[names]
    return Part(name, X, labels, names=called, groups={column: texts[column] for column in groups})


def _part_of_file(name: str, path: Path, y: Any, names: str | None, groups: Sequence[str]) -> Part:
    if not isinstance(y, str):
        raise BadInput(f"y_{name}: X_{name} is a file; name its column of labels")
    if not path.is_file():
        raise BadInput(f"X_{name}: there is no file {str(path)!r}; check the path")
    with open_table_file(path, f"X_{name}") as (connection, types):
        columns = RecordsFile(connection, types, path)
        for about, wanted in ((f"y_{name}", [y]), ("names", [names] if names else []), ("groups", groups)):
            for column in wanted:
                if column not in types:
                    known = ", ".join(list(types)[:20])
                    raise BadInput(f"{about}: {path.name} has no column {column!r}; it has {known}")
        texts = [column for column in groups if not columns.holds_numbers(column)]  # cannot be features
        features = [column for column in types if column not in (y, names, *texts)]
        return Part(
            name,
            columns.matrix(features, "features"),
            columns.labels(y),
            tuple(features),
            None if names is None else columns.texts(names, "name"),
            {column: columns.texts(column, "group") for column in groups},
        )


def _records(
    model: Any, parts: Sequence[Part], table: UserModelChallengerTable, order: Ints, losses_of_epochs: bool
) -> UserModelRecords:
    """All records in random order, so that no position says who is a member.

    They are read in the order given, so that messages count rows as the caller does.
    """
    X = join_rows([part.X for part in parts])
    known = [part.y for part in parts if part.y is not None]
    y = np.concatenate([np.asarray(one, dtype=object) for one in known]) if known else None
    if known and len(known) != len(parts):
        raise BadInput("y: give labels for all rows, or for none")
    membership = _membership(parts, order)
    called = distinct_names([one for part in parts for one in part.record_names], "names")
    about: dict[str, Any] = {
        "membership": membership,
        "names": tuple(called[place] for place in order),
        "groups": {
            name: group_column(np.concatenate([_objects(part.groups[name]) for part in parts])[order])
            for name in parts[0].groups
        },
    }
    if model is None:
        return _in_order(_said(X, y, about, losses_of_epochs), order)
    if y is None:
        raise BadInput("y_members: a model is compared with the true classes; give them")
    several = isinstance(model, list | tuple)
    for part in parts:
        for one in model if several else [model]:
            if part.columns:
                model_query.require_column_order(one, part.columns, f"X_{part.name}")
    seen, classes, identity = _query(model, X, table)
    answers = seen[-1]
    labels, names = class_positions(y, answers.log_probabilities.shape[1], classes)
    said = " ".join(content_digest(one.log_probabilities) for one in seen)
    records = UserModelRecords(
        **about,
        labels=labels,
        answers=answers,
        features=X,
        classes_known=True,
        class_names=names,
        digest=sha256(f"{identity} {said} {content_digest(membership.members)}".encode()).hexdigest(),
        checkpoints=tuple(seen) if several else (),
    )
    return _in_order(records, order)


def _in_order(records: UserModelRecords, order: Ints) -> UserModelRecords:
    """Rows in another order: labels, features and answers; the rest has it already."""

    def taken(answers: model_query.ModelAnswers) -> model_query.ModelAnswers:
        return replace(answers, log_probabilities=answers.log_probabilities[order])

    return replace(
        records,
        labels=records.labels[order],
        answers=taken(records.answers),
        features=None if records.features is None else take_rows(records.features, order),
        checkpoints=tuple(map(taken, records.checkpoints)),
    )


def _membership(parts: Sequence[Part], order: Ints) -> FileMembership:
    kinds = np.repeat([part.name for part in parts], [count_rows(part.X) for part in parts])[order]
    reference: Bits = kinds == "reference"
    return FileMembership((kinds == "members")[~reference], reference)


def _query(
    model: Any, X: Any, table: UserModelChallengerTable
) -> tuple[list[model_query.ModelAnswers], Sequence[Any] | None, str]:
    """The answers of the model at all of its checkpoints, its classes, and what identifies it."""
    if isinstance(model, str | Path):
        path = Path(model)
        if path.suffix != model_query.ONNX_SUFFIX:
            model_query.refuse_file(str(model), f"model = {str(model)!r}")
            raise BadInput(f"model = {str(model)!r}: a file must be an ONNX file; give the model itself")
        if not path.is_file():
            raise BadInput(f"model = {str(model)!r}: there is no such file; check the path")
        rows = np.asarray(X, dtype=np.float64)
        raw = model_query.query_onnx_file(path, rows, "model")
        answers = model_query.from_outputs(raw.outputs, len(rows), f"model = {str(model)!r}", table.output)
        return [answers], raw.classes, sha256(path.read_bytes()).hexdigest()
    where = f"model of type {_model_name(model)}"
    seen, classes = model_query.query_checkpoints(model, X, where, table.output)
    return seen, classes, type(model).__name__


def _objects(values: Sequence[str | None]) -> Any:
    return np.array(values, dtype=object)


def _said(X: Any, y: Any, about: Mapping[str, Any], losses_of_epochs: bool) -> UserModelRecords:
    """Without a model, X is what it said: a loss for each record, or the probabilities of all classes.

    Beside trajectories of shadow models it is the losses at their checkpoints, of which the last is the
    model.
    """
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput("X_members: without a model these are losses or probabilities: numbers") from None
    if not np.isfinite(values).all():
        raise BadInput("X_members: without a model these are losses or probabilities, all of them finite")
    checkpoints: tuple[model_query.ModelAnswers, ...] = ()
    if losses_of_epochs and values.ndim == 2:
        kind = loss_kind(values, None)
        checkpoints = tuple(model_query.from_losses(one, "losses", kind) for one in values.T)
        answers, labels = checkpoints[-1], np.zeros(len(values), dtype=np.int64)
    elif values.ndim == 1:
        answers = model_query.from_losses(values, "losses", loss_kind(values, None))
        labels = np.zeros(len(values), dtype=np.int64)
    elif y is None:
        raise BadInput("y_members: give the true class of each record beside the probabilities")
    else:
        answers = model_query.from_outputs(values, len(values), "X_members", "probabilities")
        labels = class_positions(y, values.shape[1], None)[0]
    members = about["membership"].members
    return UserModelRecords(
        **about,
        labels=labels,
        answers=answers,
        features=None,
        classes_known=values.ndim == 2 and not checkpoints,
        checkpoints=checkpoints,
        digest=sha256(f"{content_digest(values)} {content_digest(members)}".encode()).hexdigest(),
    )


def _reordered(predictions: ShadowPredictions, order: Ints) -> ShadowPredictions:
    return ShadowPredictions(predictions.kind, predictions.values[:, order], predictions.included[:, order])
