"""Exposure by a query log of 10^8 pairs of query and record, against a dictionary loop.

The loop is timed on the pairs of 1 % of the records, which are already in memory for it, and scaled. Its
accounts are sums, counts and the three costliest queries; the best attack on a record is composed one record
at a time. Our time and memory are those of the whole command in a process of its own: files read, everything
computed, files written.
"""

import heapq
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.measure import Timing, growth, ratio, repeat, sized
from leakgauge.core.arrays import Reals
from leakgauge.domains.queries.log.exposure import expose_query_log
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.domains.queries.log.incidence import build_incidence
from leakgauge.domains.queries.log.reader import read_query_log
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record
from leakgauge.support.threads import single_threaded
from leakgauge.theory import loss_composition
from leakgauge.theory.privacy_loss import LaplaceCell

QUERIES = RECORDS = sized(1_000_000, 4_000)
PER_QUERY, KINDS = 100, 10
SAMPLE, COMPOSED = 100, 20  # one in so many records; records whose best attack is composed
GOAL, MOST = 50, 8.0


def run() -> str:
    with tempfile.TemporaryDirectory() as folder, single_threaded():
        place = Path(folder)
        log = make(place, QUERIES, RECORDS)
        pairs, epsilons = _sample(log)
        accounts = _scaled(repeat(lambda: _in_a_dictionary(pairs, epsilons), 3))
        attacks = _scaled(repeat(lambda: _one_by_one(pairs, epsilons), 1), RECORDS / COMPOSED)
        parts = (_whole(log, accounts, attacks), _accounts(place, accounts), [_growth(place)], _sums(place))
        return "\n".join(line for lines in parts for line in lines)


def make(folder: Path, queries: int, records: int, value: str = "", bound: float = 100.0) -> QueryLogFiles:
    """Write a log: so many queries of so many records each, at ten different epsilons.

    The queries are sums where ``value`` says, in SQL, what a record adds to a query.
    """
    kind = f", 'sum' AS kind, {bound} AS bound" if value else ""
    contribution = f", {value} AS contribution" if value else ""
    log, pairs = folder / f"log-{queries}.parquet", folder / f"pairs-{queries}.parquet"
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute(
            f"COPY (SELECT i AS query, 1e-2 * (1 + i % {KINDS}) AS epsilon"
            f"{kind} FROM range({queries}) t(i)) TO '{log}'"
        )
        database.execute(
            f"COPY (SELECT *{contribution} "
            f"FROM (SELECT i // {PER_QUERY} AS query, CAST(hash(i) % {records} AS BIGINT) AS record "
            f"FROM range({queries * PER_QUERY}) t(i))) TO '{pairs}'"
        )
    return QueryLogFiles(log, pairs)


def _sample(log: QueryLogFiles) -> tuple[list[tuple[int, int]], dict[int, float]]:
    """The pairs of one record in a hundred, and the epsilon of every query."""
    with duckdb.connect(config={"threads": 1}) as database:
        pairs = database.execute(
            f"SELECT DISTINCT query, record FROM '{log.contains}' WHERE record % {SAMPLE} = 0 ORDER BY query"
        ).fetchall()
        return pairs, dict(database.execute(f"SELECT query, epsilon FROM '{log.log}'").fetchall())


def _in_a_dictionary(
    pairs: list[tuple[int, int]], epsilons: dict[int, float]
) -> dict[int, tuple[int, float, list[tuple[float, int]]]]:
    spent: defaultdict[int, float] = defaultdict(float)
    asked: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
    for query, record in pairs:
        epsilon = epsilons[query]
        spent[record] += epsilon
        asked[record].append((epsilon, query))
    return {record: (len(own), spent[record], heapq.nlargest(3, own)) for record, own in asked.items()}


def _one_by_one(pairs: list[tuple[int, int]], epsilons: dict[int, float]) -> list[float]:
    loss_composition._best_attack.cache_clear()  # noqa: SLF001
    asked: defaultdict[int, list[float]] = defaultdict(list)
    for query, record in pairs:
        if record < COMPOSED * SAMPLE:
            asked[record].append(epsilons[query])
    found = []
    for own in asked.values():
        best = loss_composition.best_attack([(LaplaceCell(epsilon), 1) for epsilon in own])
        found.append(best.accuracy[1] + best.auc[1] + float(best.tpr_at(0.01)[1]))
    return found


