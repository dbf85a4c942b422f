"""What Liu et al. (2024) say about attacks in words, beside what was played."""

from dataclasses import replace

import numpy as np

from leakgauge.pages.numbers import count, times
from leakgauge.papers.comparison import Cell, Ours, Published, Says
from leakgauge.papers.liu24.drawing import Quantity, named
from leakgauge.papers.liu24.games import AUXILIARY, FEW, INFORMED, KNOWLEDGES, NETWORK, Games, Player
from leakgauge.papers.liu24.setting import SIXTY
from leakgauge.papers.measured import difference

WINNERS = {"laplace": ("two_threshold", "one_threshold"), "gaussian": ("one_threshold", "two_threshold")}
DENSE = "Depends on how full the cells are: votes win below about two usual visitors (see the crossover)."


def player(
    attack: str, knowledge: str, n: int = SIXTY, shadows: int | None = None, hidden: int | None = None
) -> Player:
    """Who played, in short."""
    return Player(attack=attack, knowledge=knowledge, n=n, shadows=shadows, hidden=hidden)


def lead(
    quantity: Quantity, games: Games, first: Player, second: Player, published: Published, why: str = ""
) -> Cell:
    """By how much one player is ahead of another, beside what the paper says of it."""
    return Cell(
        setting=f"{quantity.name}: {_apart(first, second)}",
        ours=ahead(quantity, games, first, second),
        published=published,
        why=why,
    )


def ahead(quantity: Quantity, games: Games, first: Player, second: Player) -> Ours:
    """By how much one player is ahead of another."""
    return difference(quantity.of(games[first]), quantity.of(games[second]))


def winners(quantity: Quantity, noise: str, games: Games, where: str) -> list[Cell]:
    """Which rule is the better one, from five cells on."""
    first, second = WINNERS[noise]
    return [
        lead(
            quantity,
            games,
            player(first, knowledge, n),
            player(second, knowledge, n),
            Published(value=0.0, where=where, says=Says.ABOVE),
            why=DENSE if knowledge == AUXILIARY and noise == "laplace" else "",
        )
        for knowledge in KNOWLEDGES
        for n in _numbers(games)
        if n >= 5
    ]


def growth(quantity: Quantity, games: Games, where: str) -> list[Cell]:
    """That every attack gains with the number of cells."""
    numbers = [n for n in _numbers(games) if n >= 5]
    few, many = numbers[0], numbers[-1]
    return [
        Cell(
            setting=f"{quantity.name}: {_who(p)}, {many} cells less {few}",
            ours=ahead(quantity, games, replace(p, n=many), p),
            published=Published(value=0.0, where=where, says=Says.ABOVE),
        )
        for p in games
        if p.n == few and p.attack in ("one_threshold", "two_threshold", NETWORK)
    ]


def knowing_more(quantity: Quantity, games: Games, where: str) -> list[Cell]:
    """That informed adversaries do better than auxiliary ones."""
    return [
        lead(
            quantity,
            games,
            player(attack, INFORMED, shadows=shadows),
            player(attack, AUXILIARY, shadows=shadows),
            Published(value=0.0, where=where, says=Says.ABOVE),
        )
        for attack, shadows in (("one_threshold", None), ("two_threshold", None), (NETWORK, FEW))
    ]


def one_against_network(quantity: Quantity, games: Games, where: str) -> list[Cell]:
    """That a network which learned from few shadows stays behind the sum of the cells."""
    return [
        lead(
            quantity,
            games,
            player("one_threshold", knowledge),
            player(NETWORK, knowledge, shadows=FEW),
            Published(value=0.0, where=where, says=Says.ABOVE),
        )
        for knowledge in KNOWLEDGES
    ]


def learning_more(quantity: Quantity, games: Games, where: str) -> list[Cell]:
    """What a network gains by learning from more shadows."""
    return [
        lead(
            quantity,
            games,
            p,
            player(NETWORK, p.knowledge, p.n, FEW, p.hidden),
            Published(value=0.0, where=where, says=Says.ABOVE),
        )
        for p in networks(games)
    ]


def catching_up(quantity: Quantity, games: Games, rule: str, where: str) -> list[Cell]:
    """That a network which learned from many shadows is as good as a rule, to a hundredth."""
    level = Published(value=0.0, places=2, where=where)
    return [
        lead(quantity, games, p, other, level, why=_catching(ahead(quantity, games, p, other), rule))
        for p in networks(games)
        for other in (player(rule, p.knowledge, p.n),)
    ]


def _catching(found: Ours, rule: str) -> str:
    if found.low > 0 and rule == "two_threshold":
        return "The network is ahead of the votes: it comes near the likelihood attack."
    return "The network has not quite learned the rule." if found.high < 0 else ""


def networks(games: Games) -> list[Player]:
    """The networks that learned from more than few shadows."""
    return [p for p in games if p.attack == NETWORK and (p.shadows or 0) > FEW]


def played_by(quantity: Quantity, noise: str, games: Games, *, only_networks: bool = False) -> list[Cell]:
    """What everybody reached; for the informed beside the exact value, where there is one."""
    return [
        Cell(
            setting=f"{quantity.name}: {_who(p)}, {times(p.n, 'cell')}, played",
            ours=quantity.of(found),
            exact=float(quantity.exact(noise, p.attack, np.array([float(p.n)]))[0])
            if p.knowledge == INFORMED and p.attack in quantity.exact_for
            else None,
            drawn=p.attack != "likelihood",
        )
        for p, found in games.items()
        if not only_networks or p.attack == NETWORK
    ]


def _numbers(games: Games) -> list[int]:
    return sorted({p.n for p in games})


def _who(p: Player) -> str:
    return f"{named(p)}, {p.knowledge}"


def _apart(first: Player, second: Player) -> str:
    """Name two players by what they differ in."""
    if first.knowledge != second.knowledge:
        return f"{named(first)}, {first.knowledge} less {second.knowledge}, {times(first.n, 'cell')}"
    rules_apart = first.attack != second.attack or first.attack == NETWORK
    names = [
        named(p) if rules_apart else f"{named(p)}, {count(p.shadows or 0)} shadows" for p in (first, second)
    ]
    return f"{names[0]} less {names[1]}, {first.knowledge}, {times(first.n, 'cell')}"
