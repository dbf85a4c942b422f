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
_LINES = {
    "adult": "The folder with the files of Adult.",
    "at_least": "The label says whether the number is at least this.",
    "calibration": "How the noise follows from epsilon.",
    "claim": "What is claimed: epsilon, delta, sample_rate, steps.",
    "coin": "Whether the canary is there is decided for each step, or for a training.",
    "column": "A column of numbers.",
    "components": "How many components the rows come from.",
    "control": "Mixes the same rows at random, for comparison.",
    "course": "Which of the two courses.",
    "dependence": 'What members have in common: { name = "clusters" }, "source" or "bias".',
    "drop": "Columns that are neither features, label nor group.",
    "duplicates": "What happens to rows that occur more than once.",
    "exposure_shadows": "How many shadow models leakgauge expose trains.",
    "features": "How many features rows have, or which are used.",
    "folder": "The folder with the files as they were published.",
    "game": 'How members are chosen; "given" is for a finished model.',
    "group": "A column, or columns, that say which group a row belongs to; they are no features.",
    "initial_weights": "Where trainings start: as they do, or where one without noise ended.",
    "impute": "How missing values are filled in.",
    "mapping": "How the columns of the two data sets are matched.",
    "member": "The column that says who was a member: 1 or 0.",
    "missing": "Words that mean that a value is missing.",
    "mode": "Whether shadow models are trained with and without each target, or only without.",
    "model": 'The model: an ONNX file, or "module:name" of one in Python.',
    "optimizer": "How weights are updated.",
    "others": "How many non-members there are.",
    "output": "What the model returns.",
    "pretrained": '"public": what is trained before the first noisy step sees public data only.',
    "private": "Whether shadow models are trained with noise too.",
    "procedures": "How many of the most frequent procedures are classes.",
    "rows": "How many rows are generated.",
    "shadows": "How many shadow models are trained.",
    "threshold": "The mean loss of members, or the best one on rows of the attacker.",
    "validation": "Rows set aside to see how well the model does.",
}


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
        lines=_LINES,
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
        TableForm(kinds=(plan_tables.ModelsSyntheticDataTable,), chosen_by={"source": (sources.SYNTHETIC,)}),
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