def _whole(log: QueryLogFiles, accounts: Timing, attacks: Timing) -> Iterator[str]:
    code = "import sys; from leakgauge.cli.main import main; sys.exit(main())"
    out = log.log.parent / "out"
    words = ["expose", "--query-log", log.log, "--contains", log.contains, "--out", out, "--json"]
    with Path(os.devnull).open("w") as nowhere:
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", code, *map(str, words)],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)],
        )
        _, status, used = os.wait4(child, 0)
    assert status == 0, status
    seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20
    loop = accounts.median + attacks.median
    yield (
        f"{QUERIES:,} queries x {RECORDS:,} records, {QUERIES * PER_QUERY:,} pairs; files to files: "
        f"{seconds:.3g} s, peak {memory:.2f} GB (goal <= {MOST:g} GB)"
    )
    yield (
        f"- dictionary loop on 1 % of the records, scaled: {accounts} for the accounts, {attacks} for the "
        f"best attack on each ({COMPOSED} timed): {loop / seconds:,.0f} x (goal {GOAL} x)"
    )


def _accounts(place: Path, loop: Timing) -> Iterator[str]:
    """What a loop can do best: sums, counts and the costliest queries alone, of pairs in memory."""
    share = 10
    log = read_query_log(make(place, QUERIES // share, RECORDS // share))
    sparse = log.incidence
    pairs = _Pairs(sparse.queries, np.repeat(np.arange(sparse.n_records, dtype=np.int32), sparse.numbers))

    def ours() -> Reals:
        again = build_incidence(pairs, log.answers.rows, sparse.n_records)
        return epsilon_per_record(log.answers, again, 1e-5).epsilon

    ours_time = _scaled(repeat(ours, 3), share)
    yield (f"- accounts alone, pairs in memory (timed on 1 / {share}): {ours_time}, {ratio(loop, ours_time)}")


class _Pairs:
    """Pairs in the order of a log: by query."""

    contributions = by_record = None

    def __init__(self, queries: "np.ndarray", records: "np.ndarray") -> None:
        order = np.argsort(queries, kind="stable")
        self.queries, self.records = queries[order], records[order]


def _growth(place: Path) -> str:
    sizes = sized([25_000, 50_000, 100_000, 200_000], [400, 800])
    times = []
    for size in sizes:
        files = make(place, size, size)
        times.append(repeat(lambda files=files: expose_query_log(files), 3))
    points = ", ".join(f"{size * PER_QUERY:,}: {timing.median:.3g} s" for size, timing in zip(sizes, times))
    return f"growth in pairs: slope {growth(sizes, times):.2f} (goal <= 1.1); {points}"


def _sums(place: Path) -> Iterator[str]:
    """Sums with a value in each pair, compared with counts of the same pairs.

    Brackets of single records are kept for the next call in the same process: each call here starts without.
    """
    size = sized(50_000, 400)
    values = {
        "60 values, one for each record": "hash(record) % 60",
        "a million values, one for each record": "hash(record) % 1000003 / 10000.3",
        "60 values, one for each pair": f"hash(query * {size} + record) % 60",
        "a million values, one for each pair": f"hash(query * {size} + record) % 1000003 / 10000.3",
    }

    def expose(files: QueryLogFiles) -> None:
        loss_composition._best_attack.cache_clear()  # noqa: SLF001
        expose_query_log(files)

    def timed(value: str) -> Timing:
        files = make(place, size, size, value)
        return repeat(lambda: expose(files), 3)

    counts = timed("")
    yield f"sums of the same {size * PER_QUERY:,} pairs, compared with counts: {counts}; goal 1.5 x"
    for name, value in values.items():
        sums = timed(value)
        yield f"- {name}: {sums}, {sums.median / counts.median:.2f} x the time"


def _scaled(timing: Timing, factor: float = SAMPLE) -> Timing:
    return Timing(tuple(seconds * factor for seconds in timing.seconds))
