"""Draft a plan from a file with the answers that were given and the defaults, as the command does."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakgauge import catalog, draft
from leakgauge.plan import Plan, plan_of_text
from leakgauge.support.plan_draft import MOST_QUESTIONS, DraftedPlan


def recognised(path: Path) -> str:
    """The kind that a file is taken for."""
    file = draft.open_file(path, None)
    assert file is not None
    return draft.choose_kind(file, draft.match_kinds(file))


def drafted(path: Path | None, kind: str, folder: Path, **given: str) -> DraftedPlan:
    """The draft of a kind."""
    file = draft.open_file(path, kind)
    questions = draft.draft_kinds()[kind].questions(file)
    known = draft.draft_kinds()[kind].keys
    assert {question.key for question in questions} <= set(known)  # every question has a flag
    flags = {key.replace("_", "-"): value for key, value in given.items()}
    assert_few_questions(questions, flags)
    return draft.draft_plan(kind, file, draft.answer_questions(questions, flags, None), folder)


def assert_few_questions(questions: Any, flags: Mapping[str, str]) -> None:
    """No more questions are asked of somebody who gives these answers than are allowed, the kind included."""
    if any(question.default is None and question.key not in flags for question in questions):
        return
    asked: list[str] = []

    def prompt(question: Any) -> str:
        asked.append(question.key)
        return ""

    draft.answer_questions(questions, dict(flags), prompt, most=99)
    answered = [question.key for question in questions if question.key in flags]
    assert len({*asked, *answered}) <= len(questions)
    assert len(asked) <= MOST_QUESTIONS


def drafted_plan(path: Path | None, kind: str, folder: Path, **given: str) -> Plan:
    """The plan of a draft, after its data are read and its challenger and attacks are built."""
    draft_of_kind = drafted(path, kind, folder, **given)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in draft_of_kind.files.items():
        (folder / name).write_text(text)
    plan = plan_of_text(draft_of_kind.text, folder)
    named = "" if path is None else f": {plan.audits[0].name}"  # two reports differ in their titles
    assert plan.heading.title is not None
    assert plan.heading.title.endswith(named)
    for audit in plan.audits:
        catalog.prepare_audit(audit, plan)
    return plan


def drafted_table(path: Path | None, kind: str, folder: Path, **given: str) -> dict[str, Any]:
    """The first audit of a draft, and its limits, as written."""
    table = tomllib.loads(drafted(path, kind, folder, **given).text)
    return {**table["audit"][0], "limits": table["limits"]}
