"""The plain words for what attacks work out before the rounds."""

from collections.abc import Mapping

from leakgauge.pages.numbers import lower_percent, number, percent, upper_percent
from leakgauge.pages.words import Term, clip
from leakgauge.verdict import Verdict

CERTIFIED = "certified_success"
TERMS: Mapping[str, Term] = {
    CERTIFIED: Term(
        title="Success, certified",
        meaning="games that the adversary is sure to win at least, by theorem 1 of Nguyen et al. made valid",
        is_share=True,
    ),
    "certified_tpr": Term(
        title="Active for the target",
        meaning="the chance that the chosen neuron is active for the perturbed target, at least",
        is_share=True,
    ),
    "certified_fpr": Term(
        title="Active for others",
        meaning="the chance that it is active for another perturbed row, at most",
        is_share=True,
    ),
    "certified_share": Term(
        title="Targets certified",
        meaning="share of targets for which the condition of theorem 1 holds",
        is_share=True,
    ),
    "stealth_first": Term(
        title="Distance of the first layer",
        meaning="Kolmogorov-Smirnov distance of the crafted weights from honest ones; 0 is the same law",
    ),
    "stealth_second": Term(
        title="Distance of the chosen neuron",
        meaning="the same for the weights of the chosen neuron",
    ),
    "certified_success_hoeffding": Term(
        title="Success, certified as in the paper",
        meaning="the same by Hoeffding's bounds, which are wider",
        is_share=True,
    ),
    "units": Term(title="Units", meaning="neurons of the first layer that the adversary plants"),
    "epochs_mean": Term(title="Epochs", meaning="passes of training after which the neuron was taken"),
    "epochs_most": Term(title="Epochs, most", meaning="the same for the target that took most"),
    "epochs_on_top_mean": Term(
        title="Epochs until on top",
        meaning="passes after which no other row had as large a value as the target",
    ),
    "separated": Term(
        title="Targets separated",
        meaning="share of targets that training told from all rows of the adversary's own",
        is_share=True,
    ),
    "component_of_model": Term(
        title="Component of a model",
        meaning="how often the adversary names the component that a model of its own was trained on",
        is_share=True,
    ),
    "component_of_record": Term(
        title="Component of a record",
        meaning="how often it names the component of a row of its own, by the row alone",
        is_share=True,
    ),
    "shadows": Term(title="Shadows", meaning="models that the adversary trained on rows of its own"),
    "rows_per_shadow": Term(title="Rows of a shadow", meaning="how many each was trained on, on average"),
    "population": Term(
        title="Population", meaning="rows, no members, that a record is compared with in a round"
    ),
    "a": Term(
        title="a",
        meaning="how far below 1 the usual probability of a member is taken to be, as a part of how far "
        "below it that of others is",
    ),
    "classes_learned": Term(
        title="Classes learned", meaning="classes of which shadows had members and others to learn from"
    ),
}


def term(name: str) -> Term:
    """The words for a number; an unknown one goes by its own name."""
    return TERMS.get(name) or Term(title=clip(name), meaning="a number of this attack")


def told(name: str, value: float) -> str:
    """A number as a reader meets it; what is certified is rounded to the safe side."""
    if name in (CERTIFIED, "certified_tpr", "certified_success_hoeffding"):
        return f"≥ {lower_percent(value)}"
    if name == "certified_fpr":
        return f"≤ {upper_percent(value)}"
    return percent(value) if term(name).is_share else number(value)


def names_in(verdicts: list[Verdict]) -> list[str]:
    """The numbers that any attack worked out: known ones in their order, then the others."""
    found = {name for verdict in verdicts for name in verdict.studied or {}}
    return [name for name in TERMS if name in found] + sorted(found - set(TERMS))
