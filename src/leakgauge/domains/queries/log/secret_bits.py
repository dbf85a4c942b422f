"""How many secret bits the answers of a log give away to linear reconstruction (Dinur and Nissim 2003).

The secret is a column of the table with two values. Everything else is known to the attacker: all other
columns, who is in the table, the predicates and the answers. So each answer is a known number, plus a known
weight for each record times its bit, plus noise.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsmr

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.log.answers import LoggedAnswers
from leakgauge.domains.queries.log.best_attack import best_attack_per_record, record_signatures
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.domains.queries.log.incidence import Incidence
from leakgauge.domains.queries.log.reader import QueryLog, read_query_log, read_table
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record
from leakgauge.domains.queries.log.tabulated_kinds import tabulated_kinds
from leakgauge.domains.queries.records import OracleRecords, absent_values
from leakgauge.theory.linear_reconstruction import least_absolute, least_squares

_OF_A_COIN = 0.25  # the variance of a bit
_MOST_STEPS = 2e10  # multiplications for which the success of least squares is predicted
_MOST_IN_PROGRAM = 100_000  # weights of a linear program


@dataclass(frozen=True, eq=False)
class LinearAnswers:
    """Answers minus what is known, the weights of the bits (answers x records), and noise deviations."""

    answers: Reals
    weights: csr_array
    deviations: Reals
    bits: Bits


def secret_bits(files: QueryLogFiles, delta: float) -> dict[str, Any]:
    """Reconstruct the secret column from the answers; return shares of bits, and sentences about them."""
    assert files.secret is not None
    linear, log = _read(files, files.secret)
    touched = np.flatnonzero(np.diff(linear.weights.tocsc().indptr))
    found: dict[str, Any] = {
        "secret": files.secret,
        "records": int(touched.size),
        "answers": int(np.count_nonzero(np.diff(linear.weights.indptr))),
    }
    if touched.size:
        about = replace(linear, weights=linear.weights[:, touched], bits=linear.bits[touched])
        ones = float(about.bits.mean())
        found |= {**_recovered(about), "most_common": max(ones, 1 - ones)}
        found["allowed"] = float(_allowed(linear.weights, log.answers, delta)[touched].mean())
    return {**found, "sentences": _sentences(found)}


def _read(files: QueryLogFiles, secret: str) -> tuple[LinearAnswers, QueryLog]:
    """Read the log with a table in which every secret has one value, and then the other."""
    if files.data is None:
        raise BadInput("secret: is a column of the table; name its file (--data, in Python data=...)")
    table = read_table(files.data, files.id)
    values, bits = _two_values(table, secret)
    low, high = (
        read_query_log(files, table=_with_secret(table, secret, value), with_answers=True) for value in values
    )
    assert high.given is not None
    known, other = _matrix(low), _matrix(high)
    answered = np.isfinite(high.given)
    weights = csr_array((other - known).multiply(answered[:, None]))
    weights.eliminate_zeros()
    residuals = np.where(answered, high.given, 0.0) - known @ np.ones(bits.size)
    deviations = np.array([_deviation(high.answers, i) for i in range(len(high.answers))])
    return LinearAnswers(residuals, weights, deviations, bits), high


def _two_values(table: OracleRecords, secret: str) -> tuple[list[Any], Bits]:
    """Return the two values of the secret column, and which records have the larger one."""
    if secret not in table.columns:
        raise BadInput(f"secret: the table has no column {secret!r}; it has {', '.join(table.columns)}")
    column = table.columns[secret]
    if n := int(absent_values(column).sum()):
        raise BadInput(f"secret: {n:,} records have no value in {secret!r}; fill them in, or leave them out")
    values = np.unique(np.ma.getdata(column))
    if values.size != 2:
        raise BadInput(f"secret: {secret!r} has {values.size:,} different values; a secret bit has two")
    return list(values), np.asarray(np.ma.getdata(column) == values[1])


def _with_secret(table: OracleRecords, secret: str, value: Any) -> OracleRecords:
    column = np.ma.masked_array(np.full_like(np.ma.getdata(table.columns[secret]), value))
    return replace(table, columns={**table.columns, secret: column}, digest=f"{table.digest} {value}")


def _matrix(log: QueryLog) -> csr_array:
    """Return what each record adds to each answer."""
    of = log.incidence
    added = np.ones(of.queries.size) if of.contributions is None else of.contributions[:]
    by_record = csr_array((added, of.queries, of.starts), shape=(of.n_records, len(log.answers)))
    return csr_array(by_record.T)


def _deviation(answers: LoggedAnswers, place: int) -> float:
    family = answers.families[int(answers.noise[place])]
    return family.deviation(float(answers.scale[place]))


def _recovered(linear: LinearAnswers) -> dict[str, float | None]:
    """Return the share of bits by least squares, what theory expects of it, and by a linear program."""
    rows = np.flatnonzero(np.diff(linear.weights.indptr))
    weights = linear.weights[rows]
    centred = linear.answers[rows] - weights.sum(axis=1) / 2
    deviations = linear.deviations[rows]
    scaled, y = csr_array(weights.multiply(1 / deviations[:, None])), centred / deviations
    small = np.prod([*scaled.shape, min(scaled.shape)], dtype=float) <= _MOST_STEPS
    expected = None
    if small:
        solved = least_squares(scaled.toarray(), 1.0, prior_variance=_OF_A_COIN)
        estimates, expected = solved.weights @ y, float(solved.recovery.mean())
    else:
        estimates = lsmr(scaled, y, damp=1 / np.sqrt(_OF_A_COIN), atol=1e-8, btol=1e-8, maxiter=2_000)[0]
    program = None
    if small and weights.nnz <= _MOST_IN_PROGRAM:
        sums = y + scaled.sum(axis=1) / 2
        program = _share_right(least_absolute(scaled, sums) - 0.5, linear.bits)
    return {
        "least_squares": _share_right(estimates, linear.bits),
        "least_squares_expected": expected,
        "linear_program": program,
    }


def _share_right(estimates: Reals, bits: Bits) -> float:
    """Return the share of right signs; a value of zero is a coin toss."""
    return float(np.mean(np.where(np.abs(estimates) < 1e-9, 0.5, (estimates > 0) == bits)))


def _allowed(weights: csr_array, answers: LoggedAnswers, delta: float) -> Reals:
    """Return the accuracy of the best attack on each bit alone, all others known."""
    by_record = weights.tocsc()
    by_record.sort_indices()
    moved = Incidence(by_record.indptr.astype(np.int64), by_record.indices, by_record.data)
    tabulated = tabulated_kinds(answers, moved)
    spending = epsilon_per_record(answers, moved, delta, tabulated)
    attack, _ = best_attack_per_record(record_signatures(answers, moved, spending.mu_squared, tabulated))
    return attack.accuracy


def _sentences(found: dict[str, Any]) -> list[str]:
    about = f"the secret {found['secret']!r} of {found['records']:,} records"
    if not found["records"]:
        text = (
            f"No predicate and no sum of the log names the secret {found['secret']!r}: nothing is "
            "reconstructed. That is no evidence that it is safe: records that a log lists may have been "
            "selected by it."
        )
        return [text]
    theory, program = found["least_squares_expected"], found["linear_program"]
    expected = "" if theory is None else f" (theory expects {theory:.1%})"
    solved = "" if program is None else f", a linear program in {program:.1%}"
    recovered = (
        f"Reconstruction from {found['answers']:,} answers: least squares is right about {about} in "
        f"{found['least_squares']:.1%} of them{expected}{solved}."
    )
    beside = (
        f"Always naming the more common value is right in {found['most_common']:.1%}. An attacker who knows "
        f"the secrets of all other records can be right in {found['allowed']:.1%}: no method does better on "
        "average."
    )
    return [recovered, beside]
