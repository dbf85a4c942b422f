"""The forms of the tables of a plan about a query service."""

from leakgauge.domains.queries import plan_tables
from leakgauge.domains.queries.data import SYNTHETIC
from leakgauge.domains.queries.opendp_noise import QueriesOpenDPTable
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_PUBLISHED = {
    "round": (bool, "Answers are rounded to whole numbers."),
    "clamp": (bool, "Negative answers become 0."),
}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    noise = tuple(
        TableForm(
            kinds=(mechanism_class(name),),
            chosen_by={"name": (name,)},
            needs_choice=True,
            extra=_PUBLISHED,
            omitted=("sensitivity", "relation", "unit"),
        )
        for name in mechanism_names(adds_noise)
    )
    measurement = TableForm(
        kinds=(QueriesOpenDPTable,),
        chosen_by={"name": (plan_tables.OPENDP,)},
        needs_choice=True,
        extra=_PUBLISHED,
    )
    return PlanForms(
        data=(
            TableForm(kinds=(plan_tables.QueriesSyntheticTable,), chosen_by={"source": (SYNTHETIC,)}),
            TableForm(kinds=(plan_tables.QueriesFileTable,)),
        ),
        challenger=(TableForm(kinds=(plan_tables.QueriesChallengerTable,)),),
        mechanism=(*noise, measurement),
        knowledge={
            "known": TableForm(kinds=(plan_tables.QueriesKnowledgeTable,)),
            "attributes": TableForm(kinds=(plan_tables.QueriesAttributesTable,)),
        },
    )
