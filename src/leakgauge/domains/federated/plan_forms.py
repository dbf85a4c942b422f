"""The forms of the tables of a plan about federated clients."""

from leakgauge.domains.federated import APP_SERVER, plan_tables
from leakgauge.domains.federated.data.data_loader import SYNTHETIC
from leakgauge.domains.federated.flower_app.app_table import AppTable
from leakgauge.domains.federated.own_perturbation import OwnPerturbationTable
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_real_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_OMITTED = ("features", "relation", "unit", "reports", "memoised")
_LINES = {
    "FederatedSyntheticTable.features": "How many features generated rows have.",
    "FederatedSyntheticTable.rows": "How many rows are generated.",
    "FileKeys.rows": "The array or column that holds whole rows.",
    "app": "The folder of the Flower app.",
    "batch": "How many rows a client trains on at a time.",
    "certify": "Adds bounds that new draws of the noise prove for the neurons before any round.",
    "chosen": "How many of the neurons are crafted.",
    "classes": "How many classes generated rows have.",
    "dimensions": "How many features are computed.",
    "engine": "Clients run in this process, or in the simulation of Flower.",
    "form": "How a neuron expresses a score: two units per feature, or more.",
    "gradient_noise": "Clipping and noise of gradients (DP-SGD, DP-FedAvg).",
    "keys": "What the arrays or columns of the file are called.",
    "labels": "The array or column of classes.",
    "neurons": "How many neurons the hidden layer has.",
    "non_negative": "Negative features become 0.",
    "partitions": "How many clients the data of the app are divided among.",
    "promise": "What the clients promise to a row.",
    "rate": "The learning rate.",
    "reference": "The server's own rows: a share of all, or a number.",
    "run_config": "Settings of the app that are changed.",
    "sample": 'Your perturbation, as "module:function": from rows and a generator to rows.',
    "timeout": "How many seconds the app may take to answer.",
    "train": "Which rows a model behind the embeddings was trained on.",
    "utility": "Also measures how well an honest model would do.",
}


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
    own = TableForm(kinds=(OwnPerturbationTable,), chosen_by={"name": (plan_tables.OWN,)}, needs_choice=True)
    return PlanForms(
        lines=_LINES,
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
