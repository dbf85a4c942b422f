"""The noise of an answer as an OpenDP measurement of your own draws it, read from a plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import AdditiveNoise, ApproximateNoise, adds_noise
from leakgauge.mechanisms._opendp_measurement import (
    MeasurementFactory,
    make_measurement,
    one_line_error,
    privacy_cost,
)
from leakgauge.mechanisms.opendp import Mechanism
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader

WHERE = "mechanism 'opendp'"


@dataclass(frozen=True, kw_only=True)
class QueriesOpenDPTable:
    """A measurement ("module:function" beside the plan), and the distribution of its noise.

    ``law`` is a name, for the scale that the measurement's map speaks of, or a table as of any noise.
    """

    measurement: str
    law: Any
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}; 1e-5 is usual")


def read_opendp(
    said: Mapping[str, Any], sensitivity: float, folder: Path, noise: Callable[[Mapping[str, Any]], Any]
) -> Mechanism:
    """Load the measurement and its stated noise; ``noise`` reads the table of such noise."""
    table = read_dataclass(QueriesOpenDPTable, said, WHERE)
    loader = UserCodeLoader(folder)
    make = loader.load(table.measurement, f"{WHERE}.measurement")
    try:
        make_measurement(make)
        _require_portable(make)
        law = _law(table, make, sensitivity, noise)
        delta = law.delta if table.delta is None and isinstance(law, ApproximateNoise) else table.delta
        found = Mechanism(
            make=MeasurementFactory.here(make), law=law, delta=delta, source=_source(table, loader)
        )
        found.carrier, found.price  # noqa: B018 (say now what is wrong with them)
        found.require_law()
    except BadInput as error:
        raise BadInput(f"{WHERE}: {str(error).removeprefix('opendp: ').removeprefix(f'{WHERE}: ')}") from None
    return found


def opendp_notes(noise: Any) -> tuple[str, ...]:
    """What a report should say about noise that is drawn elsewhere."""
    if not isinstance(noise, Mechanism):
        return ()
    drawn = f"the noise is drawn by OpenDP {version('opendp')}, by its own randomness"
    return (f"{drawn}: the same plan and seed give other answers next time, and every attacker its own",)


def _law(
    table: QueriesOpenDPTable, make: Any, sensitivity: float, noise: Callable[[Mapping[str, Any]], Any]
) -> AdditiveNoise:
    """Return the noise distribution as it is stated, or of the scale that explains what the map promises."""
    names = mechanism_names(adds_noise)
    if not isinstance(table.law, str):
        if not isinstance(table.law, Mapping):
            raise BadInput(
                f'law must be one of {", ".join(names)}, or a table {{ name = "laplace", scale = 1.0 }}'
            )
        require_known(table.law.get("name", ""), names, "law: none")
        law: AdditiveNoise = noise(table.law)
        return law
    require_known(table.law, names, "law: none")
    cost = privacy_cost(make_measurement(make), sensitivity, table.delta)
    kind = mechanism_class(table.law)
    if issubclass(kind, ApproximateNoise):
        if cost.rho is None:
            raise BadInput(
                f'law = "{table.law}": its scale does not follow from this measure; state sigma and delta'
            )
        return kind(sigma=sensitivity / sqrt(2 * cost.rho), delta=cost.delta, sensitivity=sensitivity)
    if cost.delta:
        raise BadInput(f"law = {table.law!r}: its scale does not follow from this measure; state scale")
    return kind(epsilon=cost.epsilon, sensitivity=sensitivity)


def _require_portable(make: Any) -> None:
    """Refuse a function that holds on to things of OpenDP, which cannot be sent to workers."""
    import cloudpickle

    try:
        cloudpickle.dumps(make)
    except Exception as error:
        raise BadInput(
            f"the function cannot be sent to workers ({one_line_error(error)}); make domains, metrics and "
            "all else of OpenDP inside it"
        ) from None


def _source(table: QueriesOpenDPTable, loader: UserCodeLoader) -> str:
    """A name for the code behind the measurement that is the same in every process."""
    words = [table.measurement, *(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))]
    return sha256("\n".join(words).encode(errors="surrogatepass")).hexdigest()
