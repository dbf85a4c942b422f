"""The plans of Huang et al. (2020): Laplace noise, and the audit that all items share."""

from collections.abc import Mapping
from typing import Any

from leakgauge.papers import comparison, paper

CONFIDENCE = 0.999  # there are many intervals
LEVEL = 0.05  # of the t-test, section 4.4
RECORDS = 200  # of the generated table: more than any attack needs
ROUNDS = {paper.Scale.QUICK: 20_000, paper.Scale.FULL: 200_000}  # the paper does not say how many
ERROR = 4e-4  # the numerical error of a rate of a t-test under Laplace noise, see theory.t_test_power


def audit_table(
    name: str,
    scale: paper.Scale,
    epsilon: float,
    attacks: list[dict[str, Any]],
    challenger: Mapping[str, Any] | None = None,
    records: int = RECORDS,
) -> paper.AuditTable:
    """Return the audit of one record by queries that cost ``epsilon`` each: counts by default."""
    return {
        "name": name,
        "domain": "queries",
        "rounds": ROUNDS[scale],
        "block": 5000,
        "data": {"source": "synthetic", "records": records},
        "mechanism": {"name": "laplace", "epsilon": epsilon},
        "challenger": {"targets": 1, **(challenger or {})},
        "metrics": {"confidence": CONFIDENCE},
        "attacks": attacks,
    }


def t_test_attack(m: int, form: str = "paper") -> dict[str, Any]:
    """Return the t-test of ``m`` answers, as a plan names it."""
    return {"name": "split_t_test", "queries": m, "form": form, "label": f"{form}-{m}"}


def with_numeric_error(value: float, errors: int = 1) -> comparison.OurNumber:
    """A value computed from this many rates of a t-test under Laplace noise, with its numerical error."""
    return comparison.OurNumber(
        value=float(value), low=float(value) - errors * ERROR, high=float(value) + errors * ERROR
    )
