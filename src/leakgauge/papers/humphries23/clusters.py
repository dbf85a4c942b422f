"""Figures 2, 3 and 8: members are of one cluster of k-means, others of the other one."""

from functools import partial

from leakgauge.papers import data_sets, measured
from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.humphries23.experiments import Experiment, Game, Games
from leakgauge.papers.humphries23.figures import Figure, beats_control, stated
from leakgauge.papers.humphries23.judging import advantage, bound, judged, said
from leakgauge.papers.humphries23.setting import ALL, AVERAGE, OPTIMAL
from leakgauge.papers.paper import Scale, Scope

TWO = {Scale.QUICK: (1.0, 10.0), Scale.FULL: ALL}
KEEP = 'duplicates = "keep"'
LABELS = (
    "Noise is set as in the paper's code, where ε is a label: its accountant has a sum of gradients that a "
    "replaced record moves by one clipping norm, and it moves by two; and batches are shuffled, not drawn "
    "anew. What is really promised stands in the report of each run."
)
OTHERS_THRESHOLD = (
    "The paper's optimal threshold is the best on the very records that are counted. Here it is chosen for "
    "each model on half of its records and counted on the other half; the in-sample optimum stands among the "
    "numbers, beside what it comes to without any leak, √(π/8) √(1/n + 1/m)."
)
NO_SHADOWS = (
    "Shadow models play at --scale full only. In the paper's code their labels drift away from their rows "
    "(a quarter of Adult's are wrong), so that its numbers for this attack are too low."
)


def _clusters(direction: int, *, only_full: bool = False) -> Experiment:
    return Experiment(
        name=f"adult-clusters-{direction}",
        words=f"Adult, members of cluster {direction + 1}",
        data=partial(data_sets.adult, more=KEEP),
        dependence=f'name = "clusters", k = 2, seed = 0, members = {direction}',
        members=dict.fromkeys(Scale, 10_000),
        epsilons=TWO,
        shadows=True,
        only_full=only_full,
    )


def _rises(experiment: Experiment, scope: Scope, games: Games) -> list[Cell]:
    """That less noise helps the attack."""
    low, high = (games.get(Game(experiment.name, epsilon)) for epsilon in (1.0, 10.0))
    if low is None or high is None:
        return []
    return [
        judged(
            said(experiment, scope, "advantage, optimal threshold, at ε = 10 less at ε = 1, non-IID"),
            measured.difference(advantage(high[OPTIMAL]), advantage(low[OPTIMAL])),
            Published(value=0.0, where="“increases as the privacy level decreases”, IV-B", says=Says.ABOVE),
            real=experiment.is_real(scope),
        )
    ]


_CLOSE = "“close to perfect advantage” for ε ≥ 1, section IV-B and figure 2; no number is printed"
_LITTLE = Published(
    value=0.03, places=2, where="IID, figure 2, near 0; no number is printed", says=Says.AT_MOST
)
_BREAKS = Published(
    value=bound(1.0),
    places=3,
    where="“the advantage bound does not hold in non-IID cases”, section IV-B",
    says=Says.ABOVE,
)
FIGURE_2 = Figure(
    title="Figure 2: Adult, members of one cluster",
    about="k-means divides each class of Adult in two; members are 10,000 rows of one cluster, non-members "
    "of the other. The control (IID) pools and reshuffles the same rows. The dashed line is the advantage "
    "that ε allows where records are independent; here they are not, and it does not apply.",
    experiments=(_clusters(0), _clusters(1, only_full=True)),
    statements=(
        *(
            stated(label, epsilon, Published(value=least, places=1, where=_CLOSE, says=Says.ABOVE))
            for epsilon, least in ((1.0, 0.6), (10.0, 0.8))
            for label in (AVERAGE, OPTIMAL)
        ),
        *(stated(label, 1.0, _BREAKS, of="against the bound of the label") for label in (AVERAGE, OPTIMAL)),
        *(
            stated(label, epsilon, _LITTLE, control=True)
            for epsilon in (1.0, 10.0)
            for label in (AVERAGE, OPTIMAL)
        ),
        _rises,
        beats_control("“significantly increase the adversary's performance”, section IV-B"),
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
FIGURE_3 = Figure(
    title="Figure 3: COMPAS, members of one cluster",
    about="The same with 2,000 rows of COMPAS.",
    experiments=(
        Experiment(
            name="compas-clusters",
            words="COMPAS, members of cluster 1",
            data=partial(data_sets.compas, more=f"is_recid = true, {KEEP}"),
            dependence='name = "clusters", k = 2, seed = 1, members = 0',
            members=dict.fromkeys(Scale, 2_000),
            epsilons=TWO,
        ),
    ),
    statements=(
        stated(OPTIMAL, 10.0, Published(value=1.0, places=1, where="“≈ 1 for ε = 10”, section IV-B")),
        beats_control("“these results confirm our findings”, section IV-B"),
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
            "again and nearly gives away the label, which is the same within two years (AUC 0.97)."
        ),
    ),
)
FIGURE_8 = Figure(
    title="Figure 8: many classes (Location-30 for Texas)",
    about="The paper has hospital stays of Texas in 100 classes, members from one health region. These files "
    "are not among the data here; Location-30, with 30 classes of visitors of Bangkok, stands in as the case "
    "of many classes, members of one cluster of k-means. Only the trend can be compared.",
    experiments=(
        Experiment(
            name="location30-clusters",
            words="Location-30, members of cluster 1",
            data=data_sets.location_30,
            dependence='name = "clusters", k = 2, seed = 0, members = 0',
            members=dict.fromkeys(Scale, 1_000),
            epsilons={Scale.QUICK: (10.0,), Scale.FULL: ALL},
            drawn=False,
        ),
    ),
    statements=(beats_control(),),
    notes=(
        (
            "“The relative increase in advantage between the IID and non-IID experiments is significant” is "
            "said of Texas. Clusters are a stronger dependence than its health regions."
        ),
    ),
)
