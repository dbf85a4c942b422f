"""Sentences of reports that depend on the plan: what the owner can change, and what a round is called."""

from collections.abc import Mapping
from typing import Any

from leakgauge.core.domain import RoundTerm

_SIMULATED_SESSION = RoundTerm(
    noun="simulated session",
    short="session",
    meaning="One session of a simulated service with fresh noise, also called a round",
    more="Simulate more sessions",
    game="Each attacker asks questions in many simulated sessions, half of them with a target in the table "
    "and half without, and says in which the target was.",
)
_SESSION = RoundTerm(
    noun="session",
    short="session",
    meaning="One session of the service, in which an attacker asks all its questions; also called a round",
    more="Open more sessions",
    game="Each attacker asks the service questions in many sessions, half of them with a target in the table "
    "and half without, and says in which the target was.",
)
_ROUND_WITHOUT_SESSION = RoundTerm(
    noun="round",
    short="round",
    meaning="All questions of an attacker, asked once to one of the two copies of the table",
    more="Ask in more rounds",
    game="Each attacker asks the service its questions in many rounds, half of them to the copy of the table "
    "with a target and half to the one without, and says in which the target was.",
)


def round_term(tables: Mapping[str, Any]) -> RoundTerm:
    """What a round is called: a session of the owner's service, if it has sessions, or of a simulated one.

    >>> round_term({"challenger": {"budget": 1.0}}).noun, round_term({"challenger": {"service": {}}}).noun
    ('simulated session', 'session')
    """
    service = tables.get("challenger", {}).get("service")
    if service is None:
        return _SIMULATED_SESSION
    return _ROUND_WITHOUT_SESSION if "ask" in service and "open" not in service else _SESSION


def lower_risk(tables: Mapping[str, Any]) -> str:
    """Advice on accountant, budget and refusals, without what the plan has already.

    >>> lower_risk({"challenger": {"budget": 1.0, "accountant": "sequential"}})
    'Lower the budget or the ε of an answer.'
    >>> lower_risk({"challenger": {"service": {}, "accountant": "per_row", "budget": 1.0}})
    'In the service, let the accountant charge every answer, or lower the budget or the ε of an answer.'
    """
    challenger = tables.get("challenger", {})
    service = "service" in challenger  # whose own settings count: the plan only states them
    advice = "lower the budget or the ε of an answer"
    if challenger.get("budget") is None:
        advice = "set a budget, or lower the ε of an answer"
    if challenger.get("accountant", "sequential") != "sequential":
        key = "" if service else ' (accountant = "sequential")'
        advice = f"let the accountant charge every answer{key}, or {advice}"
    text = f"In the service, {advice}." if service else f"{advice[0].upper()}{advice[1:]}."
    by_records = challenger.get("suppress_by", "records") == "records"
    is_count = challenger.get("query", {}).get("kind", "count") == "count"
    if challenger.get("at_least") is None or not by_records or not is_count:
        return text
    key = "" if service else ' (suppress_by = "answer")'
    return f"{text} Refuse small counts by the noisy answer, not by the number of records{key}."
