"""Tables 10 and 11: the adversary knows where, not when."""

from functools import partial

from leakgauge.papers.comparison import Cell, Published
from leakgauge.papers.guan24.games import Board, Game, board, write_games
from leakgauge.papers.guan24.places import CDR, Place, main_place, place_note
from leakgauge.papers.guan24.printed import PLACES_ONLY
from leakgauge.papers.guan24.setting import LIKELIHOOD, PAPERS, Player, Release
from leakgauge.papers.guan24.statements import at, auc
from leakgauge.papers.paper import Item, Played, Run, Scale, Scope, Shown

RELEASE = Release(k=0)
TOPS = ("1", "2", "3", '"all"')
QUICK_TOPS = ("1", '"all"')
SPREADS = {"table_10": "random", "table_11": "greedy"}
BUG = (
    "The original has a bug: its “top-k places” are the k highest place numbers (greedy), or all places but "
    "one (random), so the printed numbers are no target."
)


def _knowing(player: Player, top: str, spread: str) -> Player:
    word = top.strip('"')
    return player.but(f"{spread}-{word}", known=f'places = {top}, spread = "{spread}"')


def _plan(spread: str, scope: Scope) -> str:
    quick = scope.scale is Scale.QUICK
    players = [
        _knowing(player, top, spread) for top in (QUICK_TOPS if quick else TOPS) for player in PAPERS
    ] + [_knowing(LIKELIHOOD, top, "weighed") for top in TOPS]
    games = [Game(place=main_place(scope), release=RELEASE, players=players)]
    if not quick:
        games.append(Game(place=CDR, release=RELEASE, players=players))
    return write_games(scope, games)


RUNS = {spread: Run(name=f"places-{spread}", plan=partial(_plan, spread)) for spread in SPREADS.values()}


def _show(name: str, played: Played) -> Shown:
    found = board(played.verdicts)
    cells: list[Cell] = []
    for place in (main_place(played.scope), CDR):
        cells += _printed(name, found, place)
        cells += [
            Cell(
                setting=f"{at(place)}likelihood, auxiliary, hours as likely as usual, AUC, {_words(top)}",
                ours=auc(verdict),
            )
            for top in TOPS
            if (verdict := found.at(place, RELEASE, _knowing(LIKELIHOOD, top, "weighed"))) is not None
        ]
    return Shown(tuple(cells), (), (place_note(played.scope),))


def _printed(name: str, found: Board, place: Place) -> list[Cell]:
    values, errors = PLACES_ONLY[name, place.stands_for]
    heads = [(player, top) for player in PAPERS for top in TOPS]
    cells = []
    for (player, top), value, error in zip(heads, values, errors, strict=True):
        verdict = found.at(place, RELEASE, _knowing(player, top, SPREADS[name]))
        if verdict is None:
            continue
        where = f"± {error}, {name.replace('_', ' ')}"
        cells.append(
            Cell(
                setting=f"{place.stands_for}: {player.words}, AUC, {_words(top)}",
                ours=auc(verdict),
                published=Published(value=value, places=3, where=where),
                comparable=False,
                why=f"{BUG} {place.why_not}".strip(),
            )
        )
    return cells


def _words(top: str) -> str:
    match top:
        case '"all"':
            return "all places known"
        case "1":
            return "the most visited place known"
        case _:
            return f"the {top} most visited places known"


ITEMS = {
    name: Item(
        title=f"Table {name[6:]}: places without times, {spread}",
        about="The adversary knows the places that the target visits most, not when it was there, and counts "
        "are raw. "
        + (
            "It takes the target to be there at hours drawn from the time marginal."
            if spread == "random"
            else "It takes the target to be there at every hour."
        )
        + " Beside it the likelihood attack, to which every hour is as likely as the time marginal says.",
        shares=(RUNS[spread],),
        show=partial(_show, name),
        notes=(BUG,),
    )
    for name, spread in SPREADS.items()
}
