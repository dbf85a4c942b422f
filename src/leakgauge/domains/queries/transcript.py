"""The transcript of an oracle: every question of an attacker, what each round answered, and the truth.

Rows are rounds, columns are questions. True answers follow from ``totals``, ``shifts`` and ``members``. The
file of a transcript is for the owner of the data alone.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Ints, Reals, Transcript
from leakgauge.domains.queries.records import ResolvedQuery

MOST_ENTRIES = 2**18  # answers that are kept of a block; of further ones only the number


class Outcome(IntEnum):
    """What a round gave for a question."""

    ANSWERED = 0
    REFUSED = 1
    ERROR = 2
    NOT_ASKED = 3


@dataclass(frozen=True, eq=False)
class AskedQuestion:
    """One question to all rounds of a block, or one group of it."""

    resolved: ResolvedQuery
    total: float  # true answer about the others
    shifts: Reals  # what each target adds to it
    answers: Reals
    outcomes: npt.NDArray[np.uint8]
    repeats: Bits  # asked before in that round, by the stated cache
    redrawn: Bits  # and answered differently
    independent: Bits  # answered with noise that is stated to be independent of all earlier answers
    faults: Ints | None  # of all tries
    seconds: Reals | None


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
        errors: Bits | None = None,
        faults: Ints | None = None,
        seconds: Reals | None = None,
        additive: bool = True,
    ) -> Bits:
        """Keep the answers to a question; return where they are fresh, which a budget has to pay for.

        Where only the first rounds were asked, answers are theirs. Answers have a column for each group of a
        question with groups. Those that are not the truth plus the stated noise, as averages, are not
        ``additive``: their noise is not tested.
        """
        n_asked, n_rounds = len(answers), len(self.members)
        answers = np.concatenate([answers, np.full((n_rounds - n_asked, *answers.shape[1:]), np.nan)])
        answered = _any_group(~np.isnan(answers))
        repeats, same = self._compare(self._stated, key, answers)
        known, again = self._compare(self._recognised, _selection(resolved), answers)
        fresh = answered & ~same & ~(again & self._are_repeats(again, known))
        certain = answered & ~same & ~again
        independent = fresh if self.real_valued else answered & ~known
        self._n_fresh += np.outer(certain, resolved.targets)
        self._n_answers += certain
        outcomes = np.where(answered, Outcome.ANSWERED, Outcome.REFUSED).astype(np.uint8)
        outcomes[n_asked:] = Outcome.NOT_ASKED
        if errors is not None:
            outcomes[:n_asked][errors] = Outcome.ERROR
        if faults is not None:
            faults = np.concatenate([faults, np.zeros(n_rounds - n_asked, dtype=np.int64)])
        if seconds is not None:
            seconds = np.concatenate([seconds, np.full(n_rounds - n_asked, np.nan)])
        self.fresh_last = bool(certain.any())
        if len(self._asked) * n_rounds + answers.size <= MOST_ENTRIES or not self._asked:
            totals, shifts = np.atleast_1d(resolved.total), resolved.shifts.reshape(self.members.shape[1], -1)
            for group, column in enumerate(answers.reshape(n_rounds, -1).T):
                fresh_noise = independent & ~np.isnan(column) & additive
                asked = AskedQuestion(
                    resolved=resolved,
                    total=float(totals[group]),
                    shifts=shifts[:, group],
                    answers=column,
                    outcomes=outcomes,
                    repeats=repeats,
                    redrawn=repeats & ~same,
                    independent=fresh_noise,
                    faults=faults,
                    seconds=seconds,
                )
                self._asked.append(asked)
        return fresh

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
        given[key] = np.where(np.isnan(answers), before, answers)
        both = ~np.isnan(before) & ~np.isnan(answers)
        return _any_group(both), _any_group(both) & ~_any_group(both & (answers != before))

    @property
    def columns(self) -> Transcript:
        """The transcript; empty where nothing was asked."""
        if not self._asked:
            return {}
        asked = self._asked
        columns: dict[str, npt.NDArray[Any]] = {
            "members": self.members,
            "answers": np.column_stack([one.answers for one in asked]),
            "outcomes": np.column_stack([one.outcomes for one in asked]),
            "repeats": np.column_stack([one.repeats for one in asked]),
            "redrawn": np.column_stack([one.redrawn for one in asked]),
            "independent": np.column_stack([one.independent for one in asked]),
            "totals": np.array([one.total for one in asked]),
            "shifts": np.array([one.shifts for one in asked]),
            "selected": np.array([one.resolved.targets for one in asked]),
            "sensitivities": np.array([one.resolved.query.sensitivity for one in asked])
            * (self.rows_per_person or 1),
            "rows_per_person": np.array(self.rows_per_person or 0),
            "questions": np.array([_question_digest(one.resolved) for one in asked], dtype=np.uint64),
            "fresh_about_targets": self._n_fresh,
            "fresh_answers": self._n_answers,
        }
        faults = [one.faults for one in asked if one.faults is not None]
        seconds = [one.seconds for one in asked if one.seconds is not None]
        if len(faults) == len(seconds) == len(asked):
            columns["faults"] = np.column_stack(faults).astype(np.uint8)
            columns["seconds"] = np.column_stack(seconds).astype(np.float32)
        return columns


def _any_group(found: Bits) -> Bits:
    """Where something holds in a round, in any group of its answer."""
    return found if found.ndim == 1 else np.asarray(found.any(axis=1))


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


def true_answers(transcript: Transcript) -> Reals:
    """Rounds x questions: the answers without noise."""
    return np.asarray(transcript["totals"] + transcript["members"] @ transcript["shifts"].T)
