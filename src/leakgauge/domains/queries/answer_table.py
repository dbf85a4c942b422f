"""The answers of all blocks of an attacker in one table: rows are rounds, columns are questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.queries.transcript import NUMBER, TEXT, Outcome

MOST_ENTRIES = 2**21  # rounds times questions; further blocks are not gathered


@dataclass(frozen=True, eq=False)
class QuestionPairs:
    """Sessions of the auditor that were asked a question, and then the same question without the target."""

    members: Bits  # whether the target is in the table
    answers: Reals  # sessions x 2
    truths: Reals


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Rounds x questions, where blocks with fewer questions are filled up with questions not asked."""

    members: Bits  # rounds x targets
    answers: Reals
    truths: Reals
    sums: Reals  # true ones of averages
    counts: Reals
    independent: Bits  # whether the noise is stated to be independent of all earlier answers
    outcomes: npt.NDArray[np.uint8]
    faults: npt.NDArray[np.uint8]
    seconds: npt.NDArray[np.float32]
    scales: Reals  # of the stated noise
    questions: npt.NDArray[np.uint64]  # the same number for the same question
    selected: Bits  # rounds x questions x targets
    pairs: QuestionPairs  # no sessions where no service was asked
    fields: Mapping[str, Reals]  # rounds x questions: what replies hold besides the answer

    @property
    def asked_of_all(self) -> Bits:
        """Which questions were asked in most rounds, as those of an attack are; one session is asked on."""
        return (self.outcomes != Outcome.NOT_ASKED).mean(axis=0) > 0.5

    @cached_property
    def given_before(self) -> Bits:
        """Where a number was given before in the same round, among those that should be independent."""
        values = np.where(self.independent, self.answers, np.nan)
        order = np.argsort(values, axis=1, kind="stable")
        ordered = np.take_along_axis(values, order, axis=1)
        again = np.zeros(values.shape, dtype=bool)
        np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        return again

    @property
    def residuals(self) -> Reals:
        """Answers minus true answers, where the noise should be fresh."""
        return np.where(self.independent, self.answers - self.truths, np.nan)


def gather_answers(transcripts: Sequence[Transcript]) -> AnswerTable:
    """Put the transcripts of blocks below one another."""
    kept: list[Transcript] = []
    for part in transcripts:
        if kept and sum(one["answers"].size for one in kept) + part["answers"].size > MOST_ENTRIES:
            break
        kept.append(part)
    width = max(part["answers"].shape[1] for part in kept)

    def stack(columns: list[npt.NDArray[Any]], fill: Any) -> npt.NDArray[Any]:
        wide = []
        for column in columns:
            missing = [(0, 0), (0, width - column.shape[1]), *[(0, 0)] * (column.ndim - 2)]
            wide.append(np.pad(column, missing, constant_values=fill))
        return np.concatenate(wide)

    def per_round(name: str) -> list[npt.NDArray[Any]]:
        return [np.broadcast_to(part[name], (len(part["members"]), *part[name].shape)) for part in kept]

    def served(name: str, absent: Any) -> list[npt.NDArray[Any]]:
        return [part.get(name, np.full(part["answers"].shape, absent)) for part in kept]

    fields = sorted({name for part in kept for name in part if name.startswith((NUMBER, TEXT))})
    paired = [part for part in kept if "pair_members" in part]
    pairs = QuestionPairs(
        members=np.concatenate([np.zeros(0, bool), *(part["pair_members"] for part in paired)]),
        answers=np.concatenate([np.zeros((0, 2)), *(part["pair_answers"] for part in paired)]),
        truths=np.concatenate([np.zeros((0, 2)), *(part["pair_truths"] for part in paired)]),
    )
    return AnswerTable(
        pairs=pairs,
        fields={name: stack(served(name, np.nan), np.nan) for name in fields},
        members=np.concatenate([part["members"] for part in kept]),
        answers=stack([part["answers"] for part in kept], np.nan),
        truths=stack([part["truths"] for part in kept], np.nan),
        sums=stack(served("sums", np.nan), np.nan),
        counts=stack(served("counts", np.nan), np.nan),
        independent=stack([part["independent"] for part in kept], False),
        outcomes=stack([part["outcomes"] for part in kept], Outcome.NOT_ASKED),
        faults=stack(served("faults", 0), 0),
        seconds=stack(served("seconds", np.nan), np.nan),
        scales=stack(per_round("scales"), np.nan),
        questions=stack(per_round("questions"), 0),
        selected=stack(per_round("selected"), False),
    )
