"""Split the rows into targets, clients' rows and the attacker's rows."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Ints
from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.data.dataset import FederatedDataset, RawRows
from leakgauge.support.target_choice import TargetChoice, rows_by_name

GLANCE_FEATURES = 16  # compared first, because most rows differ in one of them


@dataclass(frozen=True, eq=False, kw_only=True)
class RowSplit:
    """Three disjoint groups of rows; no row of clients or attacker equals a target."""

    targets: Ints
    clients: Ints
    reference: Ints
    notes: tuple[str, ...] = ()

    def require_room(self, batch: int) -> None:
        """Refuse batches larger than the clients' rows, and an attacker with fewer than two rows."""
        if self.clients.size < batch:
            raise BadInput(
                f"challenger.batch: {batch} rows (batch times clients) are drawn at a time, but clients "
                f"have {self.clients.size} besides the {self.targets.size} targets and the "
                f"{self.reference.size} of the reference{self._left_out}; lower batch, clients, targets or "
                "reference, or add rows"
            )
        if self.reference.size < 2:
            raise BadInput(
                f"challenger.reference: the attacker has {self.reference.size} rows{self._left_out}, and "
                "needs 2 or more; raise it, or add rows"
            )

    @property
    def _left_out(self) -> str:
        return f" ({'; '.join(self.notes)})" if self.notes else ""


def split_rows(
    loaded: FederatedDataset, *, targets: TargetChoice, reference: float, batch: int, rng: Generator
) -> RowSplit:
    """Draw or look up the targets, and divide all other rows between clients and attacker.

    ``reference`` is the attacker's number of rows, or as a fraction its share of the rows that are not
    targets. Rows that equal a target are left out of both parts, because they would blur who is a member. If
    the attacker's rows come from a second file, all of that file is used.
    """
    if loaded.given is not None:
        return _split_with_own_reference(loaded, loaded.given, targets, batch, rng)
    chosen = _choose_targets(len(loaded), targets, rng)
    rest = rng.permutation(np.setdiff1d(np.arange(len(loaded)), chosen))
    if not 0 < reference < np.inf:
        raise BadInput(f"challenger.reference must be > 0, got {reference:g}; 0.5 is usual")
    share = isinstance(reference, float) and reference <= 1
    if not share and reference != int(reference):
        raise BadInput(
            f"challenger.reference = {reference:g}: must be a share up to 1, or a whole number of rows; "
            "0.5 is usual"
        )
    n_reference = round(reference * rest.size) if share else int(reference)
    if n_reference >= rest.size:
        raise BadInput(
            f"challenger.reference = {reference:g}: the data have only {rest.size} rows besides the targets, "
            "so none is left for clients; lower it (0.5 is usual)"
        )
    parts = RowSplit(
        targets=chosen, clients=np.sort(rest[n_reference:]), reference=np.sort(rest[:n_reference])
    )
    parts = without_duplicates(parts, loaded.rows)
    parts.require_room(batch)
    return parts


def _split_with_own_reference(
    loaded: FederatedDataset, given: Bits, targets: TargetChoice, batch: int, rng: Generator
) -> RowSplit:
    """Split with the attacker's rows from their own file; none of them may equal a target."""
    own, reference = np.flatnonzero(~given), np.flatnonzero(given)
    chosen = _choose_targets(own.size, targets, rng)
    twins = _duplicates(loaded.rows, chosen, reference, 0.0)
    if twins.size:
        raise BadInput(
            f"data.reference: its row {twins[0] - own.size} (the first is 0) equals a target, so the "
            "attacker would train on it; remove the row, or choose other targets"
        )
    parts = RowSplit(targets=chosen, clients=np.setdiff1d(own, chosen), reference=reference)
    parts = without_duplicates(parts, loaded.rows)
    parts.require_room(batch)
    return parts


def without_duplicates(parts: RowSplit, rows: RawRows, within: float = 0.0) -> RowSplit:
    """Leave out rows of clients and attacker whose values are all ``within`` those of a target."""
    kept = {}
    for name in ("clients", "reference"):
        ours = getattr(parts, name)
        twins = np.isin(ours, _duplicates(rows, parts.targets, ours, within))
        kept[name] = (ours[~twins], int(twins.sum()))
    (clients, of_clients), (reference, of_reference) = kept["clients"], kept["reference"]
    if not of_clients + of_reference:
        return parts
    near = "equal" if within == 0 else "nearly equal"
    note = f"left out: {of_clients} rows of clients and {of_reference} of the reference that {near} a target"
    return replace(parts, clients=clients, reference=reference, notes=(*parts.notes, note))


def _duplicates(rows: RawRows, targets: Ints, among: Ints, within: float) -> Ints:
    few = np.unique(np.linspace(0, rows.shape[1] - 1, GLANCE_FEATURES).astype(np.int64))
    glance = rows[np.ix_(among, few)].astype(np.float32)
    duplicates = []
    for target in targets.tolist():
        own = rows[target].astype(np.float32)
        near = among[(np.abs(glance - own[few]) <= within).all(axis=1)]
        duplicates.append(near[(np.abs(rows[near].astype(np.float32) - own) <= within).all(axis=1)])
    return np.concatenate(duplicates)


def _choose_targets(n_rows: int, wanted: TargetChoice, rng: Generator) -> Ints:
    if wanted.names:
        rows, where = {str(row): row for row in range(n_rows)}, "challenger.targets.names"
        rule = f"they are numbered from 0 to {n_rows - 1}"
        return rows_by_name(wanted.names, rows, where, lambda name: f"there is no row {name!r}; {rule}")
    if wanted.how_many > n_rows:
        raise BadInput(
            f"challenger.targets: {wanted.how_many} wanted, but the data have {n_rows} rows; lower n"
        )
    return np.sort(rng.choice(n_rows, wanted.how_many, replace=False))
