"""The transcript of an oracle: every question of an attacker, what each round answered, and the truth.

Rows are rounds, columns are questions; an answer with several numbers has a column for each. The file of a
transcript is for the owner of the data alone: it holds true answers.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.game import Transcript
from leakgauge.domains.queries.query import QueryKind
from leakgauge.domains.queries.records import ResolvedQuery

NUMBER, TEXT = "reply:number:", "reply:text:"  # columns of what replies hold besides the answer
MOST_ENTRIES = 2**18  # answers that are kept of a block; of further ones only the number


class Outcome(IntEnum):
    """What a round gave for a question."""

    ANSWERED = 0
    REFUSED = 1
    ERROR = 2
    NOT_ASKED = 3


@dataclass(frozen=True, eq=False)
class AskedQuestion:
    """One question to all rounds of a block."""

    resolved: ResolvedQuery
    answers: Reals  # rounds x numbers of an answer
    truths: Reals  # the same without noise; NaN where noise is not simply added
    parts: tuple[Reals, Reals] | None  # true sums and counts of averages
    outcomes: npt.NDArray[np.uint8]
    repeats: Bits  # asked before in that round, by the stated cache
    redrawn: Bits  # and answered differently
    independent: Bits  # answered with noise that is stated to be independent of all earlier answers
    scale: float  # of the stated noise
    faults: Ints | None  # of all tries
    seconds: Reals | None
    fields: Mapping[str, Reals]  # of the replies, besides the answer


@dataclass(eq=False)
class TranscriptRecorder:
    """Keeps the questions that the rounds of a block were asked.

    A question that the stated cache knows costs nothing if its answer is the same. The same real number twice
    for the same records is a repeated answer too, by a cache that is better than the stated one; a whole
    number may be the same by chance, unless it is in many rounds at once. What is called certain counts
    neither.
    """

    members: Bits
    real_valued: bool
    rows_per_person: int | None = None
    never_by_chance: int | None = None  # this many rounds do not all get the same whole number again
    fresh_last: bool = field(default=False, init=False)  # whether the last question got a fresh answer
    _asked: list[AskedQuestion] = field(default_factory=list)
    _stated: dict[Hashable, Reals] = field(default_factory=dict)
    _recognised: dict[Hashable, Reals] = field(default_factory=dict)
    _n_entries: int = 0
    _n_fresh: Ints = field(init=False)
    _n_answers: Ints = field(init=False)

    def __post_init__(self) -> None:
        self._n_fresh = np.zeros(self.members.shape, dtype=np.int64)
        self._n_answers = np.zeros(len(self.members), dtype=np.int64)

    def add(
        self,
        resolved: ResolvedQuery,
        answers: Reals,
        *,
        key: Hashable | None,
        scale: float,
        additive: bool = True,
        errors: Bits | None = None,
        faults: Ints | None = None,
        seconds: Reals | None = None,
        fields: Sequence[Mapping[str, float]] = (),
        in_errors: Ints | None = None,
    ) -> Bits:
        """Keep the answers to a question; return where they are fresh, which a budget has to pay for.

        Answers are one number for each round, or a row of numbers. Where only the first rounds were asked,
        they are theirs. ``scale`` is that of the stated noise, ``additive`` whether an answer is the truth
        plus noise, ``in_errors`` how many further answers came in errors and refusals.
        """
        n_asked, n_rounds = len(answers), len(self.members)
        answers = _filled_up(answers.reshape(n_asked, -1), n_rounds, np.nan)
        answered = _answered(answers)
        repeats, same = self._compare(self._stated, key, answers)
        known, again = self._compare(self._recognised, _selection(resolved), answers)
        fresh = answered & ~same & ~(again & self._are_repeats(again, known))
        certain = answered & ~same & ~again
        self.fresh_last = bool(certain.any())
        given = certain if in_errors is None else certain + _filled_up(in_errors, n_rounds, 0)
        self._n_fresh += np.outer(given, resolved.targets)
        self._n_answers += given
        outcomes = np.where(answered, Outcome.ANSWERED, Outcome.REFUSED).astype(np.uint8)
        outcomes[n_asked:] = Outcome.NOT_ASKED
        if errors is not None:
            outcomes[:n_asked][errors] = Outcome.ERROR
        self._n_entries += answers.size
        if self._n_entries <= MOST_ENTRIES or not self._asked:
            truths = np.asarray(resolved.total + self.members @ resolved.shifts).reshape(n_rounds, -1)
            self._asked.append(
                AskedQuestion(
                    resolved=resolved,
                    answers=answers,
                    truths=truths if additive else np.full(answers.shape, np.nan),
                    parts=self._parts(resolved, truths),
                    outcomes=outcomes,
                    repeats=repeats,
                    redrawn=repeats & ~same,
                    independent=fresh if self.real_valued else answered & ~known,
                    scale=scale,
                    faults=None if faults is None else _filled_up(faults, n_rounds, 0),
                    seconds=None if seconds is None else _filled_up(seconds, n_rounds, np.nan),
                    fields={
                        name: _filled_up(
                            np.array([one.get(name, np.nan) for one in fields]), n_rounds, np.nan
                        )
                        for name in sorted({name for one in fields for name in one})
                    },
                )
            )
        return fresh

    def _parts(self, resolved: ResolvedQuery, sums: Reals) -> tuple[Reals, Reals] | None:
        """The true sums and counts of an average."""
        if resolved.query.kind is not QueryKind.AVERAGE:
            return None
        counts = np.asarray(resolved.n_others + self.members @ resolved.n_targets)
        return sums, counts.reshape(sums.shape)

    def _are_repeats(self, again: Bits, known: Bits) -> bool:
        """Whether equal answers for the same records are repeats, and not equal by chance."""
        n = np.count_nonzero(known)
        all_again = self.never_by_chance is not None and n >= self.never_by_chance and again[known].all()
        return self.real_valued or bool(all_again)

    def most_fresh(self, row: int) -> int:
        """How many fresh answers a round has given about one target."""
        return int(self._n_fresh[row].max())

    def _compare(
        self, given: dict[Hashable, Reals], key: Hashable | None, answers: Reals
    ) -> tuple[Bits, Bits]:
        """Where a question was answered before and is again, and where the answer is the same."""
        if key is None:
            return np.zeros(len(answers), dtype=bool), np.zeros(len(answers), dtype=bool)
        before = given.get(key, np.full(answers.shape, np.nan))
        answered, known = _answered(answers), _answered(before)
        given[key] = np.where(answered[:, None], answers, before)
        equal = (answers == before) | (np.isnan(answers) & np.isnan(before))
        return known & answered, known & answered & equal.all(axis=1)

    @property
    def columns(self) -> Transcript:
        """The transcript; empty where nothing was asked."""
        if not self._asked:
            return {}
        asked = self._asked
        widths = [one.answers.shape[1] for one in asked]
        numbers = [_question_digest(one.resolved) for one in asked]

        def repeated(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
            return np.repeat(np.column_stack(columns), widths, axis=1)

        columns: dict[str, npt.NDArray[Any]] = {
            "members": self.members,
            "answers": np.column_stack([one.answers for one in asked]),
            "truths": np.column_stack([one.truths for one in asked]),
            "outcomes": np.column_stack([_outcomes_of_numbers(one) for one in asked]),
            "repeats": repeated([one.repeats for one in asked]),
            "redrawn": repeated([one.redrawn for one in asked]),
            "independent": repeated([one.independent for one in asked]),
            "selected": np.repeat(np.array([one.resolved.targets for one in asked]), widths, axis=0),
            "scales": np.repeat(np.array([one.scale for one in asked]), widths),
            "questions": np.repeat(np.array(numbers, dtype=np.uint64), widths)
            + np.concatenate([np.arange(width, dtype=np.uint64) for width in widths]),
            "rows_per_person": np.array(self.rows_per_person or 0),
            "fresh_about_targets": self._n_fresh,
            "fresh_answers": self._n_answers,
        }
        if any(one.parts is not None for one in asked):
            parts = [one.parts or (np.full(one.answers.shape, np.nan),) * 2 for one in asked]
            columns["sums"], columns["counts"] = map(np.column_stack, zip(*parts))
        faults = [one.faults for one in asked if one.faults is not None]
        seconds = [one.seconds for one in asked if one.seconds is not None]
        if len(faults) == len(seconds) == len(asked):
            columns["faults"] = repeated([column.astype(np.uint8) for column in faults])
            columns["seconds"] = repeated([column.astype(np.float32) for column in seconds])
        missing = np.full(len(self.members), np.nan)
        for name in sorted({name for one in asked for name in one.fields}):
            columns[name] = repeated([one.fields.get(name, missing) for one in asked])
        return columns


def _answered(answers: Reals) -> Bits:
    """In which rounds there is any number."""
    return np.asarray(np.isfinite(answers).any(axis=1))


def _outcomes_of_numbers(asked: AskedQuestion) -> npt.NDArray[np.uint8]:
    """What a round gave for each number of an answer; a group may be left out where others are answered."""
    outcomes = np.repeat(asked.outcomes[:, None], asked.answers.shape[1], axis=1)
    outcomes[(outcomes == Outcome.ANSWERED) & np.isnan(asked.answers)] = Outcome.REFUSED
    return outcomes


def _filled_up(rows: npt.NDArray[Any], n_rounds: int, fill: float) -> npt.NDArray[Any]:
    missing = np.full((n_rounds - len(rows), *rows.shape[1:]), fill, dtype=rows.dtype)
    return np.concatenate([rows, missing])


def _selection(resolved: ResolvedQuery) -> Hashable:
    """What a question computes over which records, whatever its wording."""
    query, others = resolved.query, blake2b(resolved.others.tobytes(), digest_size=16).digest()
    groups = query.group_by, query.groups, query.edges
    return query.kind, query.column, query.bound, groups, others, resolved.targets.tobytes()


def _question_digest(resolved: ResolvedQuery) -> int:
    """A number for a question, the same in every block."""
    return int.from_bytes(
        blake2b(repr(resolved.query).encode(errors="surrogatepass"), digest_size=8).digest()
    )
