"""Where the games of Guan et al. (2024) are played: Milan where its file is given, else others."""

from dataclasses import dataclass

from leakgauge.papers import data_sets
from leakgauge.papers.data_sets import DataSet
from leakgauge.papers.guan24.setting import GROUP
from leakgauge.papers.paper import Scale, Scope

GRID = (10, 10)
FIRST_WEEK = ("2013-11-01", "2013-11-08")
FOUR_WEEKS = ("2012-04-09", "2012-05-07")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A data set, and how groups are drawn from it; ``stands_for`` names the column of the paper."""

    data: DataSet
    group: int = GROUP
    reference: str = "2500"
    per_day: int = 10
    stands_for: str = "Milan"
    weeks: int = 1

    @property
    def name(self) -> str:
        return self.data.name

    @property
    def words(self) -> str:
        return self.data.words

    @property
    def is_original(self) -> bool:
        """Whether these are the data of the paper."""
        return self.data.name == "milan"

    @property
    def why_not(self) -> str:
        """Why a number that the paper prints cannot be compared with one of here; nothing if it can."""
        if self.is_original:
            return ""
        if self.stands_for == "CDR":
            return "The call records are private; ours is a synthetic city of their shape."
        return f"The tweets of Milan were not given; ours is {self.words}."


CITY = Place(
    data=DataSet(
        name="city",
        words="a synthetic city",
        table='{ source = "synthetic", users = 4840, sites = 100, epochs = 168, visits = 21.5 }',
    )
)
CDR = Place(
    data=DataSet(
        name="cdr-city",
        words="a synthetic city of the shape of the call records",
        table='{ source = "synthetic", users = 11000, sites = 500, epochs = 720, visits = 130, '
        'layout = "irregular", spacing = 550 }',
    ),
    reference="5000",
    per_day=20,
    stands_for="CDR",
)


def main_place(scope: Scope) -> Place:
    """Milan, if its file is in the folder of the data sets; else a city of its shape."""
    found = data_sets.milan(scope, GRID, FIRST_WEEK)
    return CITY if found is None else Place(data=found)


def substitutes(scope: Scope) -> tuple[Place, ...]:
    """Real data to play on besides, where Milan is not given; New York is too small for groups of 1,000."""
    if main_place(scope).is_original:
        return ()
    malaysia = data_sets.kuala_lumpur(scope, FOUR_WEEKS)
    york = data_sets.new_york(scope, GRID, FOUR_WEEKS)
    return (
        *([] if malaysia is None else [Place(data=malaysia, reference="0.5", weeks=4)]),
        *([] if york is None else [Place(data=york, reference="0.5", group=400, weeks=4)]),
    )


def place_note(scope: Scope, *, cdr: bool = True) -> str:
    """Say what the games were played on."""
    private = _cdr_note(scope) if cdr else ""
    if main_place(scope).is_original:
        return f"Played on Social Pulse Milano, its first week, on a grid of 10 x 10 places.{private}"
    others = " and ".join(f"{place.words} (groups of {place.group:,})" for place in substitutes(scope))
    besides = f", some settings on {others} too" if others else ""
    return (
        "Played on a substitute, a synthetic city of the size of the Milan data (4,840 people, 100 places, "
        f"168 hours, 21.5 visits on average){besides}: social-pulse-milano.geojson is not in the folder of "
        f"the data sets (--data). Numbers printed for Milan are shown and not judged; what the paper says of "
        f"all its data is.{private}"
    )


def _cdr_note(scope: Scope) -> str:
    quick = (
        " At this scale only the likelihood attack is played there in most settings, for two targets: "
        "learning from 360,000 cells takes long."
        if scope.scale is Scale.QUICK
        else ""
    )
    return (
        " The call records (CDR) are private: beside their columns stands a synthetic city of their shape, "
        f"11,000 people, 500 places, 720 hours, 130 visits on average.{quick}"
    )
