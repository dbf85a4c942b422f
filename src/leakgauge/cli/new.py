"""From a file to a plan and a first answer: ``leakgauge new visits.csv``."""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leakgauge.core.errors import BadInput
from leakgauge.support.visible_text import visible_line

if TYPE_CHECKING:
    from leakgauge.draft import Match, Preview
    from leakgauge.plan import Plan
    from leakgauge.support.file_description import FileDescription
    from leakgauge.support.plan_draft import ColumnRole, DraftedPlan, Question

_PREFIX = "answer_"  # of the names of flags that answer questions
_MOST_NAMES = 8  # of columns with the same meaning that are printed
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "new",
        help="start here: write a plan for a file, and preview its answer",
        description="Look at a file, ask at most six questions, write a commented plan, and preview its "
        "answer in about 15 seconds. Enter accepts the answer in brackets. Without a terminal, or with "
        "--yes, answers come from the flags and the defaults. Exit code: 0 done, 2 bad input (a preview "
        "decides nothing); where a command answers without a plan, its exit code.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="?",
        help="a table (CSV, Parquet), a query log, a table of scores or losses, a Python file, an ONNX "
        "model, or the folder of a Flower app",
    )
    parser.add_argument(
        "--kind", metavar="K", help="what the file is, or what there is: leakgauge show kinds"
    )
    parser.add_argument("--example", metavar="NAME", help="copy an example instead: leakgauge show examples")
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        help="the folder of the plan (default: <FILE>-audit; for a Flower app the folder of the app; for a "
        "Python file the folder of the file, and no other)",
    )
    parser.add_argument(
        "--decimal",
        choices=(",", "."),
        help="the mark before decimals in a text file, where 1,234 may be a thousand (default: detected)",
    )
    parser.add_argument("--yes", action="store_true", help="ask nothing: take flags and defaults")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--no-preview", action="store_true", help="write the plan and stop")
    parser.set_defaults(command=run)


