"""Not in the paper: places whose positions are not published, and places given only as categories."""

from dataclasses import dataclass, replace

from leakgauge.papers import comparison, data_sets, paper
from leakgauge.papers.guan24 import plans, statements

CATEGORIES = 10
RELEASES = (plans.ReleaseSetting(k=1), plans.ReleaseSetting(epsilon=1.0))
ATTACKS = (*plans.PAPER_ATTACKS, plans.LIKELIHOOD, plans.LIKELIHOOD_ZERO)
POSITIONS, NO_POSITIONS, KINDS = "positions known", "no positions", "categories"
OPEN = "Section 7.3 leaves this open."


@dataclass(frozen=True, kw_only=True)
class PublishedPlaces:
    """What a release says of places: one data set in one form."""

    place: plans.LocationDataSet
    form: str

    @property
    def description(self) -> str:
        """On the page."""
        return f"{self.place.description}, {self.form}"


def published_places(scope: paper.Scope) -> tuple[PublishedPlaces, ...]:
    """A synthetic city in three forms, and check-ins without positions in two, where they are given."""
    city = [
        PublishedPlaces(place=_city("positions"), form=POSITIONS),
        PublishedPlaces(place=_city("no-positions", positions=False), form=NO_POSITIONS),
        PublishedPlaces(place=_city("categories", categories=CATEGORIES), form=f"{CATEGORIES} {KINDS}"),
    ]
    real = [
        (data_sets.kuala_lumpur(scope, plans.FOUR_WEEKS), NO_POSITIONS),
        (data_sets.kuala_lumpur(scope, plans.FOUR_WEEKS, "category"), KINDS),
    ]
    return (
        *city,
        *(
            PublishedPlaces(place=plans.LocationDataSet(data=data, reference=0.5, weeks=4), form=form)
            for data, form in real
            if data is not None
        ),
    )


def _city(name: str, **options: object) -> plans.LocationDataSet:
    data = plans.CITY.data
    return replace(plans.CITY, data=replace(data, name=f"city-{name}", table={**data.table, **options}))


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    games = [
        plans.AggregateGame(place=one.place, release=release, attacks=ATTACKS)
        for one in published_places(scope)
        for release in RELEASES
    ]
    return plans.audit_tables(scope, games)


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts = plans.game_verdicts(played.verdicts)
    forms = published_places(played.scope)
    cells = [
        comparison.ComparedNumber(
            setting=f"{variant.description}, {release.description}: {one.description}",
            ours=statements.auc(verdict),
            why=OPEN,
        )
        for variant in ATTACKS
        for release in RELEASES
        for one in forms
        if (verdict := verdicts.find(one.place, release, variant)) is not None
    ]
    known, *others = forms[:3]
    for variant in ATTACKS:
        for release in RELEASES:
            for one in others:
                cells += statements.auc_lead(
                    f"{variant.description}, {release.description}: AUC with {known.form} minus that with "
                    f"{one.form}",
                    verdicts.find(known.place, release, variant),
                    verdicts.find(one.place, release, variant),
                )
    return paper.ItemResult(tuple(cells))


UNKNOWN_POSITIONS = paper.PaperItem(
    title="Not in the paper: places without positions, and places as categories",
    about="Section 7.3 leaves open how well the attacks do where a release does not say where its places "
    "lie, as in reports that count visits to restaurants, parks and hospitals. The mean AUC of both attacks "
    "of the paper and of the likelihood attack, with counts of 1 suppressed and with noise for a visit of "
    "ε = 1: on a synthetic city whose places have positions, have none, or are counted as 10 categories; and "
    "on check-ins of Kuala Lumpur in regions without positions and by category, if they are in the folder "
    "(--data).",
    audits=_audits,
    show=_show,
    notes=(
        "Without positions the zero-knowledge attack lets its synthetic people visit any place.",
        (
            "Few categories make a smaller table: more people share a count, and a person who is at two "
            "places of a category in the same hour is counted once. Targets still have 10 visits or more."
        ),
    ),
)
