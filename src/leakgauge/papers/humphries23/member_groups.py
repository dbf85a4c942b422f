"""Figures 2, 3 and 6 to 9: members are of one cluster, one hospital, one school or one data set."""

from functools import partial
from typing import Any

from leakgauge.papers import comparison, data_sets, metric_intervals, paper
from leakgauge.papers.humphries23 import experiment_figures, plans

PUBLISHED = comparison.read_published(__package__)
TWO = {paper.Scale.QUICK: (1.0, 10.0), paper.Scale.FULL: plans.ALL_EPSILONS}
KEEP = "keep"  # rows that occur twice, as in the paper's code
LABELS = (
    "Noise is set as in the paper's code, where ε is a label: its accountant assumes that replacing a "
    "record changes a sum of gradients by one clipping norm, while it is two, and that batches are drawn "
    "independently, while they are shuffled. The report of each run states the actual promise."
)
OTHERS_THRESHOLD = (
    "The paper's optimal threshold is the best one on the records that are counted. Here it is chosen for "
    "each model on half of its records and counted on the other half; the in-sample optimum is listed too, "
    "with its value without any leak, √(π/8) √(1/n + 1/m)."
)
NO_SHADOWS = (
    "Shadow models are used only at --scale full. In the paper's code their labels drift away from their "
    "rows (a quarter of Adult's are wrong), so that its numbers for this attack are too low."
)
_BREAKS = comparison.PublishedNumber(
    value=experiment_figures.advantage_bound(1.0),
    places=3,
    where="“the advantage bound does not hold in non-IID cases”, section IV-B",
    claim=comparison.Claim.ABOVE,
)
HOSPITALS = {
    "cleveland": ("Cleveland", (150, 300)),
    "hungarian": ("Hungary", (147, 300)),
    "switzerland": ("Switzerland", (61, 400)),
    "va": ("VA Long Beach", (100, 360)),
}
SMALL = {paper.Scale.QUICK: (10.0,), paper.Scale.FULL: plans.ALL_EPSILONS}
HALF = (
    "All rows of the group are members, so that nobody else has any: the blind control plays with half of "
    "the members and others, and learns from the rest."
)


def _clusters(*, seed: int, members: int) -> dict[str, Any]:
    """The dependence of a plan in which members come from one of two clusters of k-means."""
    return {"name": "clusters", "k": 2, "seed": seed, "members": members}


def _adult_cluster(direction: int, *, only_full: bool = False) -> plans.Experiment:
    return plans.Experiment(
        name=f"adult-clusters-{direction}",
        description=f"Adult, members of cluster {direction + 1}",
        data=partial(data_sets.adult, duplicates=KEEP),
        dependence=_clusters(seed=0, members=direction),
        members=dict.fromkeys(paper.Scale, 10_000),
        epsilons=TWO,
        shadows=True,
        only_full=only_full,
    )


def _rises(
    experiment: plans.Experiment, scope: paper.Scope, games: plans.ExperimentVerdicts
) -> list[comparison.ComparedNumber]:
    """That less noise helps the attack."""
    low, high = (games.get(plans.DependenceGame(experiment.name, epsilon)) for epsilon in (1.0, 10.0))
    if low is None or high is None:
        return []
    return [
        experiment_figures.claim_number(
            experiment_figures.experiment_label(
                experiment, scope, "advantage, optimal threshold, at ε = 10 minus at ε = 1, non-IID"
            ),
            metric_intervals.difference(
                experiment_figures.advantage(high[plans.OPTIMAL]),
                experiment_figures.advantage(low[plans.OPTIMAL]),
            ),
            comparison.PublishedNumber(
                value=0.0,
                where="“increases as the privacy level decreases”, IV-B",
                claim=comparison.Claim.ABOVE,
            ),
            real=experiment.is_real(scope),
        )
    ]


