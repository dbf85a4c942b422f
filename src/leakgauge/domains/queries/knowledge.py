"""What an attacker of a query oracle knows; attacks receive nothing else."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Mechanism, Reals, Transcript
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.queries import DOMAIN
from leakgauge.domains.queries.challenger import Challenger
from leakgauge.domains.queries.data import KNOWN_STREAM
from leakgauge.domains.queries.plan_tables import QueriesKnowledgeTable
from leakgauge.domains.queries.query import Id, Query
from leakgauge.domains.queries.release import QueriesBlock, QueriesView
from leakgauge.support.table_reader import read_dataclass, require_known


@dataclass(frozen=True, eq=False)
class KnownRecords:
    """Knows records that are certainly in the table, the targets' records, and the rules of the oracle.

    ``ids`` and ``values`` belong to the known records that the audit's query selects; ``values`` are their
    contributions to an answer, 1 in a count. ``whole``: these are all selected records except the targets.
    """

    query: Query  # the query that is audited; its ``where`` selects every target
    noise: Mechanism  # of one answer to it
    epsilon: float  # of one answer
    budget: float | None
    accountant: str
    cache: str
    id_column: str
    ids: tuple[Id, ...]
    values: Reals
    targets: tuple[Id, ...]
    shifts: Reals  # contribution of each target to an answer
    whole: bool

    def view(self, block: QueriesBlock) -> QueriesView:
        return QueriesView(len(block.members), block)

    def spent(self, view: QueriesView) -> dict[str, Reals]:
        """Return the epsilon obtained about each target, and the epsilon that accountants record.

        ``believed`` is that of the accountant in charge; all accountants follow by name. ``reported`` is what
        a service itself says, where it does.
        """
        oracle = view._oracle  # noqa: SLF001 (hidden from attacks, not from here)
        believed = {name: epsilon[:, None] for name, epsilon in oracle.believed.items()}
        reported = {} if oracle.reported is None else {"reported": oracle.reported[:, None]}
        return {"obtained": oracle.obtained, "believed": believed[self.accountant], **reported, **believed}

    def transcript(self, view: QueriesView) -> Transcript:
        """Return every question and answer, beside the true answers."""
        return view._oracle.transcript()  # noqa: SLF001 (hidden from attacks, not from here)


def build(name: str, parameters: dict[str, Any], challenger: Challenger, seed: int) -> KnownRecords:
    """Build the knowledge of an attacker; fewer known records are a subset of more."""
    require_known(name, list(DOMAIN.knowledge_terms), "knowledge: none")
    table = read_dataclass(QueriesKnowledgeTable, parameters, f"knowledge {name!r}")
    records, targets = challenger.table.records, challenger.table.targets
    selected = challenger.table.ask(challenger.query).others
    n_known = selected.size if table.records is None else table.records
    if n_known > selected.size:
        raise BadInput(
            f"knowledge {name!r}: records = {n_known}, but the query selects {selected.size} records besides "
            "the targets; lower it"
        )
    rows = stream(seed, Role.DATA, KNOWN_STREAM).permutation(selected)[:n_known]
    rules = challenger.rules
    return KnownRecords(
        query=challenger.query,
        noise=rules.noise_of(challenger.query),
        epsilon=rules.epsilon,
        budget=rules.budget,
        accountant=rules.accountant,
        cache=rules.cache.value,
        id_column=records.id_column,
        ids=tuple(records.ids[row] for row in rows.tolist()),
        values=records.values(challenger.query, rows),
        targets=tuple(records.ids[row] for row in targets.tolist()),
        shifts=records.values(challenger.query, np.asarray(targets)),
        whole=n_known == selected.size,
    )
