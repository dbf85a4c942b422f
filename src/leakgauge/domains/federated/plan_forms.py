"""The forms of the tables of a plan about federated clients."""

from leakgauge.domains.federated import APP_SERVER, plan_tables
from leakgauge.domains.federated.data.data_loader import SYNTHETIC
from leakgauge.domains.federated.flower_app.app_table import AppTable
from leakgauge.domains.federated.own_perturbation import OwnPerturbationTable
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_real_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_OMITTED = ("features", "relation", "unit", "reports", "memoised")


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    rows = tuple(
        TableForm(
            kinds=(mechanism_class(name),), chosen_by={"name": (name,)}, needs_choice=True, omitted=_OMITTED
        )
        for name in mechanism_names(plan_tables.perturbs_rows)
    )
    noise = tuple(
        TableForm(
            kinds=(mechanism_class(name), plan_tables.ClippingTable),
            chosen_by={"name": (name,)},
            needs_choice=True,
            omitted=(*_OMITTED, "sensitivity"),
        )
        for name in mechanism_names(adds_real_noise)
        if not plan_tables.perturbs_rows(mechanism_class(name))
    )
    none = TableForm(chosen_by={"name": (plan_tables.NO_NOISE,)}, needs_choice=True)
    own = TableForm(
        kinds=(OwnPerturbationTable,), chosen_by={"name": (plan_tables.OWN,)}, needs_choice=True
    )
    return PlanForms(
        data=(
            TableForm(kinds=(plan_tables.FederatedSyntheticTable,), chosen_by={"source": (SYNTHETIC,)}),
            TableForm(kinds=(plan_tables.FederatedFileTable,)),
        ),
        challenger=(
            TableForm(kinds=(plan_tables.FederatedChallengerTable,)),
            TableForm(kinds=(AppTable,)),
        ),
        mechanism=(*rows, *noise, none, own),
        knowledge={
            "server": TableForm(kinds=(plan_tables.FederatedKnowledgeTable,)),
            APP_SERVER: TableForm(kinds=(plan_tables.FederatedKnowledgeTable,)),
        },
    )