def complete(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each question; this loads the domains, so it is done for this command only."""
    from leakgauge.draft import question_flags

    flags = parser.add_argument_group("answers, instead of questions")
    for key, words in sorted(question_flags().items()):
        flags.add_argument(f"--{key}", metavar="X", dest=f"{_PREFIX}{key}", help=words.replace("%", "%%"))


def run(arguments: argparse.Namespace) -> int:
    """Draft a plan and preview it, or copy an example."""
    given = {
        name.removeprefix(_PREFIX): value
        for name, value in vars(arguments).items()
        if name.startswith(_PREFIX) and value is not None
    }
    if arguments.example is not None:
        return _copy_example(arguments, given)
    if arguments.file is None and arguments.kind is None:
        raise BadInput(
            "nothing to start from: name a file (leakgauge new visits.csv), a kind (--kind K; leakgauge show "
            "kinds lists them) or an example (--example NAME; leakgauge show examples)"
        )
    return _draft(arguments, given)


def _copy_example(arguments: argparse.Namespace, given: Mapping[str, str]) -> int:
    from leakgauge.support.examples import copy_example

    if arguments.file is not None or arguments.kind is not None or given:
        raise BadInput("--example copies an example as it is; leave out FILE, --kind and answers")
    folder = copy_example(arguments.example, arguments.out or Path(arguments.example), force=arguments.force)
    print(f"Copied to {folder}")
    if (folder / "plan.toml").exists():
        _print_next([("run", folder / "plan.toml", "simulates releases and writes a report")])
    else:
        for path in sorted(folder.iterdir()):
            print(f"Next:  leakgauge new {shlex.quote(str(path))}")
    return 0


def _draft(arguments: argparse.Namespace, given: Mapping[str, str]) -> int:
    from leakgauge import draft
    from leakgauge.plan_schema import schema_text

    interactive = not arguments.yes and sys.stdin.isatty() and sys.stdout.isatty()
    file = draft.open_file(
        arguments.file,
        arguments.kind,
        decimal=arguments.decimal,
        prompt=_prompt if interactive else None,
    )
    kind, most = _kind(file, arguments.kind, interactive=interactive)
    folder = draft.draft_folder(kind, arguments.file, arguments.out)
    questions = draft.draft_kinds()[kind].questions(file)
    answered, stated = set(given), set(given)

    def prompt(question: "Question") -> str:
        answered.add(question.key)
        if answer := _prompt(question).strip():
            stated.add(question.key)
        return answer

    answers = draft.answer_questions(
        questions,
        given,
        prompt if interactive else None,
        most=most,
        complain=lambda line: print(f"  {line}"),
    )
    unstated = draft.assumed_keys(questions, stated, answers)
    drafted = draft.draft_plan(kind, file, answers, folder, unstated)
    assumed = draft.assumed_answers(questions, answered, answers)
    if drafted.command:
        with _restored_on_error(folder, list(drafted.files)):
            draft.write_draft(drafted, folder, schema_text(), force=arguments.force)
            _print_assumed(assumed)
            return _run_command(drafted.command)
    path = draft.write_draft(drafted, folder, schema_text(), force=arguments.force)
    if file is not None:
        _print_columns(file, drafted.roles)
    _print_assumed(assumed)
    print(f"Wrote {path}")
    for note in drafted.notes:
        print(f"Assumed: {note}")
    return _preview(path, drafted, wanted=not arguments.no_preview)


def _kind(file: "FileDescription | None", named: str | None, *, interactive: bool) -> tuple[str, int]:
    """The kind of a file, and how many questions are left to ask."""
    from leakgauge import draft
    from leakgauge.support.plan_draft import MOST_QUESTIONS, Question

    if file is None or named is not None:
        assert named is not None
        return named, MOST_QUESTIONS
    matches = draft.match_kinds(file)
    kind = draft.choose_kind(file, matches, ask=interactive)
    _print_file(file, matches)
    if draft.is_clear(matches) or not interactive:
        return kind, MOST_QUESTIONS
    kinds = draft.draft_kinds()
    question = Question(
        key="kind",
        text="What is this file",
        default=kind,
        choices={match.kind: kinds[match.kind].about for match in matches},
    )
    chosen = draft.answer_questions([question], {}, _prompt, complain=lambda line: print(f"  {line}"))
    return str(chosen["kind"]), MOST_QUESTIONS - 1


def _print_file(file: "FileDescription", matches: "Sequence[Match]") -> None:
    from leakgauge.report.number_format import times

    size = f": {times(file.n_rows, 'row')}, {times(len(file.columns), 'column')}" if file.columns else ""
    form = [f"divided by {_DELIMITERS[file.delimiter]}"] if file.delimiter not in (None, ",") else []
    form += ["decimal commas"] if file.text.decimal == "," else []
    form += [f"in {file.text.encoding}"] if file.text.encoding != "utf-8" else []
    print(f"{file.path}{size}{''.join(f', {words}' for words in form)}")
    best = matches[0]
    print(f"Looks like {best.kind}: {best.found.because}.")
    if others := [match.kind for match in matches[1:]]:
        print(f"It could also be {' or '.join(others)}; choose with --kind.")


def _print_columns(file: "FileDescription", roles: "Sequence[ColumnRole]") -> None:
    """What each column was taken for, and the flag that changes it."""
    if not roles:
        return
    from leakgauge.support.plan_draft import ColumnRole

    taken = {name for role in roles for name in role.columns}
    unused = tuple(name for name in file.names if name not in taken)
    print("Columns:")
    for role in [*roles, *([ColumnRole("not used", unused)] if unused else [])]:
        flag = f" (--{role.flag})" if role.flag else ""
        shown = ", ".join(role.columns[:_MOST_NAMES])
        more = len(role.columns) - _MOST_NAMES
        between = f" ({role.range})" if role.range else ""
        print(f"  {role.meaning}{flag}: {shown}{f' and {more} more' if more > 0 else ''}{between}")


def _print_assumed(answers: Mapping[str, str]) -> None:
    if answers:
        listed = ", ".join(f"{key} = {answer}" for key, answer in answers.items())
        print(f"Answers assumed: {listed} (each is a flag: --{next(iter(answers))} X)")


def _prompt(question: "Question") -> str:
    for word, meaning in question.choices.items():
        print(f"  {word}: {meaning}" if meaning else f"  {word}")
    shown = f" [{question.default}]" if question.default is not None else ""
    try:
        return input(visible_line(f"{question.sentence}{shown} "))
    except EOFError:
        print()
        raise BadInput(f"no answer to: {question.sentence} give it with a flag, or --yes") from None


@contextmanager
def _restored_on_error(folder: Path, names: Sequence[str]) -> Iterator[None]:
    """Put files of a folder back as they were where the command that uses them fails."""
    new_folder = not folder.exists()
    before = {
        path: path.read_bytes() if path.is_file() else None for path in (folder / name for name in names)
    }
    try:
        yield
    except BaseException:
        for path, content in before.items():
            if content is not None:
                path.write_bytes(content)
            elif path.is_file():
                path.unlink()
        if new_folder and folder.is_dir():
            folder.rmdir()
        raise


def _run_command(words: Sequence[str]) -> int:
    """Run the command that answers, where no plan is needed."""
    from leakgauge.cli.main import parser

    print(f"No plan is needed: {shlex.join(['leakgauge', *words])}", end="\n\n")
    arguments = parser(words[0]).parse_args(words)
    return int(arguments.command(arguments))


def _preview(path: Path, drafted: "DraftedPlan", *, wanted: bool) -> int:
    from leakgauge import draft
    from leakgauge.plan import read_plan

    plan = read_plan(path)
    if drafted.obstacle or not wanted:
        if drafted.obstacle:
            print(f"No preview yet: {drafted.obstacle}")
        _print_next_steps(path, None, exposes=drafted.exposes)
        return 0
    try:
        preview = draft.preview_plan(plan)
    except BadInput as error:
        raise BadInput(
            f"{error} (the plan is written: change it there, then: leakgauge run {shlex.quote(str(path))})"
        ) from None
    _print_preview(preview, plan)
    _print_next_steps(path, preview, exposes=drafted.exposes)
    return 0


def _print_preview(preview: "Preview", plan: "Plan") -> None:
    from leakgauge.cli import verdict_table
    from leakgauge.report.judged_run import round_term
    from leakgauge.runner.dry_run import duration_range

    for note in preview.cost.notes:
        print(f"Data: {note}")
    if preview.result is None:
        takes = duration_range(*preview.cost.seconds_range)
        print(f"No preview: even a few simulated releases take about {takes}.")
        return
    planned = max(audit.rounds for audit in plan.audits)
    if preview.rounds < planned:
        noun = round_term(preview.result.verdicts).noun
        print(
            "", f"Preview with {preview.rounds:,} of {planned:,} {noun}s; it decides nothing:", "", sep="\n"
        )
    else:
        print("", "Preview; it decides nothing:", "", sep="\n")
    verdict_table.print_preview(preview.result)


def _print_next_steps(path: Path, preview: "Preview | None", *, exposes: bool) -> None:
    from leakgauge.runner.dry_run import duration_range

    takes = "" if preview is None else f" (about {duration_range(*preview.cost.seconds_range)})"
    steps = [("run", path, f"decides, and writes a report{takes}")]
    if exposes:
        steps.append(("expose", path, "finds out who is most exposed"))
    _print_next(steps)


def _print_next(steps: Sequence[tuple[str, Path, str]]) -> None:
    print("", "Next:", sep="\n")
    commands = [f"leakgauge {command} {shlex.quote(str(path))}" for command, path, _ in steps]
    width = max(map(len, commands))
    for command, (*_, why) in zip(commands, steps):
        print(f"  {command:{width}}  {why}")
