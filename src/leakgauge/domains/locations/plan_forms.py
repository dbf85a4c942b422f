"""The forms of the tables of a plan about counts."""

from typing import Any

from leakgauge.core.guarantee import Unit
from leakgauge.domains.locations import plan_tables
from leakgauge.domains.locations.data.cell_files.cell_plan_table import CellDataTable
from leakgauge.domains.locations.data.data_loader import SYNTHETIC
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity
from leakgauge.domains.locations.data.synthetic_genotypes import SYNTHETIC_GENOTYPES, SyntheticGenotypes
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_READ_BY_HAND: dict[str, tuple[Any, str]] = {
    "friends": (str, "A CSV file with the columns target and friend."),
    "releases": (
        int | tuple[tuple[Any, Any], ...],
        "Several releases of the same people: a number of equal parts, or a list of windows.",
    ),
}
_UNIT = {"unit": (Unit, "What epsilon protects: one visit, a day of a person, or a person.")}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    steps = plan_tables.PostProcessingTable
    noise = tuple(
        TableForm(
            kinds=(mechanism_class(name), steps),
            chosen_by={"name": (name,)},
            needs_choice=True,
            extra=_UNIT,
            omitted=("sensitivity", "relation"),
        )
        for name in mechanism_names(adds_noise)
    )
    own = plan_tables.LocationsUserMechanismTable
    return PlanForms(
        data=(
            TableForm(kinds=(SyntheticCity,), chosen_by={"source": (SYNTHETIC,)}, extra=_READ_BY_HAND),
            TableForm(
                kinds=(SyntheticGenotypes,),
                chosen_by={"source": (SYNTHETIC_GENOTYPES,)},
                needs_choice=True,
                extra=_READ_BY_HAND,
            ),
            TableForm(kinds=(plan_tables.LocationsDataTable,), extra=_READ_BY_HAND),
            TableForm(kinds=(CellDataTable,), extra=_READ_BY_HAND),
        ),
        challenger=(TableForm(kinds=(plan_tables.LocationsChallengerTable,)),),
        mechanism=(
            *noise,
            TableForm(kinds=(steps,), chosen_by={"name": (plan_tables.RAW,)}, needs_choice=True),
            TableForm(kinds=(own,), chosen_by={"name": (plan_tables.OWN,)}, needs_choice=True),
        ),
        knowledge={
            name: TableForm(kinds=(plan_tables.LocationsKnowledgeTable,), only=keys)
            for name, keys in plan_tables.ALLOWED_KEYS.items()
        },
    )
