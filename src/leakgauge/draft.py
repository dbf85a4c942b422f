"""Draft a plan from a file of the user: recognise it, ask questions, write the plan, and preview its answer.

Each domain says what it recognises, asks and writes (``Domain.drafts``).
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.game import NoControl
from leakgauge.plan import Plan, plan_of_text
from leakgauge.runner.dry_run import RunCost, dry_run
from leakgauge.runner.run import run_plan
from leakgauge.summary import RunResult
from leakgauge.support.file_description import FileDescription, describe_file, is_json
from leakgauge.support.files import relative_path, write_file
from leakgauge.support.plan_draft import (
    FOLDER,
    MOST_QUESTIONS,
    NONE,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    Recognised,
)
from leakgauge.support.table_reader import require_known

PLAN_FILE, SCHEMA_FILE = "plan.toml", "plan.schema.json"
PREVIEW_SECONDS = 15.0  # of estimated work; estimates are right within a factor of about two
_FEWEST_ROUNDS = 20  # of a preview; fewer say nothing
_ENOUGH_ROUNDS = 80  # from which on intervals are known; a preview may take a little longer for them,
_STRETCH = 1.4  # up to so many times as long
_CONTROL_SHARE = 0.6  # of the preview that positive controls may take
_FAR = 0.4  # kinds that fit so much worse than the best are not named
_CLEAR_LEAD = 0.2  # by which the best kind must fit better than the next one to be taken without a question
_LEFT_OUT = NoControl(reason="it was left out of the preview to save time")


@dataclass(frozen=True)
class Match:
    """A kind that a file may be of, and how well it fits."""

    kind: str
    found: Recognised


@dataclass(frozen=True)
class Preview:
    """The answer of a few rounds of a plan; no result where even those would take too long."""

    rounds: int
    result: RunResult | None
    cost: RunCost


def draft_kinds() -> dict[str, DraftKind]:
    """Return all kinds of files and things that a plan can be drafted for, by name."""
    return {name: kind for name, (_, kind) in catalog.draft_kinds().items()}


def question_flags() -> dict[str, str]:
    """Return the flags of all questions, with a few words each."""
    return {key: words for kind in draft_kinds().values() for key, words in kind.keys.items()}


def match_kinds(file: FileDescription) -> list[Match]:
    """Return the kinds that a file may be of, the best first; those that fit far worse are left out."""
    kinds = {name: kind for name, kind in draft_kinds().items() if kind.reads_json or not file.is_json}
    found = {name: kind.recognise(file) for name, kind in kinds.items()}
    matches = [Match(name, fit) for name, fit in found.items() if fit is not None]
    best = max((match.found.score for match in matches), default=0.0)
    near = [match for match in matches if match.found.score > best - _FAR]
    return sorted(near, key=lambda match: -match.found.score)


def is_clear(matches: Sequence[Match]) -> bool:
    """Whether the best kind is sure, and the only one that fits well."""
    if not matches[0].found.sure:
        return False
    return len(matches) < 2 or matches[0].found.score - matches[1].found.score >= _CLEAR_LEAD


def choose_kind(file: FileDescription, matches: Sequence[Match], *, ask: bool = False) -> str:
    """Return the kind that fits best; refuse a file that no kind fits, or none surely and nobody is asked."""
    if matches and (ask or matches[0].found.sure):
        return matches[0].kind
    if matches:
        may_be = "; or ".join(f"{match.kind} ({match.found.because})" for match in matches)
        raise BadInput(
            f"{file.path}: what it is is not clear from its columns. It may be {may_be}. Say it with --kind "
            "(leakgauge show kinds explains them)"
        )
    known = ", ".join(draft_kinds())
    columns = ", ".join(file.names[:20]) or "no columns that can be read"
    raise BadInput(
        f"{file.path}: what it is cannot be recognised (it has {columns}); say it with --kind, one of {known}"
        " (leakgauge show kinds explains them)"
    )


def open_file(
    path: Path | None,
    kind: str | None,
    *,
    decimal: str | None = None,
    prompt: Callable[[Question], str] | None = None,
) -> FileDescription | None:
    """Describe the file, and check that the kind is known and gets the file that it needs.

    The user is asked for the mark before decimals where it is neither given nor clear.
    """
    if kind is not None:
        if kind not in draft_kinds():
            near = get_close_matches(kind, draft_kinds(), n=1, cutoff=0.75)  # 'location' is not 'function'
            known = f"known: {', '.join(draft_kinds())} (leakgauge show kinds explains them)"
            raise BadInput(f"no kind is called {kind!r}; {f'did you mean {near[0]!r}?' if near else known}")
        if path is None and draft_kinds()[kind].needs_file:
            raise BadInput(f"--kind {kind} needs a file: leakgauge new FILE --kind {kind}")
        if path is not None and is_json(path) and not draft_kinds()[kind].reads_json:
            raise BadInput(
                f"{path}: --kind {kind} does not read JSON lines; save the table as CSV or Parquet"
            )
    if path is None:
        return None
    if prompt is None:
        return describe_file(path, decimal=decimal)
    marks = {",": "before decimals", ".": "between thousands; such columns are then text"}
    question = Question(
        key="decimal",
        text="Where are the commas in numbers such as 1,234",
        choices=marks,
    )
    return describe_file(
        path,
        decimal=decimal,
        ask_decimal=lambda: str(answer_questions([question], {}, prompt)["decimal"]),
    )


def answer_questions(
    questions: Sequence[Question],
    given: Mapping[str, str],
    prompt: Callable[[Question], str] | None,
    *,
    most: int = MOST_QUESTIONS,
    complain: Callable[[str], None] = lambda _: None,
) -> dict[str, object]:
    """Answer questions by flags, by the user (``prompt``) or by defaults, in this order.

    A wrong answer of the user is asked for again; a wrong flag is refused. No more than ``most`` questions
    are put to the user.
    """
    for key in given:
        require_known(key, [question.key for question in questions], "no question about this kind of file")
    answers: dict[str, object] = {}
    for unread in questions:
        question = unread if unread.key in given else unread.after(answers)
        asked = question.asked(answers)
        if question.key in given:
            answers[question.key] = _flag_value(question, given[question.key])
        elif not asked and question.default is None:
            answers[question.key] = None
        elif asked and prompt is not None and most > 0:
            most -= 1
            answers[question.key] = _prompted_value(question, prompt, complain)
        elif question.default is None:
            raise BadInput(f"{question.sentence} Nothing can be assumed here; answer with --{question.key}")
        else:
            answers[question.key] = question.value(question.default)
    return answers


def assumed_answers(
    questions: Sequence[Question], given: Collection[str], answers: Mapping[str, object]
) -> dict[str, str]:
    """Return the questions that were answered by their defaults.

    ``given`` are those that a flag or the user answered.
    """
    return {
        question.key: question.default
        for question in _left_open(questions, given, answers)
        if question.default is not None
    }


def assumed_keys(
    questions: Sequence[Question], stated: Collection[str], answers: Mapping[str, object]
) -> tuple[str, ...]:
    """Return the keys of the plan that defaults decide, where a wrong value could reassure.

    ``stated`` are the questions that a flag or words of the user answered; Enter states nothing.
    """
    return tuple(
        question.decides
        for question in _left_open(questions, stated, answers)
        if question.decides and question.default not in (None, NONE)
    )


def _left_open(
    questions: Sequence[Question], given: Collection[str], answers: Mapping[str, object]
) -> list[Question]:
    return [
        question.after(answers)
        for question in questions
        if question.key not in given and question.asked(answers)
    ]


def _flag_value(question: Question, answer: str) -> object:
    try:
        return question.value(answer)
    except BadInput as error:
        raise BadInput(f"--{question.key}: {error}") from None


def _prompted_value(
    question: Question, prompt: Callable[[Question], str], complain: Callable[[str], None]
) -> object:
    while True:
        answer = prompt(question).strip() or question.default
        if answer is None:
            complain("an answer is needed here")
            continue
        try:
            return question.value(answer)
        except BadInput as error:
            complain(str(error))


def draft_folder(kind: str, path: Path | None, wanted: Path | None = None) -> Path:
    """Return where a plan is written: where the user wants it, if it can be there."""
    if path is None:
        return wanted or Path(f"{kind}-audit")
    if wanted is not None:
        if draft_kinds()[kind].imports_file and wanted.resolve() != path.resolve().parent:
            raise BadInput(
                f"--out {wanted}: the plan imports {path.name}, so it must be in the same folder; leave out "
                f"--out, or move {path.name} to {wanted} first"
            )
        return wanted
    if draft_kinds()[kind].beside_file:
        return path if path.is_dir() else path.parent
    return Path(f"{_safe_name(path)}-audit")


def draft_plan(
    kind: str,
    file: FileDescription | None,
    answers: Mapping[str, object],
    folder: Path,
    assumed: Sequence[str] = (),
) -> DraftedPlan:
    """Draft the plan of a kind, to be written to a folder; a plan that its own reader refuses is a bug.

    ``assumed`` are the keys of the plan that nobody stated.
    """
    source = "" if file is None else relative_path(file.path, folder)
    name = kind if file is None else _safe_name(file.path)
    context = DraftContext(
        file=file, source=source, answers=answers, name=name, folder=folder, assumed=tuple(assumed)
    )
    drafted = draft_kinds()[kind].draft(context)
    if drafted.command:
        return replace(drafted, command=tuple(word.replace(FOLDER, str(folder)) for word in drafted.command))
    text = f"#:schema ./{SCHEMA_FILE}\n{drafted.text}"
    plan_of_text(text, folder)
    return replace(drafted, text=text)


def _safe_name(path: Path) -> str:
    """The name of an audit for a file or folder.

    >>> _safe_name(Path("my trips.csv.gz"))
    'my-trips'
    """
    stem = path.resolve().name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_]+", "-", stem).strip("-") or "release"


def write_draft(drafted: DraftedPlan, folder: Path, schema: str, *, force: bool = False) -> Path:
    """Write a plan, its schema and the files beside it; nothing is replaced unless ``force`` is set."""
    plan = {SCHEMA_FILE: schema, PLAN_FILE: drafted.text} if drafted.text else {}
    files = {**drafted.files, **plan}
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; choose another folder (--out)")
    there = [name for name in files if name != SCHEMA_FILE and (folder / name).exists()]
    if there and not force:
        raise BadInput(
            f"{folder / there[0]}: exists already; choose another folder (--out), or replace it (--force)"
        )
    for name, text in files.items():  # the plan is the last
        write_file(folder / name, text.encode())
    return folder / PLAN_FILE


def preview_plan(plan: Plan, seconds: float = PREVIEW_SECONDS) -> Preview:
    """Run as many rounds of a plan as are estimated to take so many seconds, and keep nothing of it.

    The preview has a seed of its own, so that a run of the plan does not depend on it.
    """
    cost = dry_run(plan)
    with_control = cost.control_seconds <= _CONTROL_SHARE * seconds
    rounds = preview_rounds(plan, cost, seconds, with_control=with_control)
    if not rounds:
        return Preview(0, None, cost)
    audits = tuple(
        replace(audit, rounds=min(audit.rounds, rounds), block=min(audit.block, rounds))
        for audit in plan.audits
    )
    few = replace(plan, audits=audits, seed=plan.seed ^ 1)
    with TemporaryDirectory(prefix="leakgauge-preview-") as folder:
        result = run_plan(few, Path(folder) / "run", without_control=None if with_control else _LEFT_OUT)
    return Preview(rounds, result, cost)


def preview_rounds(plan: Plan, cost: RunCost, seconds: float, *, with_control: bool) -> int:
    """How many rounds of each audit take so many seconds by the estimate; 0 where too few would."""
    most = max(audit.rounds for audit in plan.audits)
    fixed = cost.seconds - cost.round_seconds * cost.rounds / cost.audits
    if not with_control:
        fixed -= cost.control_seconds
    affordable = most if cost.round_seconds <= 0 else int((seconds - fixed) / cost.round_seconds)
    enough = min(_ENOUGH_ROUNDS, most)
    if affordable < enough <= (longer := (_STRETCH * seconds - fixed) / max(cost.round_seconds, 1e-12)):
        affordable = int(min(most, longer))
    rounds = min(most, affordable)
    return rounds if rounds >= min(_FEWEST_ROUNDS, most) else 0
