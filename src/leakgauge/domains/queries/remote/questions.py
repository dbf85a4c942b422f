"""A query in the words of a template."""

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.conditions import literal, quoted
from leakgauge.domains.queries.query import Kind, Query
from leakgauge.domains.queries.remote.service import Service
from leakgauge.domains.queries.remote.templates import Words


def words_of(query: Query, service: Service, id_column: str) -> Words:
    """What the placeholders of a question stand for."""
    _require_said(query, service)
    where = as_predicate(query, id_column)
    return {
        "kind": query.kind.value,
        "column": query.column,
        "bound": query.bound,
        "where": where,
        "predicate": query.where,
        "ids": None if query.ids is None else list(query.ids),
        "sql": f"SELECT {_asked(query)} FROM {service.table} WHERE {where}",
    }


def as_predicate(query: Query, id_column: str) -> str:
    """What follows WHERE in SQL.

    >>> as_predicate(Query(ids=(3, 1)), "id"), as_predicate(Query(), "id")
    ('"id" IN (3, 1)', 'TRUE')
    """
    if query.ids is not None:
        return f"{quoted(id_column)} IN ({', '.join(map(literal, query.ids))})" if query.ids else "FALSE"
    return "TRUE" if query.where is None else query.where


def _asked(query: Query) -> str:
    if query.kind is Kind.COUNT:
        return "COUNT(*)"
    assert query.column is not None
    return f"SUM(LEAST(GREATEST({quoted(query.column)}, {-query.sensitivity!r}), {query.sensitivity!r}))"


def _require_said(query: Query, service: Service) -> None:
    """Refuse a template that would leave out which records a question is about."""
    said = service.asking.places
    if said & {"where", "sql"}:
        return
    if query.ids is not None and "ids" not in said:
        raise BadInput(
            "challenger.service.ask: an attack names records by ids, which {predicate} does not tell; write "
            '{where} instead, or have the attack name them by = "predicate"'
        )
    if query.where is not None and "predicate" not in said:
        raise BadInput(
            "challenger.service.ask: an attack names records by a predicate, which {ids} does not tell; put "
            "{where} somewhere, or choose attacks that go by ids"
        )
