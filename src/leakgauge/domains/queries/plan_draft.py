"""Draft a plan for a query service: its table, its log, or the service itself."""

from collections.abc import Sequence
from pathlib import Path

from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import ColumnDescription, FileDescription, describe_file
from leakgauge.support.plan_draft import (
    TEXT_COMMENTS,
    Answers,
    ColumnRole,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    Recognised,
    column_question,
    limit_question,
    limits_text,
    optional,
    plan_start,
    read_number,
    read_whole,
    table_lines,
)
from leakgauge.support.toml_values import toml_text

_ID = (
    *("id", "record", "person", "patient", "user", "customer", "number", "key"),
    *("nummer", "nr", "kennung", "kundennummer", "patientennummer", "personalnummer", "mitarbeiternummer"),
    *("kundennr", "patientennr", "personalnr", "mitarbeiternr"),
    *("identifiant", "numero", "matricule", "client", "identificador", "paciente", "cliente", "codigo"),
    *("identificativo", "paziente", "codice", "matricola"),
)
_QUERY = ("query",)
_NOISE = ("epsilon", "scale", "sigma")
_RECORDS = ("records", "record", "where")
_MOST_KNOWN = 3  # columns that an attacker knows of people in a first plan


def _id_column(file: FileDescription) -> ColumnDescription | None:
    found = file.find(_ID, ("whole", "text"))
    return found if found is not None and found.n_distinct == file.n_rows else None


def _attributes(file: FileDescription) -> list[str]:
    """Columns by which people can be selected: few values, or numbers; not those that name each person."""
    unique = {
        column.name for column in file.columns if column.n_distinct == file.n_rows and not column.is_number
    }
    own = _id_column(file)
    able = [
        column
        for column in file.columns
        if column.kind in ("whole", "real", "text", "truth") and column.name not in unique and column != own
    ]
    coarse = sorted(able, key=lambda column: column.n_missing)
    return [column.name for column in coarse if column.n_distinct >= 2][:_MOST_KNOWN]


def _recognise_records(file: FileDescription) -> Recognised | None:
    if not file.columns or not _attributes(file):
        return None
    own = _id_column(file)
    if own is None:
        return Recognised(score=0.3, because="a row for each person, but no column names them", sure=False)
    return Recognised(score=0.45, because=f"a row for each person ({own.name})")


def _noise_questions() -> list[Question]:
    return [
        Question(
            key="epsilon",
            text="Which epsilon does the Laplace noise of one answer have",
            default="0.1",
            read=read_number(),
            decides="mechanism.epsilon",
        ),
        Question(
            key="budget",
            text="After which total epsilon does the service stop answering",
            default="1",
            read=read_number(),
            decides="challenger.budget",
        ),
    ]


def _record_questions(file: FileDescription | None) -> Sequence[Question]:
    own = _id_column(file) if file is not None else None
    return [
        *([] if own is None else [column_question(file, "id", "Which column names a row", own.name)]),
        *_noise_questions(),
        Question(
            key="select",
            text="How can an analyst select people",
            default="attributes",
            choices={"attributes": "by columns such as age and region", "ids": "also by their ids"},
            decides="challenger.select",
        ),
        Question(
            key="smallest",
            text='Which is the smallest count that is answered, such as 10? "none" answers all',
            default="none",
            read=optional(read_whole(1)),
        ),
        limit_question("a person is in the table"),
    ]


def _draft_records(context: DraftContext) -> DraftedPlan:
    assert context.file is not None
    by_ids = context["select"] == "ids"
    columns = _attributes(context.file)
    knows = "" if by_ids else f', knowledge = {{ name = "attributes", columns = {toml_text(columns)} }}'
    most = min(200, max(10, 2 * round(context["budget"] / context["epsilon"])))
    attacks = [
        f'  {{ name = "split_likelihood", queries = {most}{knows} }},  # many questions about a person',
        f'  {{ name = "repeat", queries = {most}, wording = "equivalent"{knows} }},  # one question again',
    ]
    if context["smallest"] is not None:
        attacks.append(f'  {{ name = "refusal", queries = {most}{knows} }},  # what refused answers reveal')
    own = context.answers.get("id")
    data = {"source": context.source, "id": own, **context.text_keys}
    challenger = {
        "targets": 1,
        "budget": context["budget"],
        "accountant": "sequential",
        "at_least": context["smallest"],
        "suppress_by": None if context["smallest"] is None else "answer",
    }
    notes = () if by_ids else (f"the attacker knows {', '.join(columns)} of people (columns in the plan)",)
    text = _plan_text(
        context,
        title="Noisy counts of a query service",
        question="A service that answers noisy counts about a table: does its budget protect a person?",
        attacks=attacks,
        tables=[
            "[audit.data]",
            table_lines(data, TEXT_COMMENTS | {"source": "the table; a relative path starts in this folder"}),
            "[audit.mechanism]",
            table_lines({"name": "laplace", "epsilon": context["epsilon"]}, {"epsilon": "of one answer"}),
            "[audit.challenger]",
            table_lines(
                challenger,
                {
                    "targets": "one person, chosen at random, is in the table or not",
                    "budget": "the total epsilon after which nothing is answered: the promise",
                    "accountant": "charges every answer; `leakgauge show accountants` lists others",
                    "at_least": "smaller counts are withheld",
                    "suppress_by": "by the noisy count: the true one is not protected by noise",
                },
            ),
        ],
    )
    roles = [] if own is None else [ColumnRole("names of rows", (own,), "id")]
    roles.append(ColumnRole("people can be selected by", tuple(n for n in context.file.names if n != own)))
    return DraftedPlan(text=text, notes=notes, roles=tuple(roles))


