"""The forms of the tables of a plan about models."""

from importlib import import_module

from leakgauge.domains.models import DOMAIN, plan_tables
from leakgauge.domains.models.data import published, sources
from leakgauge.domains.models.dp_training.plan_tables import DpTrainingChallengerTable
from leakgauge.domains.models.training.noise_calibration import DpTraining
from leakgauge.domains.models.user_model.plan_tables import UserModelChallengerTable, UserModelDataTable
from leakgauge.mechanisms import mechanism_class
from leakgauge.support.plan_forms import PlanForms, TableForm

_FEATURE = {"feature": (str, "The feature whose noisy mean is released.")}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    given = plan_tables.ModelsGame.GIVEN.value
    means = tuple(
        TableForm(
            kinds=(mechanism_class(name),),
            chosen_by={"name": (name,)},
            needs_choice=True,
            extra=_FEATURE,
            omitted=("sensitivity", "unit"),
        )
        for name in plan_tables.mean_mechanisms()
    )
    trainings = TableForm(
        kinds=(DpTraining,), chosen_by={"name": tuple(plan_tables.TRAINING_MECHANISMS)}, needs_choice=True
    )
    no_noise = TableForm(
        kinds=(plan_tables.NoNoiseTable,), chosen_by={"name": (plan_tables.NO_NOISE,)}, needs_choice=True
    )
    return PlanForms(
        data=(*_data_forms(), TableForm(kinds=(UserModelDataTable,))),
        challenger=(
            TableForm(kinds=(plan_tables.ModelsChallengerTable,)),
            TableForm(kinds=(UserModelChallengerTable,), chosen_by={"game": (given,)}, needs_choice=True),
            TableForm(kinds=(DpTrainingChallengerTable,)),
        ),
        mechanism=(trainings, no_noise, *means, TableForm()),
        knowledge={name: TableForm() for name in DOMAIN.knowledge_terms},
    )


def _data_forms() -> list[TableForm]:
    code = {"source": (str, 'Code of your own that makes the records, as "module:name".')}
    return [
        TableForm(
            kinds=(plan_tables.ModelsSyntheticDataTable,), chosen_by={"source": (sources.SYNTHETIC,)}
        ),
        TableForm(
            kinds=(plan_tables.ModelsConstantsDataTable,),
            chosen_by={"source": (sources.CONSTANTS_SOURCE,)},
            needs_choice=True,
        ),
        *(
            TableForm(
                kinds=(import_module(f"{published.__name__}.{name}").DataTable,),
                chosen_by={"source": (name,)},
                needs_choice=True,
            )
            for name in sources.published_names()
        ),
        TableForm(kinds=(plan_tables.ModelsFileDataTable,)),
        TableForm(kinds=(plan_tables.ModelsCodeDataTable,), extra=code),
    ]
