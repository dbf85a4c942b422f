"""The recorder of transcripts: what is repeated, redrawn, fresh and independent, by hand."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from leakgauge.domains.queries.query import Query
from leakgauge.domains.queries.transcript import Outcome, TranscriptRecorder

NAN = np.nan


@dataclass(frozen=True, eq=False)
class Resolved:
    """What the recorder reads of a resolved question."""

    query: Query
    others: Any
    targets: Any
    total: Any
    shifts: Any


def resolved(*ids, about_target=True, total=2.0, shifts=(1.0,)):
    others = np.array(ids, dtype=np.int64)
    return Resolved(Query(ids=ids), others, np.array([about_target]), np.asarray(total), np.array(shifts))


def recorder(*, real_valued=True, members=((True,), (False,))):
    return TranscriptRecorder(np.array(members), real_valued=real_valued)


def add(to, question, answers, key=None, **more):
    return to.add(question, np.array(answers, dtype=float), key=key, scale=4.0, **more).tolist()


def test_truths_follow_from_the_targets_that_are_present():
    to = recorder()
    add(to, resolved(1), [3.5, NAN])
    kept = to.columns
    assert kept["truths"].tolist() == [[3.0], [2.0]]
    assert kept["outcomes"].tolist() == [[Outcome.ANSWERED], [Outcome.REFUSED]]
    assert kept["fresh_about_targets"].tolist() == [[1], [0]]
    assert kept["scales"].tolist() == [4.0]


def test_cached_answer_is_free_and_a_redrawn_one_is_not():
    to = recorder()
    assert add(to, resolved(1), [3.5, 2.5], key="a") == [True, True]
    assert add(to, resolved(1), [3.5, 2.75], key="a") == [False, True]
    kept = to.columns
    assert kept["repeats"].tolist() == [[False, True], [False, True]]
    assert kept["redrawn"].tolist() == [[False, False], [False, True]]
    assert kept["independent"].tolist() == [[True, False], [True, True]]
    assert kept["fresh_answers"].tolist() == [1, 2]


def test_the_same_real_number_for_the_same_records_is_free_under_any_statement():
    to = recorder()
    add(to, resolved(1), [3.5, 2.5])
    assert add(to, resolved(1), [3.5, 2.75]) == [False, True]
    assert to.columns["repeats"].any() == False  # noqa: E712 (nothing is stated to be cached)


def test_the_same_whole_number_costs_but_is_not_certain():
    to = recorder(real_valued=False)
    add(to, resolved(1), [3.0, 2.0])
    assert add(to, resolved(1), [3.0, 4.0]) == [True, True]
    assert to.columns["fresh_answers"].tolist() == [1, 2]
    assert to.columns["independent"].tolist() == [[True, False], [True, False]]


def test_answers_with_several_numbers_have_a_column_for_each():
    to = recorder()
    question = resolved(1, total=[2.0, 5.0], shifts=[[1.0, 0.0]])
    assert add(to, question, [[3.5, 5.25], [2.5, NAN]], key="a") == [True, True]
    assert add(to, question, [[3.5, 5.25], [2.5, NAN]], key="a") == [False, False]
    kept = to.columns
    assert kept["truths"][:, :2].tolist() == [[3.0, 5.0], [2.0, 5.0]]
    assert kept["answers"].shape == kept["outcomes"].shape == (2, 4)
    assert np.unique(kept["questions"]).size == 2
    assert kept["fresh_answers"].tolist() == [1, 1]


def test_a_group_that_is_left_out_is_refused():
    to = recorder()
    add(to, resolved(1, total=[2.0, 5.0], shifts=[[1.0, 0.0]]), [[3.5, 5.25], [NAN, 5.5]])
    assert to.columns["outcomes"].tolist() == [
        [Outcome.ANSWERED, Outcome.ANSWERED],
        [Outcome.REFUSED, Outcome.ANSWERED],
    ]


def test_rounds_that_are_not_asked_are_marked():
    to = recorder()
    add(to, resolved(1), [3.5, 2.5], faults=np.array([0, 2]), seconds=np.array([0.5, 0.25]))
    add(to, resolved(2), [3.5], faults=np.array([1]), seconds=np.array([0.5]), errors=np.array([False]))
    kept = to.columns
    assert kept["outcomes"].tolist()[1] == [Outcome.ANSWERED, Outcome.NOT_ASKED]
    assert kept["faults"].tolist() == [[0, 1], [2, 0]]
    assert np.isnan(kept["seconds"][1, 1])
    assert (to.most_fresh(0), to.most_fresh(1), to.fresh_last) == (2, 1, True)


def test_noise_that_is_not_added_has_no_truth():
    to = recorder()
    add(to, resolved(1), [3.5, 2.5], additive=False)
    assert np.isnan(to.columns["truths"]).all()


def test_many_answers_are_counted_and_not_kept(monkeypatch):
    monkeypatch.setattr("leakgauge.domains.queries.transcript.MOST_ENTRIES", 4)
    to = recorder()
    for i in range(5):
        add(to, resolved(i), [3.5 + i, 2.5 + i])
    assert to.columns["answers"].shape == (2, 2)
    assert to.columns["fresh_answers"].tolist() == [5, 5]


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_asked_is_an_empty_transcript(n):
    to = recorder()
    for _ in range(n):
        add(to, resolved(1), [NAN, NAN])
    assert bool(to.columns) == bool(n)
