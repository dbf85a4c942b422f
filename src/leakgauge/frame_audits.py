"""The public functions ``audit_counts`` and ``audit_queries``: audits of data frames, without a plan file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from leakgauge.api import run_frame_audit
from leakgauge.catalog import domain_with_count_audit, domain_with_query_audit
from leakgauge.core.errors import BadInput
from leakgauge.limits import NO_LIMITS, Limits
from leakgauge.summary import RunResult

BLOCK = 250  # rounds that are simulated together


def audit_counts(
    visits: Any,
    *,
    mechanism: Mapping[str, Any],
    columns: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    group_size: int | Literal["everyone"] = "everyone",
    targets: int | Mapping[str, Any] = 10,
    challenger: Mapping[str, Any] | None = None,
    attacks: Sequence[Mapping[str, Any] | str] | None = None,
    rounds: int = 500,
    limits: Limits | Mapping[str, Any] = NO_LIMITS,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    out: str | Path | None = None,
) -> RunResult:
    """Measure how well people can be identified in counts of them, such as counts per place and hour.

    The frame stays in memory and is not written to any file. The finding is the one that `leakgauge run`
    gives for the same visits in a CSV file, the same seed and the same settings.

    Args:
        visits: One row for each visit, or for each person and cell: a frame of pandas, polars or pyarrow, a
            structured array of NumPy, a dict of columns, or the path of a file. Or an array of people x cells
            (NumPy or SciPy sparse) with entries 0, 1 and 2: how much a person adds to a count.
        mechanism: The noise and what follows it, as a plan writes it, such as
            {"name": "laplace", "epsilon": 1.0, "unit": "user"}.
        columns: What the columns mean: {"user": "u", "time": "t", "lat": "y", "lon": "x"} or "place" for
            visits, {"user": "u", "cell": "c"} for people and cells.
        data: Further keys of the table `data` of a plan: grid, box, epoch, timezone, window and so on.
        group_size: How many people are counted; all people of the data unless given.
        targets: How many people are audited, or the table `targets` of a plan.
        challenger: Further keys of the table `challenger` of a plan, such as per_day.
        attacks: The attacks, as a plan names them. The default is all that the domain recommends.
        rounds: How many releases are simulated.
        limits: What the owner allows, as `Limits` or as a dict such as {"accuracy": 0.6}.
        confidence: The confidence level of all intervals.
        seed: The seed of all random numbers.
        workers: How many processes simulate releases at the same time.
        out: A run folder to keep the trials and the report in; a temporary one unless given.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    domain, prepare = domain_with_count_audit()
    stated = {"group_size": group_size, "targets": targets}
    table = _combined(stated, challenger, "challenger")
    audit = prepare(visits, columns=columns, data=_table(data, "data"), challenger=table)
    settings = _settings("counts", mechanism, rounds, attacks, confidence)
    return run_frame_audit(domain, audit, settings, seed=seed, limits=limits, workers=workers, out=out)


def audit_queries(
    records: Any,
    *,
    mechanism: Mapping[str, Any],
    query: Mapping[str, Any] | None = None,
    budget: float | None = None,
    accountant: str | None = None,
    promise: float | None = None,
    service: str | Mapping[str, Any] | None = None,
    own_service: bool = False,
    data: Mapping[str, Any] | None = None,
    targets: int | Mapping[str, Any] = 1,
    challenger: Mapping[str, Any] | None = None,
    attacks: Sequence[Mapping[str, Any] | str] | None = None,
    rounds: int = 2000,
    limits: Limits | Mapping[str, Any] = NO_LIMITS,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    out: str | Path | None = None,
) -> RunResult:
    """Measure what the noisy answers of a query service reveal about one record of its table.

    The service is simulated from `mechanism`, `budget` and `accountant`, or it is your own one at an address.
    The frame stays in memory and is not written to any file. The finding is the one that `leakgauge run`
    gives for the same records in a CSV file, the same seed and the same settings.

    Args:
        records: The table: a frame of pandas, polars or pyarrow, a structured array of NumPy, a dict of
            columns, or the path of a file.
        mechanism: The noise of one answer, as a plan writes it, such as {"name": "laplace", "epsilon": 0.3}.
        query: The query that is audited, such as {"kind": "count", "where": "age < 30"}; a count of all
            records unless given.
        budget: The epsilon that all answers together may cost.
        accountant: How answers are charged: "sequential" unless given, or another one that
            `leakgauge show accountants` lists.
        promise: The epsilon that the owner states, where no budget enforces one.
        service: Your own service: its address, or the table `service` of a plan.
        own_service: States that the service is yours; needed to question one.
        data: Further keys of the table `data` of a plan: id, person, rows_per_person.
        targets: How many records are audited, or the table `targets` of a plan.
        challenger: Further keys of the table `challenger` of a plan, such as cache or at_least.
        attacks: The attacks, as a plan names them. The default is all that the domain recommends.
        rounds: How many times the service is simulated or questioned anew.
        limits: What the owner allows, as `Limits` or as a dict such as {"accuracy": 0.6}.
        confidence: The confidence level of all intervals.
        seed: The seed of all random numbers.
        workers: How many processes simulate at the same time.
        out: A run folder to keep the trials and the report in; a temporary one unless given.

    Raises:
        BadInput: If an argument cannot be used; the message says what to change.
    """
    domain, prepare = domain_with_query_audit()
    stated = {
        "query": query,
        "budget": budget,
        "accountant": accountant,
        "promise": promise,
        "own_service": own_service or None,
        "targets": targets,
    }
    table = _combined(stated, challenger, "challenger")
    audit = prepare(records, service=service, data=_table(data, "data"), challenger=table)
    settings = _settings("answers", mechanism, rounds, attacks, confidence)
    return run_frame_audit(domain, audit, settings, seed=seed, limits=limits, workers=workers, out=out)


def _settings(
    name: str,
    mechanism: Mapping[str, Any],
    rounds: int,
    attacks: Sequence[Mapping[str, Any] | str] | None,
    confidence: float,
) -> dict[str, Any]:
    """The entries of an audit's table that every domain has."""
    if isinstance(attacks, str) or not isinstance(attacks, Sequence | None):
        raise BadInput(f"attacks: must be a list of names or tables, got {attacks!r}")
    return {
        "name": name,
        "rounds": rounds,
        "block": BLOCK,
        "mechanism": _table(mechanism, "mechanism"),
        "metrics": {"confidence": confidence},
        **({} if attacks is None else {"attacks": list(attacks)}),
    }


def _table(given: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise BadInput(f"{where}: must be a dict, as the table of a plan, got {type(given).__name__}")
    return dict(given or {})


def _combined(stated: Mapping[str, Any], further: Mapping[str, Any] | None, where: str) -> dict[str, Any]:
    """The arguments that are given, and further keys of the same table of a plan."""
    known = {key: value for key, value in stated.items() if value is not None}
    more = _table(further, where)
    if twice := sorted(set(stated) & set(more)):
        raise BadInput(f"{where}.{twice[0]}: is an argument of its own; leave it out of {where}")
    return {**known, **more}
