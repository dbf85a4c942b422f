"""How a domain drafts a plan from a file of the user: what it recognises, asks and writes."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import ColumnDescription, FileDescription, name_parts
from leakgauge.support.files import relative_path
from leakgauge.support.table_reader import number_way_out, require_known
from leakgauge.support.tabular import TextFormat
from leakgauge.support.toml_values import toml_text

Answers: TypeAlias = Mapping[str, Any]  # by the key of the question
MOST_QUESTIONS = 6
NONE = "none"
TEXT_COMMENTS = {"encoding": "of the file", "decimal": "the mark before decimals in the file"}
FOLDER = "{folder}"  # in a command: where the files of a draft are written
_MOST_PARTS = 6  # of a split of the rows
_PARTS = (
    *("split", "fold", "set", "subset", "part", "partition", "train", "test", "is_train", "is_test"),
    *(
        "in_train",
        "in_training",
        "in_training_set",
        "trained_on",
        "member",
        "is_member",
        "source",
        "dataset",
        "synthetic",
        "is_synthetic",
        "real",
        "is_real",
    ),
    "aufteilung",
)
_PROBABILITIES = ("p", "prob", "proba", "probability", "softmax", "class", "logit", "logits")
_LOGITS = ("logit", "logits")
_SAID_BY_MODELS = (
    *("prob", "proba", "probability", "prediction", "pred", "predicted", "logit", "loss", "confidence"),
    *("y_prob", "y_score", "yhat", "y_hat", "y_pred"),
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question: also a flag of the command, ``--key``.

    ``asked`` says, from the answers so far, whether the question is asked; one that is not has its default,
    and can be answered by its flag only. ``derive`` gives a default that depends on the answers so far.
    ``read`` checks an answer and returns its value. ``decides`` names the key of the plan that the answer
    becomes, where a wrong one could reassure: an answer that nobody gave is then listed in the plan.
    """

    key: str
    text: str
    default: str | None = None  # none: it must be answered
    choices: Mapping[str, str] = field(default_factory=dict)  # words that can be typed, and their meanings
    read: Callable[[str], Any] = str
    asked: Callable[[Answers], bool] = lambda _: True
    derive: Callable[[Answers], str | None] | None = None
    decides: str = ""

    def after(self, answers: Answers) -> "Question":
        """The question with its default, after these answers."""
        return self if self.derive is None else replace(self, default=self.derive(answers), derive=None)

    @property
    def sentence(self) -> str:
        """The question with its mark, or with a full stop where an explanation follows the mark."""
        return f"{self.text}{'.' if '?' in self.text else '?'}"

    def value(self, answer: str) -> Any:
        """Check an answer."""
        answer = answer.strip()
        if self.choices:
            require_known(answer, list(self.choices), "no choice")
        return self.read(answer)


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """That a file looks like one of a kind: how well, from 0 to 1, and by what.

    It is ``sure`` where names of columns say so; else the user is asked, or must name the kind.
    """

    score: float
    because: str
    sure: bool = True


@dataclass(frozen=True)
class ColumnRole:
    """What some columns of a file were taken for, the flag that names another one, and their range."""

    meaning: str
    columns: tuple[str, ...]
    flag: str = ""
    range: str = ""


@dataclass(frozen=True, kw_only=True)
class DraftedPlan:
    """A plan as commented TOML and the files beside it; or, where none is needed, a command that answers."""

    text: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed, for the terminal
    roles: tuple[ColumnRole, ...] = ()  # of the columns of the file; the others are not used
    exposes: bool = False  # whether leakgauge expose works on the plan as it is
    obstacle: str = ""  # why there can be no preview before the user has done something