CLOSE_TO_PERFECT = PUBLISHED["figure_2_advantage"]
NOT_PERFECT = (
    "“Close to perfect” is read as 1.0, to one decimal. Which cluster members are of, and how k-means "
    "divides the rows, moves the advantage."
)
FIGURE_2 = experiment_figures.ExperimentFigure(
    title="Figure 2: Adult, members of one cluster",
    about="k-means divides each class of Adult in two; members are 10,000 rows of one cluster, non-members "
    "of the other. The control (IID) pools and reshuffles the same rows. The dashed line is the advantage "
    "that ε allows where records are independent; here they are not, and it does not apply.",
    experiments=(_adult_cluster(0), _adult_cluster(1, only_full=True)),
    statements=(
        *(
            experiment_figures.advantage_claim(label, epsilon, CLOSE_TO_PERFECT, why=NOT_PERFECT)
            for epsilon in (1.0, 10.0)
            for label in (plans.AVERAGE, plans.OPTIMAL)
        ),
        *(
            experiment_figures.advantage_claim(label, 1.0, _BREAKS, of="against the bound of the label")
            for label in (plans.AVERAGE, plans.OPTIMAL)
        ),
        _rises,
        experiment_figures.beats_control_claims(
            "“significantly increase the attacker's performance”, section IV-B"
        ),
    ),
    notes=(
        LABELS,
        OTHERS_THRESHOLD,
        NO_SHADOWS,
        (
            "The blind control sees a record and no model. The member cluster is fixed, so a record alone "
            "shows its cluster, and with it membership, to whoever has rows of both: what the attacks reach "
            "is not all leaked by the model. In the mixture experiment of section III the cluster is secret."
        ),
    ),
)
FIGURE_3 = experiment_figures.ExperimentFigure(
    title="Figure 3: COMPAS, members of one cluster",
    about="The same with 2,000 rows of COMPAS.",
    experiments=(
        plans.Experiment(
            name="compas-clusters",
            description="COMPAS, members of cluster 1",
            data=partial(data_sets.compas, is_recid=True, duplicates=KEEP),
            dependence=_clusters(seed=1, members=0),
            members=dict.fromkeys(paper.Scale, 2_000),
            epsilons=TWO,
        ),
    ),
    statements=(
        experiment_figures.advantage_claim(plans.OPTIMAL, 10.0, PUBLISHED["figure_3_advantage"]),
        experiment_figures.beats_control_claims("“these results confirm our findings”, section IV-B"),
    ),
    notes=(
        (
            "k-means numbers the clusters of each class as it finds them, and which number meets which "
            "decides how different the two groups are. With seeds 0, 1 and 2 of our k-means the optimal "
            "threshold reaches about 0.9, 0.99 and 0.2 to 0.3 at ε = 10. The paper's code has seed 2 of "
            "another version; we take seed 1, which gives groups as the paper describes them."
        ),
        (
            "As in the paper, is_recid is among the features: it says whether somebody was ever charged "
            "again and nearly determines the label, which is the same within two years (AUC 0.97)."
        ),
    ),
)
FIGURE_8 = experiment_figures.ExperimentFigure(
    title="Figure 8: many classes (Location-30 for Texas)",
    about="The paper has hospital stays of Texas in 100 classes, members from one health region. These "
    "files are not among the data here; Location-30, with 30 classes of visitors of Bangkok, is used "
    "instead as the case of many classes, members of one cluster of k-means. Only the trend can be "
    "compared.",
    experiments=(
        plans.Experiment(
            name="location30-clusters",
            description="Location-30, members of cluster 1",
            data=data_sets.location_30,
            dependence=_clusters(seed=0, members=0),
            members=dict.fromkeys(paper.Scale, 1_000),
            epsilons={paper.Scale.QUICK: (10.0,), paper.Scale.FULL: plans.ALL_EPSILONS},
            drawn=False,
        ),
    ),
    statements=(experiment_figures.beats_control_claims(),),
    notes=(
        (
            "“The relative increase in advantage between the IID and non-IID experiments is significant” is "
            "a statement about Texas. Clusters are a stronger dependence than its health regions."
        ),
    ),
)


