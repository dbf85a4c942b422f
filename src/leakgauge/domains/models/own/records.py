"""The records behind one's own model: who is a member, the true classes, and what the model said of them."""

from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals
from leakgauge.core.table_files import table_file
from leakgauge.domains.models.own.answers import (
    Answers,
    from_losses,
    from_outputs,
    from_true_probabilities,
)
from leakgauge.domains.models.own.asking import ask_model
from leakgauge.domains.models.own.classes import positions
from leakgauge.domains.models.own.columns import Columns, Membership
from leakgauge.domains.models.own.words import ChallengerTable, DataTable
from leakgauge.domains.models.table.sheet import Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Records:
    """All rows of the file, in its order."""

    membership: Membership
    labels: Ints
    answers: Answers
    features: Reals | None  # as the model was given them
    classes_known: bool  # else all that is known is how a record's own class fares
    digest: str

    @property
    def losses(self) -> Reals:
        """The cross-entropy of each row."""
        logs = self.answers.log_probabilities
        return -np.take_along_axis(logs, self.labels[:, None], axis=1)[:, 0]

    @property
    def right(self) -> Reals:
        """Whether the likeliest class of each row is the true one."""
        return (self.answers.log_probabilities.argmax(axis=1) == self.labels).astype(np.float64)


def read_records(data: DataTable, challenger: ChallengerTable, folder: Path) -> Records:
    """Read the file, and ask the model if there is one."""
    path = folder / data.source
    if not path.is_file():
        raise BadInput(f"data.source: there is no file {data.source!r} in {folder}; check the path")
    with path.open("rb") as content:
        told = [file_digest(content, "sha256").hexdigest(), repr(data), repr(challenger)]
    with table_file(path) as (connection, types):
        columns = Columns(connection, types, path)
        membership = columns.membership(data.member)
        if challenger.model is None:
            rows, (answers, labels) = None, _said(columns, data)
        else:
            rows = columns.matrix(_features(columns, data), "features")
            assert data.label is not None
            true = columns.labels(data.label)
            asked = ask_model(challenger.model, challenger.output, rows, folder)
            answers = asked.answers
            labels = positions(true, answers.log_probabilities.shape[1], asked.classes)
            told.append(asked.digest)
    found = Records(
        membership=membership,
        labels=labels,
        answers=answers,
        features=rows,
        classes_known=data.label is not None,
        digest="",
    )
    if challenger.model is not None:  # weights may lie in a file that nobody named: what it said tells it
        told.append(f"{found.losses.mean():.6g} {found.losses.std():.6g}")
    return Records(**{**vars(found), "digest": sha256("\n".join(told).encode()).hexdigest()})


def _said(columns: Columns, data: DataTable) -> tuple[Answers, Ints]:
    """What a file says that a model said."""
    if data.probabilities is not None:
        assert data.label is not None
        where = f"data.probabilities of {columns.path.name}"
        found = columns.matrix(data.probabilities, "probabilities")
        answers = from_outputs(found, len(found), where, "probabilities")
        return answers, positions(columns.labels(data.label), len(data.probabilities), None)
    if data.loss is not None:
        answers = from_losses(columns.numbers(data.loss, "loss"), f"data.loss: {data.loss!r}")
    else:
        assert data.probability is not None
        values = columns.numbers(data.probability, "probability")
        answers = from_true_probabilities(values, f"data.probability: {data.probability!r}")
    return answers, np.zeros(len(answers.log_probabilities), dtype=np.int64)


def _features(columns: Columns, data: DataTable) -> list[str]:
    """The columns that go to the model, in the order of the plan or of the file."""
    if data.features is not None:
        for name in data.features:
            columns.require(name, "features")
            if name == data.label:
                raise BadInput(
                    f"data.features: {name!r} is the label; a model that sees it needs no learning"
                )
    named = data.features or [name for name in columns.types if name not in (data.label, data.member)]
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
