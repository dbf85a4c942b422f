"""The records of an audit of the user's model: who is a member, the true classes, and the model's answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.dataset import MAX_VALUES_SHOWN, CategoricalColumn, categorical
from leakgauge.domains.models.user_model import model_query
from leakgauge.domains.models.user_model.plan_tables import (
    LossKind,
    UserModelChallengerTable,
    UserModelDataTable,
    comparable_class,
)
from leakgauge.support.member_words import ACCEPTED_WORDS, REFERENCE_WORDS, is_member
from leakgauge.support.required_columns import require_columns
from leakgauge.support.tabular import Connection, decimal_comma_way_out, open_table_file

RawLabels: TypeAlias = npt.NDArray[np.object_]  # floats, or texts

_SIZES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
NUMERIC_TYPES = (*_SIZES, *(f"U{name}" for name in _SIZES), "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")


@dataclass(frozen=True, eq=False)
class FileMembership:
    """Which records are members, and which rows are reference rows of the attacker."""

    members: Bits
    reference: Bits


@dataclass(frozen=True, eq=False)
class RecordsFile:
    """An open file of records; error messages name its columns."""

    connection: Connection
    types: dict[str, str]
    path: Path

    def __post_init__(self) -> None:
        if not self.n_rows:
            raise BadInput(f"data.source: {self.path.name} has no rows")

    @property
    def n_rows(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM given").fetchone()[0])

    def require_all(self, data: UserModelDataTable) -> None:
        """Refuse a file that lacks columns that the plan names."""
        keys = (
            "member",
            "loss",
            "losses",
            "probability",
            "probabilities",
            "label",
            "features",
            "name",
            "group",
        )
        named = {key: getattr(data, key) for key in keys if getattr(data, key) not in (None, ())}
        require_columns(named, list(self.types), self.path.name, "data")

    def holds_numbers(self, name: str) -> bool:
        return self.types[name].partition("(")[0] in NUMERIC_TYPES

    def numbers(self, name: str, key: str) -> Reals:
        """A column of numbers, none of them missing or infinite."""
        if not self.holds_numbers(name):
            if way_out := decimal_comma_way_out(self.connection, name, self.path):
                raise BadInput(
                    f"data.{key}: {name!r} of {self.path.name} is written with decimal commas; {way_out}"
                )
            raise BadInput(
                f"data.{key}: {name!r} of {self.path.name} does not hold numbers in every row (its type is "
                f"{self.types[name].lower()}); fix the rows that hold none, or name a column of numbers"
            )
        query = f"SELECT CAST({_quoted(name)} AS DOUBLE) AS it FROM given"
        values = np.ma.filled(self.connection.execute(query).fetchnumpy()["it"], np.nan).astype(np.float64)
        if (bad := np.flatnonzero(~np.isfinite(values))).size:
            raise BadInput(
                f"data.{key}: {name!r} has no finite number in {bad.size} of {values.size} rows, the first "
                f"of them row {bad[0]} (counted from 0); fix or remove them"
            )
        return values

    def matrix(self, names: Sequence[str], key: str) -> Reals:
        """Several columns of numbers, side by side."""
        return np.column_stack([self.numbers(name, key) for name in names])

    def texts(self, name: str, key: str) -> list[str | None]:
        """Any column, as texts."""
        query = f"SELECT CAST({_quoted(name)} AS VARCHAR) FROM given"
        return [text for (text,) in self.connection.execute(query).fetchall()]

    def labels(self, name: str) -> RawLabels:
        """The true classes: numbers where the column has some, else texts."""
        if self.holds_numbers(name) and self.types[name] != "BOOLEAN":
            return np.array(self.numbers(name, "label").tolist(), dtype=object)
        texts = self.texts(name, "label")
        if None in texts:
            raise BadInput(
                f"data.label: {name!r} has no value in {texts.count(None)} of {len(texts)} rows; fix or "
                "remove them"
            )
        return np.array(texts, dtype=object)

    def groups(self, names: Sequence[str]) -> dict[str, CategoricalColumn]:
        """Columns of texts or numbers as groups; a missing value is a group of its own."""
        return {name: group_column(self.texts(name, "group")) for name in names}

    def names(self, name: str) -> tuple[str, ...]:
        """The names of the records, all of them different."""
        return distinct_names(self.texts(name, "name"), f"data.name: {name!r}")

    def membership(self, name: str) -> FileMembership:
        """Members are 1, true, yes or the like; an empty value marks a reference row of the attacker."""
        texts = [(text or "").strip().lower() for text in self.texts(name, "member")]
        said = [is_member(text) for text in texts]
        for row, text in enumerate(texts):
            if said[row] is None and text not in REFERENCE_WORDS:
                raise BadInput(
                    f"data.member: {name!r} has another value in row {row} (counted from 0); write "
                    f"{ACCEPTED_WORDS}; leave it empty (or write reference) in rows of the attacker"
                )
        members = np.array([one is True for one in said])
        reference = np.array([text in REFERENCE_WORDS for text in texts])
        n_in, n_out = int(members.sum()), int((~members & ~reference).sum())
        if not (n_in and n_out):
            raise BadInput(
                f"data.member: {name!r} marks {n_in} members and {n_out} non-members; an audit needs both"
            )
        return FileMembership(members[~reference], reference)


def distinct_names(values: Iterable[str | None], where: str) -> tuple[str, ...]:
    """The names of records, each of them another one."""
    texts = [text or "" for text in values]
    if len(set(texts)) < len(texts) or "" in texts:
        raise BadInput(
            f"{where} is empty in {texts.count('')} rows, and has {len(set(texts))} different values in "
            f"{len(texts)} rows; name a column that identifies records, or leave it out"
        )
    return tuple(texts)


def group_column(values: Iterable[str | None]) -> CategoricalColumn:
    """Texts as groups; a missing value is a group of its own."""
    return categorical(text or "(missing)" for text in values)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def class_positions(
    labels: RawLabels, n_classes: int, classes: Sequence[Any] | None
) -> tuple[Ints, tuple[Any, ...]]:
    """The column of each record's true class, and the class of each column; a model may name its ``classes``.

    Otherwise whole numbers from 0 are positions of columns, and other labels are matched with the columns in
    sorted order, if there are as many.
    """
    if classes is None:
        classes = _classes_from_labels(labels, n_classes)
    elif len(classes) < 2:
        raise BadInput(f"challenger.model: it has only the class {classes[0]}; a classifier has at least two")
    elif len(classes) != n_classes:
        raise BadInput(
            f"challenger.model: it names {len(classes)} classes, but returns {n_classes} columns; fix it"
        )
    place = {comparable_class(name): number for number, name in enumerate(classes)}
    positions = np.array(
        [place.get(comparable_class(label), -1) for label in labels.tolist()], dtype=np.int64
    )
    if (unknown := np.flatnonzero(positions < 0)).size:
        known = ", ".join(map(str, list(classes)[:MAX_VALUES_SHOWN])) + ", ..." * (
            len(classes) > MAX_VALUES_SHOWN
        )
        raise BadInput(
            f"data.label: the label in row {unknown[0]} (counted from 0) is not a class of the model; "
            f"known: {known}; write labels as in training, or name the classes as the labels are (classes_)"
        )
    return positions, tuple(classes)


def _classes_from_labels(labels: RawLabels, n_classes: int) -> Sequence[Any]:
    present = sorted(set(labels.tolist()))
    if all(label in range(n_classes) for label in present):  # a text never is
        return range(n_classes)
    if len(present) != n_classes:
        raise BadInput(
            f"data.label: {len(present)} different labels, but {n_classes} columns of answers; number the "
            f"classes 0 to {n_classes - 1}, in the order of the columns"
        )
    return present


@dataclass(frozen=True, eq=False, kw_only=True)
class UserModelRecords:
    """All rows of the file, in its order."""

    membership: FileMembership
    labels: Ints
    answers: model_query.ModelAnswers
    features: Any  # as the model was given them; None where there is no model
    classes_known: bool  # otherwise only the probability of the true class is known
    class_names: tuple[Any, ...] = ()  # of the columns of answers, where they are known
    digest: str
    names: tuple[str, ...] | None = None  # of the records, for their owner alone
    groups: Mapping[str, CategoricalColumn] = field(default_factory=dict)
    checkpoints: tuple[model_query.ModelAnswers, ...] = ()  # of the training; the last one is the model

    @property
    def losses(self) -> Reals:
        """The cross-entropy of each row."""
        logs = self.answers.log_probabilities
        return -np.take_along_axis(logs, self.labels[:, None], axis=1)[:, 0]

    @property
    def right(self) -> Reals:
        """Whether the most probable class of each row is the true one."""
        return (self.answers.log_probabilities.argmax(axis=1) == self.labels).astype(np.float64)


def read_records(
    data: UserModelDataTable, challenger: UserModelChallengerTable, folder: Path
) -> UserModelRecords:
    """Read the file, and query the model if there is one."""
    path = folder / data.source
    if not path.is_file():
        raise BadInput(f"data.source: there is no file {data.source!r} in {folder}; check the path")
    with path.open("rb") as content:
        identity = [file_digest(content, "sha256").hexdigest(), repr(data), repr(challenger)]
    with open_table_file(path, text=data.text_format) as (connection, types):
        columns = RecordsFile(connection, types, path)
        columns.require_all(data)
        membership = columns.membership(data.member)
        if challenger.model is None:
            rows, (answers, labels) = None, _answers_in_file(columns, data)
            checkpoints = _checkpoints_in_file(columns, data)
            names: tuple[Any, ...] = ()
        else:
            given = _feature_names(columns, data)
            rows = columns.matrix(given, "features")
            assert data.label is not None
            true = columns.labels(data.label)
            queried = model_query.query_model(challenger.model, challenger.output, rows, given, folder)
            answers, checkpoints = queried.answers, queried.checkpoints
            labels, names = class_positions(true, answers.log_probabilities.shape[1], queried.classes)
            identity.append(queried.digest)
        called = None if data.name is None else columns.names(data.name)
        groups = columns.groups(data.groups)
    records = UserModelRecords(
        membership=membership,
        labels=labels,
        answers=answers,
        features=rows,
        classes_known=data.label is not None,
        class_names=names,
        digest="",
        names=called,
        groups=groups,
        checkpoints=checkpoints,
    )
    if challenger.model is not None:  # its weights may be in a file that the plan does not name
        identity.append(f"{records.losses.mean():.6g} {records.losses.std():.6g}")
    return UserModelRecords(**{**vars(records), "digest": sha256("\n".join(identity).encode()).hexdigest()})


def loss_kind(losses: Reals, stated: LossKind | None) -> LossKind:
    """The kind of some losses: a cross-entropy, unless it is stated otherwise or some are negative."""
    return stated or ("other" if (losses < 0).any() else "cross_entropy")


def _answers_in_file(columns: RecordsFile, data: UserModelDataTable) -> tuple[model_query.ModelAnswers, Ints]:
    """The answers of a model that a file holds, and the true classes."""
    if data.probabilities is not None:
        assert data.label is not None
        where = f"data.probabilities of {columns.path.name}"
        matrix = columns.matrix(data.probabilities, "probabilities")
        answers = model_query.from_outputs(matrix, len(matrix), where, "probabilities")
        return answers, class_positions(columns.labels(data.label), len(data.probabilities), None)[0]
    if data.losses is not None:
        answers = _checkpoints_in_file(columns, data)[-1]
    elif data.loss is not None:
        losses = columns.numbers(data.loss, "loss")
        answers = model_query.from_losses(
            losses, f"data.loss: {data.loss!r}", loss_kind(losses, data.loss_kind)
        )
    else:
        assert data.probability is not None
        values = columns.numbers(data.probability, "probability")
        answers = model_query.from_true_probabilities(values, f"data.probability: {data.probability!r}")
    return answers, np.zeros(len(answers.log_probabilities), dtype=np.int64)


def _checkpoints_in_file(
    columns: RecordsFile, data: UserModelDataTable
) -> tuple[model_query.ModelAnswers, ...]:
    """The answers at each checkpoint, from its column of losses; all losses are of one kind."""
    if data.losses is None:
        return ()
    losses = columns.matrix(data.losses, "losses")
    kind = loss_kind(losses, data.loss_kind)
    pairs = zip(data.losses, losses.T)
    return tuple(model_query.from_losses(one, f"data.losses: {name!r}", kind) for name, one in pairs)


def _feature_names(columns: RecordsFile, data: UserModelDataTable) -> list[str]:
    """The columns that go to the model, in the order of the plan or of the file."""
    if data.features is not None:
        for name in data.features:
            if name == data.label:
                raise BadInput(
                    f"data.features: {name!r} is the label, which a model must not see; leave it out"
                )
    apart = (data.label, data.member, data.name, *data.groups)
    named = data.features or [name for name in columns.types if name not in apart]
    for name in named:
        if not columns.holds_numbers(name):
            raise BadInput(
                f"data.features: {name!r} of {columns.path.name} holds {columns.types[name]}, and rows go to "
                "the model as they are; choose columns of numbers (features = [...]), or encode them as for "
                "training"
            )
    if not named:
        raise BadInput(f"data.features: {columns.path.name} has no column besides label and member")
    return list(named)