def _plan_text(
    context: DraftContext, *, title: str, question: str, attacks: list[str], tables: list[str]
) -> str:
    lines = [
        *plan_start(context, "queries", title=title, question=question),
        "rounds = 2000  # simulated sessions with the service",
        "attacks = [",
        *attacks,
        "]",
        "",
        *tables,
    ]
    return "\n".join(lines).rstrip("\n") + "\n" + limits_text(context["limit"])


def _recognise_log(file: FileDescription) -> Recognised | None:
    query = file.find(_QUERY, whole_name=True)
    noise = [column.name for word in _NOISE if (column := file.find((word,), whole_name=True)) is not None]
    records = [
        column.name for word in _RECORDS if (column := file.find((word,), whole_name=True)) is not None
    ]
    if query is None or not noise:
        return None
    shown = ", ".join([query.name, *noise, *records])
    return Recognised(score=0.96 if records else 0.8, because=f"columns {shown}")


def _read_file(answer: str) -> str:
    """Check that there is a file."""
    if not Path(answer).is_file():
        raise BadInput(f"there is no file {answer}; check the path")
    return answer


def _table_id(answers: Answers) -> str | None:
    """The column of ids of the table that a log is about, if it can be found."""
    if answers["data"] is None:
        return None
    file = describe_file(Path(answers["data"]))
    found = None if "id" in file.names else _id_column(file)
    return found.name if found is not None else "id" if "id" in file.names else None


def _log_questions(file: FileDescription | None) -> Sequence[Question]:
    needs_table = file is not None and file.find(("where",), whole_name=True) is not None
    listed = file is not None and file.find(("records", "record"), whole_name=True) is not None
    return [
        Question(
            key="data",
            text='Which file holds the table that the queries are about? "none" if the log lists the records',
            default="none" if not needs_table else None,
            read=optional(_read_file),
            asked=lambda _: needs_table,
        ),
        Question(
            key="id",
            text="Which column of that table names a record",
            derive=_table_id,
            asked=lambda answers: answers["data"] is not None,
        ),
        Question(
            key="contains",
            text='Which file says which records each query contains (query, record)? "none" if the log does',
            default="none" if needs_table or listed else None,
            read=optional(_read_file),
            asked=lambda _: not (needs_table or listed),
        ),
    ]


def _draft_log(context: DraftContext) -> DraftedPlan:
    assert context.file is not None
    command = ["expose", "--query-log", str(context.file.path)]
    for key in ("data", "id", "contains"):
        if context[key] is not None and (key, context[key]) != ("id", "id"):  # the default
            command += [f"--{key}", context[key]]
    return DraftedPlan(command=tuple(command))


def _service_questions(_: FileDescription | None) -> Sequence[Question]:
    return [
        Question(
            key="url",
            text="Where does the service answer? It must be your own; http only on this machine",
            default="http://127.0.0.1:8700",
        ),
        *_noise_questions(),
        limit_question("a person is in the table"),
    ]


def _draft_service(context: DraftContext) -> DraftedPlan:
    data = {"source": "synthetic", "records": 1000} if context.file is None else {"source": context.source}
    most = min(200, max(10, round(context["budget"] / context["epsilon"])))
    text = _plan_text(
        context,
        title="Running query service",
        question="A running query service, asked over HTTP: does it keep its budget?",
        attacks=[
            f'  {{ name = "split_likelihood", queries = {most} }},  # many questions about the same person',
            f'  {{ name = "refusal", queries = {most + 2} }},  # what refused answers reveal',
        ],
        tables=[
            "[audit.data]",
            table_lines(data, {"source": "the table that the service answers from"}),
            "[audit.mechanism]",
            table_lines({"name": "laplace", "epsilon": context["epsilon"]}, {"epsilon": "of one answer"}),
            "[audit.challenger]",
            table_lines(
                {"targets": 1, "budget": context["budget"], "own_service": True},
                {
                    "budget": "the total epsilon after which nothing is answered: the promise",
                    "own_service": "says that the service is yours; others may not be questioned",
                },
            ),
            "[audit.challenger.service]  # add open, ask, close and refused if yours speaks another way",
            table_lines(
                {"url": context["url"], "token": "LEAKGAUGE_TOKEN", "rate": 100.0},
                {"token": "the environment variable that holds the token", "rate": "requests a second"},
            ),
        ],
    ).replace("rounds = 2000", "rounds = 200\nblock = 50")
    return DraftedPlan(
        text=text,
        obstacle="start the service first (leakgauge serve-oracle on this plan starts a simulated one)",
    )


def draft_kinds() -> dict[str, DraftKind]:
    """Return what a plan can be drafted for, by name."""
    return {
        "records": DraftKind(
            about="A table of people about which a service will answer noisy counts.",
            keys={
                "id": "the column that names a row",
                "epsilon": "the epsilon that is promised, or none",
                "budget": "the total epsilon of a service",
                "select": "how an analyst selects people: attributes or ids",
                "smallest": "the smallest count that is answered, or none",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_record_questions,
            draft=_draft_records,
            recognise=_recognise_records,
        ),
        "query-log": DraftKind(
            about="A log of answered queries: what has it revealed about each record?",
            keys={
                "data": "the file of the table, or of the rows",
                "id": "the column that names a row",
                "contains": "the file of records of each query",
            },
            questions=_log_questions,
            draft=_draft_log,
            recognise=_recognise_log,
            reads_json=True,
        ),
        "query-service": DraftKind(
            about="A query service that is running, asked over HTTP.",
            keys={
                "url": "where the service answers",
                "epsilon": "the epsilon that is promised, or none",
                "budget": "the total epsilon of a service",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_service_questions,
            draft=_draft_service,
            needs_file=False,
        ),
    }
