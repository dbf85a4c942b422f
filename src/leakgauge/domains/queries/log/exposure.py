"""How exposed each record is by a log of answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import AdversaryExposure, Exposure, SpentBudgets
from leakgauge.domains.queries.log.best_attack import (
    best_attack_per_record,
    record_signatures,
    tight_epsilon_per_record,
)
from leakgauge.domains.queries.log.files import DEFAULT_DELTA, QueryLogFiles
from leakgauge.domains.queries.log.noise_families import LossForm
from leakgauge.domains.queries.log.reader import read_query_log
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record
from leakgauge.domains.queries.log.secret_bits import secret_bits
from leakgauge.domains.queries.log.tabulated_kinds import TabulatedKinds, tabulated_kinds

BASIS = (
    "the best possible attack on all answers of the log, by an attacker who knows every other record and "
    "which queries contain this one, at the best threshold for each record: no attacker can do better"
)
FRESH = (
    "Every answer is assumed to have fresh noise, independent of all others. Rows with the same query id are "
    "one release: a service that repeats answers from a cache must log them with the same id."
)
ALONE = "Only the answers in this log count, not refusals and not other services or files about the records."


def expose_log_at(
    log: Path,
    *,
    contains: Path | None,
    data: Path | None,
    id_column: str | None,
    delta: float | None,
    secret: str | None,
    begin: Callable[[str], None],
) -> Exposure:
    """Compute the exposure of each record from the paths of a log and of what describes its records."""
    files = QueryLogFiles(log, contains, data, id_column, secret)
    return expose_query_log(files, delta=DEFAULT_DELTA if delta is None else delta, begin=begin)


def expose_query_log(
    files: QueryLogFiles, *, delta: float = DEFAULT_DELTA, begin: Callable[[str], None] = lambda _: None
) -> Exposure:
    """Compute epsilon and the best attack for each record; ``begin`` is called with the name of each step."""
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}; 1e-5 is usual")
    begin("files")
    recovered = None if files.secret is None else secret_bits(files, delta)
    log = read_query_log(files)
    begin("accounts")
    tabulated = tabulated_kinds(log.answers, log.incidence)
    spending = epsilon_per_record(log.answers, log.incidence, delta, tabulated)
    begin("best attack")
    kinds = record_signatures(log.answers, log.incidence, spending.mu_squared, tabulated)
    attack, error = best_attack_per_record(kinds)
    begin("tight composition")
    tight = tight_epsilon_per_record(kinds, spending.epsilon, delta)
    against = AdversaryExposure(
        adversary="informed",
        basis=BASIS,
        accuracy=attack.accuracy,
        auc=attack.auc,
        tpr=attack.tpr,
        error=error,
    )
    spent = SpentBudgets(
        epsilon=spending.epsilon,
        delta=np.where(spending.at_delta, delta, 0.0),
        tight=tight,
        tight_delta=delta,
        queries=_texts(log.answers.ids),
        top=spending.top,
        top_epsilon=spending.top_epsilon,
    )
    return Exposure(
        names=_texts(log.names),
        cells=log.incidence.numbers,
        against=(against,),
        notes=(*log.notes, *_notes(tabulated, delta, kinds.rounded), FRESH, ALONE),
        spent=spent,
        unit="record",
        secret_bits=recovered,
    )


def _texts(ids: npt.NDArray[np.generic]) -> npt.NDArray[np.str_]:
    return np.ma.getdata(ids).astype(np.str_)


def _notes(kinds: TabulatedKinds, delta: float, rounded: float) -> Iterator[str]:
    answers = kinds.answers
    if answers.has_form(LossForm.GAUSSIAN).any():
        yield f"Epsilon of Gaussian answers is exact, for all answers of a record, at delta = {delta:g}."
    composed = [family.name for family in answers.families if family.composed and not family.bounded]
    if composed:
        yield (
            f"Epsilon of answers with {' or '.join(composed)} noise is an upper bound, for all answers of a "
            f"record, at delta = {delta:g}."
        )
    if unknown := kinds.bounded_names:
        yield (
            f"The best attack on answers with {' or '.join(unknown)} noise is not known. Each is counted as "
            "the most revealing answer that its epsilon allows: the success of attacks may be overstated, "
            "and is not understated."
        )
    if rounded:
        exact = "Epsilon is exact." if not composed else "Epsilon of these answers is not understated either."
        yield (
            f"There are very many different shifts, so each was rounded up by up to {rounded:.1%}: the "
            f"success of attacks is not understated. {exact}"
        )
