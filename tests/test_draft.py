"""How plans are drafted: questions, folders, previews. What each domain recognises is in its own tests."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from leakgauge import draft
from leakgauge.core.errors import BadInput
from leakgauge.plan import plan_of
from leakgauge.runner.dry_run import RunCost
from leakgauge.support.file_description import describe_file
from leakgauge.support.plan_draft import MOST_QUESTIONS, DraftedPlan, Question, limit_question, read_number

EPSILON = Question(key="epsilon", text="Which epsilon", default="1", read=read_number())
COLUMN = Question(key="column", text="Which column")
UNIT = Question(key="unit", text="Which unit", default="event", asked=lambda answers: answers["epsilon"] > 2)


def test_flags_come_before_the_user_and_the_user_before_defaults():
    asked = []

    def prompt(question):
        asked.append(question.key)
        return ""

    answers = draft.answer_questions([EPSILON, COLUMN, UNIT], {"column": "a"}, prompt)
    assert answers == {"epsilon": 1.0, "column": "a", "unit": "event"}
    assert asked == ["epsilon"]  # the unit is not asked for a small epsilon


def test_a_wrong_answer_is_asked_for_again_with_the_reason():
    given, complaints = iter(["much", "-1", "3"]), []
    answers = draft.answer_questions([EPSILON], {}, lambda _: next(given), complain=complaints.append)
    assert answers == {"epsilon": 3.0}
    assert complaints == ["must be a number, got 'much'", "must be above 0, got -1"]


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        ("0,6", "'0,6'; write 0.6"),
        ("60%", "'60%'; write 0.6"),
        ("60", "got 60; write 0.6 for 60 %"),
        ("1,000", "got '1,000'"),
    ],
)
def test_a_decimal_comma_or_a_percentage_is_answered_with_the_number(answer, end):
    with pytest.raises(BadInput) as caught:
        limit_question().value(answer)
    assert str(caught.value).endswith(end)


def test_a_wrong_flag_is_refused_by_its_name():
    with pytest.raises(BadInput, match=r"^--epsilon: must be above 0, got 0$"):
        draft.answer_questions([EPSILON], {"epsilon": "0"}, None)


def test_without_a_terminal_a_question_without_a_default_names_its_flag():
    with pytest.raises(BadInput, match=r"Which column.* answer with --column"):
        draft.answer_questions([COLUMN], {}, None)


def test_a_flag_of_another_kind_is_refused():
    with pytest.raises(BadInput, match="did you mean 'epsilon'"):
        draft.answer_questions([EPSILON], {"epsilons": "1"}, None)


def test_no_more_questions_are_asked_than_allowed():
    many = [replace(EPSILON, key=f"e{i}") for i in range(MOST_QUESTIONS + 3)]
    asked = []
    draft.answer_questions(many, {}, lambda question: asked.append(question.key) or "2")
    assert len(asked) == MOST_QUESTIONS


def test_all_kinds_have_a_line_and_flags_for_all_their_questions():
    for name, kind in draft.draft_kinds().items():
        assert kind.about.endswith((".", "?")), name
        assert kind.keys, name
    assert draft.question_flags()["epsilon"]


def test_an_unknown_file_lists_the_kinds(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("remark\nhello\nworld\n")
    file = describe_file(path)
    with pytest.raises(BadInput, match=r"cannot be recognised \(it has remark\); say it with --kind, one of"):
        draft.choose_kind(file, draft.match_kinds(file))


def test_a_kind_that_needs_a_file_says_so():
    with pytest.raises(BadInput, match="--kind visits needs a file: leakgauge new FILE --kind visits"):
        draft.open_file(None, "visits")
    with pytest.raises(BadInput, match="did you mean 'visits'"):
        draft.open_file(None, "visit")


def test_the_folder_is_named_after_the_file_and_code_stays_where_it_is():
    assert draft.draft_folder("visits", Path("data/my trips.csv.gz")) == Path("my-trips-audit")
    assert draft.draft_folder("function", Path("code/mine.py")) == Path("code")
    assert draft.draft_folder("function", None) == Path("function-audit")


def test_nothing_is_replaced_unless_forced(tmp_path):
    drafted = DraftedPlan(text="new", files={"release.py": "pass"})
    (tmp_path / "release.py").write_text("mine")
    with pytest.raises(BadInput, match=r"release\.py: exists already"):
        draft.write_draft(drafted, tmp_path, "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["release.py"]
    draft.write_draft(drafted, tmp_path, "{}", force=True)
    assert (tmp_path / "release.py").read_text() == "pass"
    assert {path.name for path in tmp_path.iterdir()} == {"release.py", "plan.toml", "plan.schema.json"}


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(BadInput, match="is a file; choose another folder"):
        draft.write_draft(DraftedPlan(text="x"), tmp_path / "out", "{}")


def cost(*, rounds, round_seconds, fixed, control=0.0):
    return RunCost(
        audits=1,
        verdicts=1,
        rounds=rounds,
        blocks=1,
        trials=rounds,
        seconds=fixed + rounds * round_seconds,
        seconds_range=(0.0, 0.0),
        memory=0,
        measured=1,
        work={},
        control_rounds=100,
        control_seconds=control,
        control_work={},
        control_obstacles=(),
        request_total=None,
        round_seconds=round_seconds,
    )


def plan(rounds):
    return plan_of({"audit": [{"name": "x", "domain": "blackbox", "rounds": rounds}]})


@pytest.mark.parametrize(
    ("rounds", "each", "fixed", "expected"),
    [
        (1000, 0.01, 5.0, 1000),  # all of them: 10 s of the 10 s that are left
        (1000, 0.1, 5.0, 100),
        (1000, 0.16, 5.0, 100),  # 62 would fit, and intervals need more: what fits in 21 s
        (1000, 0.4, 5.0, 25),
        (1000, 1.0, 5.0, 0),  # too few to say anything
        (1000, 0.01, 25.0, 0),  # too long before the first round
        (1, 0.5, 2.0, 1),  # there is only one
    ],
)
def test_the_rounds_of_a_preview_follow_from_the_estimated_work(rounds, each, fixed, expected):
    estimate = cost(rounds=rounds, round_seconds=each, fixed=fixed)
    found = draft.preview_rounds(plan(rounds), estimate, 15.0, with_control=True)
    assert abs(found - expected) <= 1


def test_controls_that_are_left_out_make_room_for_rounds():
    estimate = cost(rounds=1000, round_seconds=0.1, fixed=12.0, control=10.0)
    assert draft.preview_rounds(plan(1000), estimate, 15.0, with_control=False) == 130


def test_a_preview_keeps_nothing_and_has_another_seed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = {"name": "x", "domain": "blackbox", "rounds": 200, "challenger": {"pair": [0, 1]}}
    table |= {"mechanism": {"name": "laplace", "epsilon": 1.0}, "attacks": ["likelihood"]}
    found = draft.preview_plan(plan_of({"seed": 6, "audit": [table]}))
    assert found.rounds == 200
    (verdict,) = found.result
    assert verdict.rounds == 200
    assert verdict.seed == 7
    assert list(tmp_path.iterdir()) == []


def test_a_command_is_given_the_folder_of_its_files(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("member,score\n1,2.5\n0,1.5\n")
    file = describe_file(path)
    kind = draft.choose_kind(file, draft.match_kinds(file))
    questions = draft.draft_kinds()[kind].questions(file)
    drafted = draft.draft_plan(kind, file, draft.answer_questions(questions, {}, None), tmp_path / "out")
    assert drafted.command == ("judge", str(path), "--policy", f"{tmp_path / 'out'}/policy.toml")
    assert tomllib.loads(drafted.files["policy.toml"]) == {"limits": {"accuracy": 0.6}}
