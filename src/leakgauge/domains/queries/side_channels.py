"""What a service tells besides its answers, by who is in the table.

Refusals, errors, response times, and all that its replies hold: other fields, headers, status and lengths.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.queries.answer_table import AnswerTable
from leakgauge.domains.queries.oracle import OracleRules
from leakgauge.domains.queries.transcript import NUMBER, TEXT, Outcome
from leakgauge.referee.noise_tests import NoiseTest
from leakgauge.referee.side_channels import (
    balanced_rounds,
    guessed_by,
    low_order_bits,
    promise_where_seen,
    told_by,
    told_where_seen,
)

FEWEST_ROUNDS = 20  # fewer are not tested
EXPLAINED = (f"{NUMBER}the length of the body",)  # by the digits of the answer
MOST_TARGETS = 3  # whose channels are tested
MOST_ANSWERS = 30  # of a round whose last bits are tested
RESPONSE_TIMES = "response_times"
_ROUNDS_KEPT = 0.8  # of the rounds with one answered question: so many must have all that are compared
_SAME = 0.5  # a guess that says nothing
NOTICEABLE_TIME = log(3)  # epsilon of times that tell the bit in 75 % of rounds; less is not reported


@dataclass(frozen=True, eq=False)
class _Channel:
    """A number for each round that should not tell who is in the table."""

    name: str
    subject: str  # of a sentence
    signal: Reals
    allowed: float | None  # epsilon up to which it is taken to be as stated; nothing: it may tell something
    only_where_seen: bool = False  # whether rounds without a number are left out, and are no signal

    def promised(self, members: Bits, guarantee: Guarantee) -> tuple[float, float]:
        """The epsilon and delta of the promise for what is compared."""
        if not self.only_where_seen:
            return guarantee.epsilon, guarantee.delta
        return promise_where_seen(guarantee.epsilon, guarantee.delta, self.signal, members)

    def test(self, members: Bits, epsilon: float, delta: float, *, name: str, finding: str) -> NoiseTest:
        told = told_where_seen if self.only_where_seen else told_by
        found = told(self.signal, members, epsilon, delta, name=name, finding=finding)
        return replace(found, channel=self.subject.removesuffix(" tell"))


def side_channel_tests(
    answers: AnswerTable, rules: OracleRules, guarantee: Guarantee | None, *, two_copies: bool = False
) -> list[NoiseTest]:
    """Test whether refusals, errors, times or the last bits of answers tell who is in the table.

    Times of ``two_copies`` of a table are not compared: one may be on a faster machine.

    Beyond the promise that is a violation. Below it the service is only not as stated, since what an
    accountant that charges every answer refuses depends on nobody.
    """
    tests: list[NoiseTest] = []
    n_rounds, n_targets = answers.members.shape
    if n_rounds < FEWEST_ROUNDS:
        return tests
    for target in range(min(n_targets, MOST_TARGETS)):
        members, asked = answers.members[:, target], answers.selected[:, :, target]
        asked = asked & answers.asked_of_all
        for channel in _channels(answers, members, asked, rules):
            if two_copies and channel.name == RESPONSE_TIMES:
                continue
            if guarantee is not None:
                epsilon, delta = channel.promised(members, guarantee)
                tests.append(
                    channel.test(
                        members,
                        epsilon,
                        delta,
                        name=f"{channel.name}_beyond_promise",
                        finding=f"{channel.subject} whether the target is in the table, more often than "
                        "the promise allows",
                    )
                )
            if channel.allowed is None:
                continue
            test = channel.test(
                members,
                channel.allowed,
                0.0,
                name=channel.name,
                finding=f"{channel.subject} whether the target is in the table",
            )
            tests.append(_only_not_as_stated(test))
        tests += _low_bits(answers, members, asked, rules)
        if guarantee is not None:
            tests += _field_tests(answers, members, asked, guarantee)
    return tests


def unread_fields(answers: AnswerTable) -> tuple[str, ...]:
    """What takes three or more values for one question: no test reads texts, nor numbers beside the answers.

    A number may be compared between the worlds and still tell the noise of the answer that it comes with.
    """
    kinds, unread = _kinds_of_replies(answers), []
    for name, values in answers.fields.items():
        seen = np.isfinite(values) & answers.asked_of_all
        given = np.unique(np.stack([kinds[seen].astype(np.float64), values[seen]]), axis=1)[0]
        if name not in EXPLAINED and given.size and np.unique(given, return_counts=True)[1].max() > 2:
            unread.append(f"{name.removeprefix(TEXT).removeprefix(NUMBER)} of a reply")
    return tuple(unread)


def _kinds_of_replies(answers: AnswerTable) -> npt.NDArray[np.int64]:
    """The same number for answers to the same question, for refusals of it, and for its errors."""
    _, questions = np.unique(answers.questions, return_inverse=True)
    kinds = questions.reshape(answers.questions.shape) * len(Outcome) + answers.outcomes
    return np.asarray(kinds, dtype=np.int64)


def _field_tests(
    answers: AnswerTable, members: Bits, asked: Bits, guarantee: Guarantee
) -> Iterator[NoiseTest]:
    """Test whether something in replies besides the answer tells the target, more than the promise allows.

    Whether there is an answer is a channel of its own: answers are compared with answers, and refusals with
    refusals.
    """
    n_asked = min(int(asked.sum(axis=1).min()), MOST_ANSWERS)
    order = np.argsort(~asked, axis=1, kind="stable")[:, :n_asked]  # the questions about the target
    kinds = np.take_along_axis(_kinds_of_replies(answers), order, axis=1)
    outcomes = np.take_along_axis(answers.outcomes, order, axis=1)
    for name, columns in answers.fields.items():
        values = np.take_along_axis(columns, order, axis=1)
        guesses = _as_in_the_first_round(values, kinds, members)
        if (guesses == _SAME).all():  # for each question the same in all rounds
            continue
        tests = [  # all guesses are fixed by the first rounds, or a rule is chosen on every second round
            guessed_by(guesses.mean(axis=1) - _SAME, members, guarantee.epsilon, guarantee.delta)
        ]
        if name.startswith(NUMBER):
            answered = np.where(outcomes == Outcome.ANSWERED, values, np.nan)
            filled = np.where(np.isfinite(answered), answered, np.nanmin(answered, initial=0.0))
            tests.append(told_by(filled, members, guarantee.epsilon, guarantee.delta))
        said = name.removeprefix(TEXT).removeprefix(NUMBER)
        best = min(tests, key=lambda test: test.p_value)
        yield replace(
            best,
            p_value=min(1.0, len(tests) * best.p_value),
            channel=f"{said} of a reply",
            name="replies_beyond_promise",
            finding=f"{said} of a reply tells whether the target is in the table, more often than the "
            "promise allows",
        )


def _as_in_the_first_round(values: Reals, kinds: npt.NDArray[np.int64], members: Bits) -> Reals:
    """Guess from each value by the first round in which the same question got a reply of this kind.

    The same value says that the target is where it was in that round, another one that it is not. That
    round itself says nothing, nor do all until there was another value: a guess depends on no later round.
    """
    guesses = np.full(values.shape, _SAME)
    for kind in np.unique(kinds):
        rows, columns = np.nonzero((kinds == kind) & np.isfinite(values))
        same = values[rows, columns] == values[rows[:1], columns[:1]]
        told = np.logical_or.accumulate(~same)
        guesses[rows[told], columns[told]] = (same == members[rows[:1]])[told]
    return guesses


def _channels(answers: AnswerTable, members: Bits, asked: Bits, rules: OracleRules) -> Iterator[_Channel]:
    """The channels that carry anything: one that is the same in all rounds tells nothing."""
    times = _mean_seconds(answers, members, asked)
    counted = [
        _Channel("errors", "errors of the service tell", _per_round(answers.faults, asked), 0.0),
        _Channel(RESPONSE_TIMES, "response times tell", times, NOTICEABLE_TIME, only_where_seen=True),
    ]
    if rules.accountant != "per_row":  # whose refusals depend on who is in the table, by its definition
        refused = answers.outcomes == Outcome.REFUSED
        allowed = 0.0 if rules.at_least is None else None  # small counts are refused by what is in the table
        counted.append(_Channel("refusals", "refusals tell", _per_round(refused, asked), allowed))
    for channel in counted:
        seen = channel.signal[np.isfinite(channel.signal)]
        if seen.size and seen.min() < seen.max():
            yield channel


def _per_round(counts: npt.NDArray[Any], asked: Bits) -> Reals:
    return np.where(asked, counts, 0).sum(axis=1).astype(np.float64)


def _mean_seconds(answers: AnswerTable, members: Bits, asked: Bits) -> Reals:
    """The mean time of the same questions in all rounds that answered them; NaN in all other rounds.

    A question that was refused or failed, also one that was answered in a later try, has no time: its
    refusal and its error are channels of their own. So that the time of a round does not depend on which
    questions it answered, questions that few rounds answered are left out, then rounds without one of the
    others. Nothing is compared where too few rounds are left.
    """
    answered = asked & (answers.outcomes == Outcome.ANSWERED) & (answers.faults == 0)
    seconds = np.where(answered, answers.seconds, np.nan)
    seconds = np.take_along_axis(seconds, np.argsort(~asked, axis=1, kind="stable"), axis=1)
    answered = np.isfinite(seconds)  # the first question about the target, the second, ...
    order = np.argsort(-_fewest_of_a_kind(answered, members), kind="stable")
    complete = np.logical_and.accumulate(answered[:, order], axis=1)
    n_rounds = _fewest_of_a_kind(complete, members)
    n_compared = int(np.count_nonzero(n_rounds >= _ROUNDS_KEPT * n_rounds[0]))
    seen = complete[:, n_compared - 1]
    if not seen.all() and balanced_rounds(members, seen).size < FEWEST_ROUNDS:
        return np.full(len(members), np.nan)
    return np.where(seen, seconds[:, order[:n_compared]].mean(axis=1), np.nan)


def _fewest_of_a_kind(found: Bits, members: Bits) -> npt.NDArray[np.int64]:
    """In how many rounds each column is true: with the target or without it, whichever are fewer."""
    with_target, without = (found[members == world].sum(axis=0) for world in (True, False))
    return np.minimum(with_target, without)


def _low_bits(answers: AnswerTable, members: Bits, asked: Bits, rules: OracleRules) -> list[NoiseTest]:
    """Whether the last bits of answers about a target tell more than one answer may."""
    if not rules.real_valued:
        return []
    usable = (asked & answers.independent).all(axis=0)  # whether there is an answer may tell something too
    if not usable.any():
        return []
    columns = np.flatnonzero(usable)[:MOST_ANSWERS]
    one_answer = rules.noise.guarantee
    return [
        low_order_bits(
            answers.answers[:, columns],
            members,
            one_answer.epsilon,
            one_answer.delta,
            alike=_alike(answers.truths[:, columns]),
        )
    ]


def _alike(truths: Reals) -> npt.NDArray[np.int64]:
    """The same number for questions that have the same true answers in all rounds."""
    _, numbers = np.unique(truths, axis=1, return_inverse=True)
    return np.asarray(numbers, dtype=np.int64).ravel()


def _only_not_as_stated(test: NoiseTest) -> NoiseTest:
    return replace(test, violates=False)
