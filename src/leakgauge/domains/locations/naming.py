"""People by what the data call them."""

from collections.abc import Sequence

from leakgauge.core.targets import rows_called
from leakgauge.domains.locations.traces import Ints, Traces


def people_called(names: Sequence[str | int], traces: Traces, where: str) -> Ints:
    """The rows of people in the order of their names; nobody may be named twice.

    A generated city calls its people by their numbers from 0.
    """
    return rows_called(names, people_by_name(traces), where, stranger)


def people_by_name(traces: Traces) -> dict[str, int]:
    """The row of everybody."""
    names = map(str, range(traces.n_people)) if traces.names is None else traces.names.tolist()
    return {name: person for person, name in enumerate(names)}


def stranger(name: str) -> str:
    """What to say of a name that nobody has."""
    return f"{name!r} is nobody in the data (or has too few visits for data.min_visits); mend or remove it"