@dataclass(frozen=True, kw_only=True)
class DraftContext:
    """What a draft is made from: the file, its path as the plan writes it, and the answers."""

    file: FileDescription | None
    source: str
    answers: Answers
    name: str  # of the audit
    folder: Path  # where the plan is written
    assumed: tuple[str, ...] = ()  # keys of the plan that nobody stated

    def __getitem__(self, key: str) -> Any:
        return self.answers[key]

    def path(self, key: str) -> str:
        """The file that an answer names, as the plan writes it; in a command, the answer itself is right."""
        return relative_path(Path(self.answers[key]), self.folder)

    @property
    def text_keys(self) -> dict[str, str | None]:
        """The keys of the `data` table for a text file that is not in UTF-8 or has decimal commas."""
        text = TextFormat() if self.file is None else self.file.text
        return {
            "encoding": text.encoding if text.encoding != TextFormat.encoding else None,
            "decimal": text.decimal if text.decimal != TextFormat.decimal else None,
        }


def _recognise_nothing(_: FileDescription) -> Recognised | None:
    return None


@dataclass(frozen=True, kw_only=True)
class DraftKind:
    """A kind of thing that a plan can be drafted for, such as a file of visits or a Python function.

    ``beside_file`` says that the plan is written into the folder of the file, because it names code there;
    ``imports_file`` that it can be nowhere else, because it names a module, not a path.
    """

    about: str  # one line, for --kind
    keys: Mapping[str, str]  # of all its questions, with a few words each for the help of their flags
    questions: Callable[[FileDescription | None], Sequence[Question]]
    draft: Callable[[DraftContext], DraftedPlan]
    recognise: Callable[[FileDescription], Recognised | None] = _recognise_nothing
    needs_file: bool = True
    reads_json: bool = False  # also JSON lines
    beside_file: bool = False
    imports_file: bool = False


def read_number(*, above: float = 0.0, below: float = float("inf")) -> Callable[[str], float]:
    """Return a check of a number between two others, which are excluded."""

    def read(answer: str) -> float:
        try:
            number = float(answer)
        except ValueError:
            raise BadInput(f"must be a number, got {answer!r}{number_way_out(answer)}") from None
        if not above < number < below:
            upper = "" if below == float("inf") else f" and below {below:g}"
            percent = number_way_out(f"{answer}%") if below == 1 < number < 100 else ""
            raise BadInput(
                f"must be above {above:g}{upper}, got {answer}{percent and f'{percent} for {answer} %'}"
            )
        return number

    return read


def read_whole(least: int) -> Callable[[str], int]:
    """Return a check of a whole number that is not too small."""

    def read(answer: str) -> int:
        if not re.fullmatch(r"\d+", answer.replace("_", "")) or int(answer.replace("_", "")) < least:
            raise BadInput(f"must be a whole number of at least {least}, got {answer!r}")
        return int(answer.replace("_", ""))

    return read


def optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a check that also takes "none", which becomes ``None``."""
    return lambda answer: None if answer.lower() == NONE else read(answer)


def read_column(file: FileDescription | None) -> Callable[[str], str]:
    """Return a check that a file has a column."""

    def read(answer: str) -> str:
        if file is not None and answer not in file.names:
            require_known(answer, file.names, f"{file.path.name}: no column")
        return answer

    return read


def column_question(
    file: FileDescription | None, key: str, text: str, found: str | None, *, asked: bool = False
) -> Question:
    """Return a question about a column; where one was found it is asked only if ``asked`` is set."""
    is_asked = asked or found is None
    return Question(key=key, text=text, default=found, read=read_column(file), asked=lambda _: is_asked)


def doubtful_columns(file: FileDescription | None) -> list[str]:
    """Columns that look like a split of the rows, or like what a model said of them: no features."""
    if file is None:
        return []

    def divides(column: ColumnDescription) -> bool:
        few = 2 <= column.n_distinct <= _MOST_PARTS and column.kind != "real"
        return column.says_parts or (few and "_".join(name_parts(column.name)) in _PARTS)

    def answers(column: ColumnDescription) -> bool:
        first, *rest = name_parts(column.name) or [""]
        share = column.low is not None and column.low >= 0 and (column.high or 0.0) <= 1
        numbered = first in _PROBABILITIES and bool(rest) and column.is_number and (share or first in _LOGITS)
        named = "_".join([first, *rest]) in _SAID_BY_MODELS or (share and first == "score")
        return numbered or (column.kind == "real" and named) or column.name in file.shares

    return [column.name for column in file.columns if divides(column) or answers(column)]


def unused_question(file: FileDescription | None) -> list[Question]:
    """Ask which of the doubtful columns are no features, where there are any: nothing can be assumed."""
    if not (doubtful := doubtful_columns(file)):
        return []
    names = ", ".join(doubtful)

    def read(answer: str) -> list[str]:
        chosen = [] if answer.lower() == NONE else [name.strip() for name in answer.split(",")]
        return [read_column(file)(name) for name in chosen]

    text = (
        f"Which columns are no features, such as {doubtful[0]}? They look like a split of the rows or like "
        f"what a model said: {names}. Divide names by commas; {NONE!r} uses all"
    )
    return [Question(key="unused", text=text, read=read)]


def range_text(column: ColumnDescription, seconds: float | None = None) -> str:
    """The range of a column of numbers or of times; numbers that count ``seconds`` since 1970 are times."""
    if column.low is None or column.high is None:
        return ""
    if column.kind == "time" or column.time_formats:
        seconds = 1.0
    if seconds is None:
        return f"{column.low:.10g} to {column.high:.10g}"
    days = (datetime.fromtimestamp(end * seconds, tz=UTC).date() for end in (column.low, column.high))
    return " to ".join(map(str, days))


def limit_question(person: str = "a person is in the data") -> Question:
    """Return the question for the owner's limit on accuracy."""
    return Question(
        key="limit",
        text=f"How often may an attacker be right about whether {person}? A coin toss is right half of the "
        'time (0.5); "none" sets no limit',
        default="0.6",
        read=optional(read_number(above=0.5, below=1.0)),
        decides="limits.accuracy",
    )


def epsilon_question(text: str, default: str = "1") -> Question:
    """Return the question for an epsilon; "none" is accepted."""
    return Question(
        key="epsilon", text=text, default=default, read=optional(read_number()), decides="mechanism.epsilon"
    )


def plan_start(context: DraftContext, domain: str, *, title: str, question: str) -> list[str]:
    """The first lines of a plan: the question it answers, the title of its report, and its audit."""
    named = title if context.file is None else f"{title}: {context.name}"
    return [
        f"# {question}",
        f"title = {toml_text(named)}  # of the report",
        "seed = 20240501  # of all random numbers: the same seed gives the same result",
        *_assumed_lines(context.assumed),
        "",
        "[[audit]]",
        f'name = "{context.name}"',
        f'domain = "{domain}"',
    ]


def _assumed_lines(keys: Sequence[str]) -> list[str]:
    """The list of what nobody stated, with what to do about it."""
    if not keys:
        return []
    return [
        "# Nobody stated these keys: leakgauge assumed them, and no answer that rests on them is green.",
        "# Whoever sets one of them deletes its name from this list.",
        f"assumed = {toml_text(list(keys))}",
    ]


def limits_text(limit: float | None) -> str:
    """The table of limits, as the end of a plan."""
    if limit is None:
        return (
            "\n[limits]\nnone = true  # no limit was wanted; write accuracy = 0.6 to have the risk judged\n"
        )
    return (
        "\n[limits]  # what you allow; `leakgauge gate` uses it too\n"
        f"accuracy = {limit!r}  # how often an attacker may be right; a coin toss is right half of the time\n"
    )


def inline_table(table: Mapping[str, Any]) -> str:
    """Write a table on one line, without the keys that have no value.

    >>> inline_table({"name": "laplace", "epsilon": 1.0, "unit": None})
    '{ name = "laplace", epsilon = 1.0 }'
    """
    pairs = (f"{_key(key)} = {_value(item)}" for key, item in table.items() if item is not None)
    return "{ " + ", ".join(pairs) + " }"


def _value(value: Any) -> str:
    return inline_table(value) if isinstance(value, Mapping) else toml_text(value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_text(key)


def table_lines(table: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """Write a table as lines, each with its comment, without the keys that have no value."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]
    notes = [comments.get(key, "") for key, value in table.items() if value is not None]
    return "".join(f"{line}  # {note}\n" if note else f"{line}\n" for line, note in zip(lines, notes))
