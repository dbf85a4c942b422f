"""The values of the placeholders of a question, the question in SQL, and answers that have groups."""

import math
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote import http_client
from leakgauge.domains.queries.remote.plan_tables import QueriesServiceTable, SumForm
from leakgauge.domains.queries.remote.request_templates import PlaceholderValues
from leakgauge.domains.queries.sql.conditions import quote_identifier, quote_literal


def query_values(query: Query, service: QueriesServiceTable, id_column: str) -> PlaceholderValues:
    """Return the values of the placeholders of a query."""
    _require_template_selects(query, service)
    where = as_predicate(query, id_column)
    return {
        "kind": query.kind.value,
        "column": query.column,
        "bound": query.bound,
        "where": where,
        "predicate": query.where,
        "ids": None if query.ids is None else list(query.ids),
        "group_by": query.group_by,
        "groups": None if query.groups is None else list(query.groups),
        "edges": None if query.edges is None else list(query.edges),
        "sql": as_sql(query, service.table, where, service.sums),
    }


def as_predicate(query: Query, id_column: str) -> str:
    """Return what follows WHERE in SQL.

    >>> as_predicate(Query(ids=(3, 1)), "id"), as_predicate(Query(), "id")
    ('"id" IN (3, 1)', 'TRUE')
    """
    if query.ids is not None:
        return (
            f"{quote_identifier(id_column)} IN ({', '.join(map(quote_literal, query.ids))})"
            if query.ids
            else "FALSE"
        )
    return "TRUE" if query.where is None else query.where


def as_sql(query: Query, table: str, where: str, sums: SumForm = SumForm.CLIPPED) -> str:
    """Return the whole query; an interval is called by its number.

    >>> as_sql(Query(kind=QueryKind.HISTOGRAM, group_by="age", edges=(0, 18)), "t", "TRUE")
    'SELECT CASE WHEN "age" >= 0 AND "age" < 18 THEN 0 END AS "group", COUNT(*) FROM t WHERE TRUE GROUP BY 1'
    """
    aggregate = _aggregate_sql(query, sums)
    if query.group_by is None:
        return f"SELECT {aggregate} FROM {table} WHERE {where}"
    column = quote_identifier(query.group_by)
    if query.edges is None:
        return f"SELECT {column}, {aggregate} FROM {table} WHERE {where} GROUP BY {column}"
    cases = " ".join(
        f"WHEN {column} >= {low!r} AND {column} < {high!r} THEN {i}"
        for i, (low, high) in enumerate(zip(query.edges, query.edges[1:]))
    )
    return f'SELECT CASE {cases} END AS "group", {aggregate} FROM {table} WHERE {where} GROUP BY 1'


def _aggregate_sql(query: Query, sums: SumForm) -> str:
    if query.column is None:
        return "COUNT(*)"
    function = "AVG" if query.kind is QueryKind.AVERAGE else "SUM"
    if sums is SumForm.PLAIN:  # SmartNoise SQL knows no quoted columns in sums
        simple = query.column.isidentifier() and query.column.isascii()
        return f"{function}({query.column if simple else quote_identifier(query.column)})"
    column, bound = quote_identifier(query.column), query.sensitivity
    return f"{function}(LEAST(GREATEST({column}, {-bound!r}), {bound!r}))"


def _require_template_selects(query: Query, service: QueriesServiceTable) -> None:
    """Refuse a template that does not contain the selection or the groups of a query."""
    places = service.asking.places
    if query.group_by is not None and "sql" not in places and "group_by" not in places:
        raise BadInput("challenger.service.ask: does not contain the groups; use {group_by} or {sql}")
    if places & {"where", "sql"}:
        return
    if query.ids is not None and "ids" not in places:
        raise BadInput(
            "challenger.service.ask: an attack selects records by ids, which {predicate} does not contain; "
            'use {where} instead, or set by = "predicate" in the attack'
        )
    if query.where is not None and "predicate" not in places:
        raise BadInput(
            "challenger.service.ask: an attack selects records by a predicate, which {ids} does not contain; "
            "use {where} instead, or choose attacks that select by ids"
        )


def grouped_answer(value: Any, question: PlaceholderValues) -> list[float]:
    """Return the numbers of all groups in order, NaN for groups without a number.

    A reply is a list of numbers, a list of pairs of group and number, or a table from groups to numbers. An
    interval is called by its number in pairs and tables. Groups that were not asked for are left out.

    >>> grouped_answer([["east", 3.5], ["west", 1.0]], {"groups": ["north", "east"], "edges": None})
    [nan, 3.5]
    """
    names = question["groups"] if question["edges"] is None else list(range(len(question["edges"]) - 1))
    match value:
        case list() if all(isinstance(item, list) and len(item) == 2 for item in value):
            found = {str(group): number for group, number in value}
        case list() if len(value) == len(names):
            found = {str(group): number for group, number in zip(names, value)}
        case dict():
            found = {str(group): number for group, number in value.items()}
        case _:
            raise http_client.UnclearReply(
                f"an answer that is no list of {len(names)} numbers, of pairs, and no table"
            )
    numbers = [found.get(str(name)) for name in names]
    return [math.nan if number is None else http_client.finite_answer(number) for number in numbers]