def _hospital(value: str, impute: str) -> plans.Experiment:
    words, blind = HOSPITALS[value]
    alone = impute == "hospital"
    return plans.Experiment(
        name=f"heart-{value}" + ("-imputed" if alone else ""),
        description=f"heart disease, members of {words}" + (", gaps filled by hospital" if alone else ""),
        data=partial(data_sets.heart, impute=impute, duplicates=KEEP),
        dependence=plans.source_group("hospital", value),
        stand_in=plans.source_group("component", str(list(HOSPITALS).index(value))),
        blind=blind,
        batch=32,
        epsilons=SMALL,
        only_full=alone,
    )


def _census(mapping: str) -> plans.Experiment:
    alone = mapping == "paper"
    return plans.Experiment(
        name="census" + ("-paper" if alone else ""),
        description="members of census, others of Adult"
        + (", values as in the paper's code" if alone else ""),
        data=partial(data_sets.census, mapping=mapping),
        dependence=plans.source_group("data_set", "census"),
        members={paper.Scale.QUICK: 5_000, paper.Scale.FULL: 10_000},
        epsilons={paper.Scale.QUICK: (1.0,), paper.Scale.FULL: plans.ALL_EPSILONS},
        shadows=True,
        only_full=alone,
    )


FIGURE_6 = experiment_figures.ExperimentFigure(
    title="Figure 6: heart disease, members of one hospital",
    about="Four hospitals; members are all patients of one, non-members those of the three others.",
    experiments=tuple(_hospital(value, impute) for impute in ("global", "hospital") for value in HOSPITALS),
    statements=(
        experiment_figures.beats_control_claims(
            "“significantly higher than when we shuffle all datasets”, section IV-D"
        ),
    ),
    notes=(
        (
            "The paper's code fills gaps for each hospital by itself; a column that a hospital never "
            "recorded then holds one constant, which identifies the hospital. Here gaps are filled over "
            "all hospitals; --scale full simulates both."
        ),
        (
            "“The advantage in the IID case slightly breaks the bound”: the paper explains it by batches "
            "that do not overlap. Its optimum is chosen on the counted records, and with this few patients "
            "it is 0.044 to 0.061 even without any leak; the bound is 0.005 at ε = 0.01 and 0.050 at 0.1."
        ),
        OTHERS_THRESHOLD,
        HALF,
    ),
)
FIGURE_7 = experiment_figures.ExperimentFigure(
    title="Figure 7: students, members of one school",
    about="All 423 students of Gabriel Pereira are members, all 226 of Mousinho da Silveira are not.",
    experiments=(
        plans.Experiment(
            name="student",
            description="students, members of Gabriel Pereira",
            data=partial(data_sets.student, duplicates=KEEP),
            dependence=plans.source_group("school", "GP"),
            blind=(211, 113),
            batch=32,
            epsilons=SMALL,
        ),
    ),
    statements=(
        experiment_figures.beats_control_claims(
            "“succeed with higher probability” than shuffled, section IV-D"
        ),
    ),
    notes=(HALF,),
)
FIGURE_9 = experiment_figures.ExperimentFigure(
    title="Figure 9: census, members of one data set",
    about="Adult and Census-Income come from the same census, but their rows were chosen by different "
    "people. Members are from Census-Income, non-members from Adult; no row is in both.",
    experiments=(_census("shared"), _census("paper")),
    statements=(
        experiment_figures.beats_control_claims(
            "“considerably higher for the non-IID setting”, section IV-D"
        ),
    ),
    notes=(
        (
            "In the mapping of the paper's code a few values occur in only one of the data sets, and "
            "identify it. Here both use the same values; --scale full simulates both. At --scale quick "
            "there are 5,000 members instead of 10,000."
        ),
    ),
)
