"""A table with the targets in or out, behind an oracle that answers noisy queries."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Bits, Coins
from leakgauge.core.guarantee import Guarantee
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries.asked import Table
from leakgauge.domains.queries.data import load
from leakgauge.domains.queries.generating import TARGETS
from leakgauge.domains.queries.opendp_noise import note
from leakgauge.domains.queries.oracle import LocalOracle
from leakgauge.domains.queries.people import choose_targets
from leakgauge.domains.queries.promises import promise
from leakgauge.domains.queries.query import Query, without_values
from leakgauge.domains.queries.records import Records
from leakgauge.domains.queries.remote.adapter import Adapter
from leakgauge.domains.queries.remote.remote_oracle import RemotePlayed
from leakgauge.domains.queries.rules import Rules
from leakgauge.domains.queries.tables import read_rules, read_setting

PRIVATE = ("names",)  # keys of a plan whose values are people
MASKED = {"where": without_values}  # keys of which reports show a part
FROM_A_SERVICE = "answers came from a service: the same seed does not give the same answers again"


@dataclass(frozen=True, eq=False)
class Played:
    """The oracles of a block: who is in the table of each round, and the seed of their noise."""

    table: Table
    rules: Rules
    members: Bits
    seed: int

    def oracle(self) -> LocalOracle:
        """A fresh oracle, to which nobody has put a question; all draw the same noise in the same order."""
        return LocalOracle(self.table, self.rules, self.members, self.seed)


@dataclass(frozen=True, eq=False)
class Challenger:
    """Owns the table; in each round, the targets are in it by fair coins, and all else stays.

    With an ``adapter``, a service holds the table too, and answers instead of this process.
    """

    table: Table
    rules: Rules
    query: Query  # that the audit is about
    guarantee: Guarantee | None
    digest: str
    notes: tuple[str, ...] = ()  # about the data, for reports: they hold nothing of anybody
    adapter: Adapter | None = None

    coins = Coins.FAIR

    @property
    def n_targets(self) -> int:
        return int(self.table.targets.size)

    def flip(self, n_rounds: int, rng: Generator) -> Bits:
        return rng.random((n_rounds, self.n_targets)) < 0.5

    @property
    def most_workers(self) -> int | None:
        """How many may play at once: one, where it takes care of a service's rate and total."""
        return None if self.adapter is None else 1

    def refuse_dry_run(self) -> None:
        """Refuse to ask a service just to see how long that takes."""
        if self.adapter is not None:
            raise BadInput(
                "a dry run would question the service; reckon with a request for each question, two more for "
                f"each round of each adversary, and {self.adapter.service.rate:g} requests a second"
            )

    def release(self, members: Bits, rng: Generator) -> Played | RemotePlayed:
        if self.adapter is None:
            return Played(self.table, self.rules, members, int(rng.integers(2**63)))
        seeds = rng.integers(2**53, size=len(members)).tolist()
        return RemotePlayed(self.adapter, self.table, self.rules, members, seeds)

    def end(self) -> None:
        """Close the rounds of a block that was played."""
        if self.adapter is not None:
            self.adapter.end()

    def abandon(self) -> None:
        """Close the rounds of a block that could not be played."""
        if self.adapter is not None:
            self.adapter.abandon()


def build(
    *, data: dict[str, Any], challenger: dict[str, Any], mechanism: dict[str, Any], folder: Path, seed: int
) -> Challenger:
    """Make the challenger that the tables of a plan describe."""
    setting = read_setting(challenger)
    rules = read_rules(mechanism, setting, folder)
    records = load(data, folder, seed)
    query = setting.query
    _require_answers(records, query)
    _require_whole(records, query, rules)
    targets = choose_targets(records, query, setting.targets, stream(seed, Role.DATA, TARGETS))
    words = "\n".join((records.digest, repr(setting), repr(rules)))
    return Challenger(
        table=Table(records, targets),
        rules=rules,
        query=query,
        guarantee=promise(rules, setting.promise),
        digest=sha256(words.encode(errors="surrogatepass")).hexdigest(),
        notes=(
            *(() if "source" not in data else (f"{Path(data['source']).name}: {len(records)} records",)),
            *note(rules.noise),
            *(() if setting.service is None else (FROM_A_SERVICE,)),
        ),
        adapter=None if setting.service is None else Adapter(setting.service),
    )


def _require_answers(records: Records, query: Query) -> None:
    """Refuse a query that the table has no answer to, before anybody asks it."""
    try:
        records.condition(query)
        if query.column is not None:
            records.numbers(query.column)
    except BadInput as error:
        raise BadInput(f"challenger.query.{str(error).removeprefix('query.')}") from None


def _require_whole(records: Records, query: Query, rules: Rules) -> None:
    """Refuse geometric noise on sums that are no whole numbers, and measurements that take only these."""
    if query.column is None or not rules.whole:
        return
    values = records.values(query, np.arange(len(records)))
    if not (values == np.floor(values)).all():
        name = type(rules.noise).__module__.rpartition(".")[2]
        raise BadInput(f"mechanism {name!r}: {query.column!r} holds numbers that are not whole; use laplace")
