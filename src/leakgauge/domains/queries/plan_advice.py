"""What the owner of a query service can change so that people are harder to identify, by the plan."""

from collections.abc import Mapping
from typing import Any


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
