"""Noise drawn by your own OpenDP measurement, read from a plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms import mechanism_class, mechanism_names, opendp
from leakgauge.mechanisms._additive import AdditiveNoise, ApproximateNoise, adds_noise
from leakgauge.support.table_reader import read_dataclass, require_known
from leakgauge.support.user_code import UserCodeLoader

WHERE = "mechanism 'opendp'"


@dataclass(frozen=True, kw_only=True)
class QueriesOpenDPTable:
    """A measurement ("module:function" beside the plan), and the distribution of its noise.

    ``law`` is a name, with the scale that follows from the measurement's map, or a table as for any noise.
    """

    measurement: str
    law: Any
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and not 0 < self.delta < 1:
            raise BadInput(f"delta must be in (0, 1), got {self.delta}; 1e-5 is usual")


def read_opendp(
    parameters: Mapping[str, Any], sensitivity: float, folder: Path, noise: Callable[[Mapping[str, Any]], Any]
) -> opendp.Mechanism:
    """Load the measurement and its stated noise; ``noise`` reads the table of such noise."""
    table = read_dataclass(QueriesOpenDPTable, parameters, WHERE)
    loader = UserCodeLoader(folder)
    make = loader.load(table.measurement, f"{WHERE}.measurement")
    try:
        opendp.make_measurement(make)
        _require_portable(make)
        law = _law(table, make, sensitivity, noise)
        delta = law.delta if table.delta is None and isinstance(law, ApproximateNoise) else table.delta
        mechanism = opendp.Mechanism(
            make=opendp.MeasurementFactory.here(make), law=law, delta=delta, source=_source(table, loader)
        )
        mechanism.carrier, mechanism.price  # noqa: B018 (report errors in them now)
        mechanism.require_law()
    except BadInput as error:
        raise BadInput(f"{WHERE}: {str(error).removeprefix('opendp: ').removeprefix(f'{WHERE}: ')}") from None
    return mechanism


def opendp_notes(noise: Any) -> tuple[str, ...]:
    """Return the notes for a report about noise that OpenDP draws."""
    if not isinstance(noise, opendp.Mechanism):
        return ()
    drawn = f"the noise is drawn by OpenDP {version('opendp')} with its own randomness"
    return (f"{drawn}: answers differ between runs with the same seed, and between attackers",)


def _law(
    table: QueriesOpenDPTable, make: Any, sensitivity: float, noise: Callable[[Mapping[str, Any]], Any]
) -> AdditiveNoise:
    """Return the stated noise distribution, or one with the scale that matches the privacy map."""
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
    cost = opendp.privacy_cost(opendp.make_measurement(make), sensitivity, table.delta)
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
    """Refuse a function that captures OpenDP objects, which cannot be sent to workers."""
    import cloudpickle

    try:
        cloudpickle.dumps(make)
    except Exception as error:
        raise BadInput(
            f"the function cannot be sent to workers ({opendp.one_line_error(error)}); create all "
            "OpenDP objects inside it"
        ) from None


def _source(table: QueriesOpenDPTable, loader: UserCodeLoader) -> str:
    """Return a digest of the code of the measurement, the same in every process."""
    parts = [table.measurement, *(f"{name}\n{text}" for name, text in sorted(loader.sources.items()))]
    return sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()
