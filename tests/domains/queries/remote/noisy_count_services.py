"""Small HTTP services that answer noisy counts: some keep what their owner states, others do not.

``CORRECT``, ``BROKEN`` and ``REPEATING`` list them by name. Each differs from ``NoisyCounts`` in a few lines,
and carries what its owner states in a plan. They understand the requests of ``leakgauge serve-oracle``.
"""

import csv
import json
import math
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

N_RECORDS, TARGET = 120, 17
EPSILON, N_ANSWERS = 0.25, 10  # of one answer; how many the budget pays for
GRID = 2.0**20  # correct answers are multiples of 1 / GRID, so that their low bits tell nothing
LAPLACE: dict[str, Any] = {"name": "laplace", "epsilon": EPSILON}
SPLIT = {"name": "split_likelihood", "queries": N_ANSWERS + 4}
REFUSAL = {"name": "refusal", "queries": N_ANSWERS + 4}
REPEAT = {"name": "repeat", "queries": 6}
REWORDED = {"name": "repeat", "queries": 6, "wording": "reworded"}


@dataclass(frozen=True)
class Statement:
    """What the owner of a service states in a plan, and attacks whose questions show the defect, if any."""

    mechanism: dict[str, Any] = field(default_factory=lambda: LAPLACE)
    challenger: dict[str, Any] = field(default_factory=lambda: {"budget": EPSILON * N_ANSWERS})
    attacks: tuple[dict[str, Any], ...] = (SPLIT,)
    rounds: int = 100  # in which the defect shows


class Refused(Exception):
    """The service does not answer a question."""


class ServerError(Exception):
    """The service fails while it answers."""


@dataclass
class Session:
    """One round: who is absent, the noise, what was spent, and the answers given."""

    absent: frozenset[int]
    rng: Generator
    n_answers: int = 0
    cache: dict[str, float] = field(default_factory=dict)
    replies: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    rows_charged: dict[int, int] = field(default_factory=dict)
    only_noise: float | None = None


class NoisyCounts:
    """Laplace noise on counts; every answer costs its epsilon; equal questions get the stored answer."""

    stated = Statement()
    scale, n_answers = 1 / EPSILON, N_ANSWERS
    one_at_a_time = True  # requests

    def __init__(self, people: Path, seed: int = 0) -> None:
        self.seed, self.sessions, self.n_opened = seed, dict[str, Session](), 0
        self.n_closed, self.lock = 0, threading.Lock()
        self.shared_cache: dict[str, float] = {}
        self.table = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self.table.close)
        with people.open(newline="") as file:
            names, *rows = csv.reader(file)
        types = ("INTEGER", "INTEGER", "TEXT")
        self.table.execute(
            f"CREATE TABLE records ({', '.join(f'{name} {kind}' for name, kind in zip(names, types))})"
        )
        self.table.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)

    # -- what variants change

    def answer(self, session: Session, where: str) -> float:
        if (key := self.cache_key(session, where)) in session.cache:
            return session.cache[key]
        rows = self.rows(session, where)
        if not self.affordable(session, rows):
            raise Refused
        session.n_answers += 1
        session.cache[key] = self.publish(len(rows) + self.noise(session, where))
        return session.cache[key]

    def cache_key(self, session: Session, where: str) -> str:
        return where

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return session.n_answers < self.n_answers

    def noise(self, session: Session, where: str) -> float:
        return float(session.rng.laplace(scale=self.scale))

    def publish(self, answer: float) -> float:
        return round(answer * GRID) / GRID

    def spent(self, session: Session) -> float:
        """What the service believes it has spent."""
        return EPSILON * session.n_answers

    def more(self, session: Session, where: str) -> dict[str, Any]:
        """Other fields of an answer."""
        return {}

    def more_of_refusal(self, session: Session) -> dict[str, Any]:
        """Other fields of a refusal."""
        return {}

    def padding(self, session: Session, where: str) -> int:
        """How many blanks follow an answer."""
        return 0

    # -- what all have in common

    def rows(self, session: Session, where: str) -> list[int]:
        """The ids of the records that a predicate selects in this session."""
        found = self.table.execute(f"SELECT id FROM records WHERE {where}")
        return [name for (name,) in found if name not in session.absent]

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.n_opened += 1
        name = f"s{self.n_opened}"
        rng = np.random.default_rng((self.seed, self.n_opened))
        self.sessions[name] = Session(frozenset(body["absent"]), rng)
        return 201, {"round": name}

    def ask(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if (session := self.sessions.get(name)) is None:
            return 404, {"error": "no such session"}
        ids, key = body.get("ids"), body["request"]
        where = body.get("where") or "TRUE"
        if ids is not None:
            where = f"id IN ({', '.join(map(str, ids))})"
        if key not in session.replies:
            try:
                answer = self.answer(session, where)
                reply = {"answer": answer, "spent": self.spent(session), **self.more(session, where)}
                session.replies[key] = 200, reply | {"": " " * self.padding(session, where)}
            except Refused:
                reply = {"refused": "not answered", "spent": self.spent(session)}
                session.replies[key] = 403, reply | self.more_of_refusal(session)
            except ServerError:
                return 500, {"error": "internal error"}
        return session.replies[key]

    def close(self, name: str) -> tuple[int, dict[str, Any]]:
        self.n_closed += self.sessions.pop(name, None) is not None
        return 204, {}


# -- correct services


class TwoSidedGeometric(NoisyCounts):
    """Whole noise on whole numbers."""

    stated = Statement({"name": "geometric", "epsilon": EPSILON})

    def noise(self, session: Session, where: str) -> float:
        plus, minus = session.rng.geometric(-math.expm1(-1 / self.scale), size=2)
        return float(plus - minus)


class MoreNoise(NoisyCounts):
    """Half as much noise again as stated."""

    scale = 1.5 / EPSILON


class RoundsAndClamps(NoisyCounts):
    """Publishes whole numbers that are not negative, as its owner states."""

    stated = Statement({**LAPLACE, "round": True, "clamp": True})

    def publish(self, answer: float) -> float:
        return float(max(round(answer), 0))


class BetterCache(NoisyCounts):
    """Recognises rewordings, although its owner only states that equal texts get the stored answer."""

    stated = Statement(challenger={"budget": EPSILON * N_ANSWERS, "cache": "text"}, attacks=(REWORDED,))

    def cache_key(self, session: Session, where: str) -> str:
        return "".join(where.upper().replace("AND", "").replace("TRUE", "").split())


class ZeroConcentrated(NoisyCounts):
    """Gaussian noise under a zCDP accountant, which rightly answers beyond the sum of the epsilons."""

    delta, promise = 1e-6, 2.5
    scale = 17.0  # an epsilon of 0.25 at this delta takes a little less
    stated = Statement(
        {"name": "gaussian", "sigma": scale, "delta": delta},
        {"accountant": "none", "promise": promise},
        ({"name": "split_likelihood", "queries": 30},),
    )

    def noise(self, session: Session, where: str) -> float:
        return float(session.rng.normal(scale=self.scale))

    def loss(self, n_answers: int) -> float:
        rho = n_answers / (2 * self.scale**2)
        return rho + 2 * math.sqrt(rho * math.log(1 / self.delta))  # Bun and Steinke 2016

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return self.loss(session.n_answers + 1) <= self.promise

    def spent(self, session: Session) -> float:
        return self.loss(session.n_answers)


# -- broken services: the budget and the cache


class AnswersOn(NoisyCounts):
    """Counts what is spent, and refuses nothing."""

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return True


class ThreeAnswersTooMany(NoisyCounts):
    """Refuses three answers too late."""

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return session.n_answers < N_ANSWERS + 3


class RedrawsForFree(NoisyCounts):
    """Charges a repeated question nothing, and draws new noise for it."""

    stated = Statement(attacks=(REPEAT,))

    def answer(self, session: Session, where: str) -> float:
        super().answer(session, where)  # charges the first time only
        return self.publish(len(self.rows(session, where)) + self.noise(session, where))


class ChargesPresentRows(NoisyCounts):
    """Charges only people who are in the table, so that refusals depend on the data."""

    stated = Statement(attacks=(REFUSAL,))

    def affordable(self, session: Session, rows: list[int]) -> bool:
        if any(session.rows_charged.get(row, 0) >= N_ANSWERS for row in rows):
            return False
        for row in rows:
            session.rows_charged[row] = session.rows_charged.get(row, 0) + 1
        return True


class RefusesSmallCounts(NoisyCounts):
    """Refuses a question whose true count is below two: an exact bit without noise.

    Epsilon 2.5 allows 92 % of right guesses: of the half of the rounds that are counted, all must be right in
    120 or more to show a larger one at confidence .999, divided among the tests.
    """

    stated = Statement(rounds=300)
    least = 2

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return len(rows) >= self.least and super().affordable(session, rows)


class CachesByTrueAnswer(NoisyCounts):
    """Repeats an answer where the true one is the same: equal answers to two questions tell that it is."""

    def cache_key(self, session: Session, where: str) -> str:
        return str(len(self.rows(session, where)))


class CachesBySelectedRows(NoisyCounts):
    """Repeats an answer where the same rows are selected: with an absent target, and without naming it."""

    def cache_key(self, session: Session, where: str) -> str:
        return str(sorted(self.rows(session, where)))


class WholeCachedByTrueAnswer(CachesByTrueAnswer):
    """The same with whole noise, which is sometimes equal by chance."""

    stated, noise = TwoSidedGeometric.stated, TwoSidedGeometric.noise


class LittleNoiseCachedByTrueAnswer(WholeCachedByTrueAnswer):
    """The same with so little whole noise that three of five fresh answers are equal to one another."""

    scale = 0.5
    stated = Statement({"name": "geometric", "epsilon": 2.0}, {"budget": 2.0 * N_ANSWERS}, rounds=200)


class SharesAnswersByTrueAnswer(CachesByTrueAnswer):
    """One cache by the true answer for all sessions."""

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return _open_with_shared_cache(self, super().open(body))


# -- services that repeat answers, and so answer too little, but reveal no more than they have


class RepeatsFirstAnswer(NoisyCounts):
    """Gives the first answer of a session whatever it is asked then."""

    def cache_key(self, session: Session, where: str) -> str:
        return "the same for all"


class WholeFirstAnswer(RepeatsFirstAnswer):
    """The same with whole noise."""

    stated, noise = TwoSidedGeometric.stated, TwoSidedGeometric.noise


class RepeatsFirstOfAll(RepeatsFirstAnswer):
    """Gives the very first answer, of the first session, to everybody."""

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return _open_with_shared_cache(self, super().open(body))


class RepeatsFirstOfTable(RepeatsFirstOfAll):
    """Gives the very first answer about a table to everybody who asks anything about the same table."""

    def cache_key(self, session: Session, where: str) -> str:
        return str(sorted(session.absent))


class SharesAnswersOfTable(NoisyCounts):
    """One cache for all sessions with the same table: noise that is the same for all users."""

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return _open_with_shared_cache(self, super().open(body))

    def cache_key(self, session: Session, where: str) -> str:
        return f"{sorted(session.absent)} {where}"

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return True  # each question has one answer, in however many sessions it is asked

    stated = Statement(challenger={"accountant": "none", "cache": "text", "promise": EPSILON * 14})


class SharesStaleAnswers(SharesAnswersOfTable):
    """One cache by the question for all sessions, whoever was in the table when it was asked first."""

    def cache_key(self, session: Session, where: str) -> str:
        return where


class RepeatsNowAndThen(NoisyCounts):
    """Gives the answer before once more in one of two cases, by chance."""

    def answer(self, session: Session, where: str) -> float:
        if session.cache and session.rng.random() < 0.5:
            return list(session.cache.values())[-1]
        return super().answer(session, where)


# -- broken services: the noise


class NoNoise(NoisyCounts):
    """Publishes true counts."""

    def noise(self, session: Session, where: str) -> float:
        return 0.0


class TooLittleNoise(NoisyCounts):
    """Adds four fifths of the stated noise."""

    stated = Statement(rounds=200)
    scale = 0.8 / EPSILON


class HalfTheNoise(NoisyCounts):
    """Adds half of the stated noise."""

    scale = 0.5 / EPSILON


class SomeAnswersExact(NoisyCounts):
    """Forgets the noise of one answer in ten."""

    def noise(self, session: Session, where: str) -> float:
        return super().noise(session, where) if session.rng.random() < 0.9 else 0.0


class BoundsTheNoise(NoisyCounts):
    """Draws noise again until it is at most twice its scale."""

    def noise(self, session: Session, where: str) -> float:
        while abs(noise := super().noise(session, where)) > 2 * self.scale:
            pass
        return noise


class HalvesTheNoiseLater(NoisyCounts):
    """Adds the stated noise to the first five answers of a session, and half of it to all others."""

    def noise(self, session: Session, where: str) -> float:
        return super().noise(session, where) / (1 if session.n_answers <= N_ANSWERS / 2 else 2)


class RestartsTheNoise(NoisyCounts):
    """Starts every session with the same state of its random numbers."""

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        opened = super().open(body)
        self.sessions[opened[1]["round"]].rng = np.random.default_rng(42)
        return opened


class SharesNoiseBetweenSessions(NoisyCounts):
    """Draws the noise of a question once, for all sessions."""

    def noise(self, session: Session, where: str) -> float:
        return float(np.random.default_rng(_number(where, str(self.seed))).laplace(scale=self.scale))


class SeedsNoiseByQuestion(NoisyCounts):
    """Seeds the noise by the text of the question, so that anyone can take it off again."""

    def noise(self, session: Session, where: str) -> float:
        return float(np.random.default_rng(_number(where)).laplace(scale=self.scale))


class SharesNoiseBetweenQuestions(NoisyCounts):
    """Draws the noise once in a session, for all questions."""

    def noise(self, session: Session, where: str) -> float:
        if session.only_noise is None:
            session.only_noise = super().noise(session, where)
        return session.only_noise


class TakesNoiseAwayAgain(NoisyCounts):
    """Adds noise to one answer and subtracts it from the next, so that their sum is exact."""

    fresh_noise = NoisyCounts.noise

    def noise(self, session: Session, where: str) -> float:
        if session.only_noise is None:
            session.only_noise = self.fresh_noise(session, where)
            return session.only_noise
        noise, session.only_noise = -session.only_noise, None
        return noise


class WholeNoiseTakenAway(TakesNoiseAwayAgain):
    """The same with whole noise."""

    stated = TwoSidedGeometric.stated
    fresh_noise = TwoSidedGeometric.noise


class ClampsTheNoiseAway(NoisyCounts):
    """Clamps the noise to less than a half before it rounds, so that true counts come out."""

    def noise(self, session: Session, where: str) -> float:
        return float(np.clip(super().noise(session, where), -0.4, 0.4))

    def publish(self, answer: float) -> float:
        return float(round(answer))


class LowBitsTell(NoisyCounts):
    """Adds noise in single precision to a count in double precision: significant bits give the count away.

    With a count of zero the answer has at most 24 significant bits, with a count of one often more.
    """

    stated = Statement(
        {"name": "laplace", "epsilon": 1.0}, {"budget": 1.0}, ({"name": "repeat", "queries": 1},), rounds=600
    )
    scale, n_answers = 1.0, 1

    def noise(self, session: Session, where: str) -> float:
        return float(np.float32(super().noise(session, where)))

    def publish(self, answer: float) -> float:
        return answer


# -- broken services: errors and time


class FailsWithTarget(NoisyCounts):
    """Fails half of the time where the target is in the answer; sent again, the request may be answered."""

    stated = Statement(
        challenger={"budget": 4 * EPSILON}, attacks=({"name": "split_likelihood", "queries": 4},), rounds=200
    )
    n_answers = 4

    def answer(self, session: Session, where: str) -> float:
        if TARGET in self.rows(session, where) and session.rng.random() < 0.5:
            raise ServerError
        return super().answer(session, where)


class SlowWithTarget(NoisyCounts):
    """Takes a twentieth of a second longer where the target is in the answer."""

    delay, n_answers = 0.05, 1
    stated = Statement(
        challenger={"budget": EPSILON}, attacks=({"name": "split_likelihood", "queries": 1},), rounds=200
    )

    def answer(self, session: Session, where: str) -> float:
        if TARGET in self.rows(session, where):
            time.sleep(self.delay)
        return super().answer(session, where)


def _open_with_shared_cache(
    service: NoisyCounts, opened: tuple[int, dict[str, Any]]
) -> tuple[int, dict[str, Any]]:
    session = service.sessions[opened[1]["round"]]
    session.cache = service.shared_cache
    return opened


def _number(*texts: str) -> int:
    return int.from_bytes(sha256("\n".join(texts).encode()).digest()[:8])


CORRECT: dict[str, type[NoisyCounts]] = {
    service.__name__: service
    for service in (NoisyCounts, TwoSidedGeometric, MoreNoise, RoundsAndClamps, BetterCache, ZeroConcentrated)
}
BROKEN: dict[str, type[NoisyCounts]] = {
    service.__name__: service
    for service in (
        AnswersOn,
        ThreeAnswersTooMany,
        RedrawsForFree,
        ChargesPresentRows,
        RefusesSmallCounts,
        CachesByTrueAnswer,
        CachesBySelectedRows,
        WholeCachedByTrueAnswer,
        LittleNoiseCachedByTrueAnswer,
        SharesAnswersByTrueAnswer,
        NoNoise,
        TooLittleNoise,
        HalfTheNoise,
        SomeAnswersExact,
        BoundsTheNoise,
        HalvesTheNoiseLater,
        RestartsTheNoise,
        SharesNoiseBetweenSessions,
        SeedsNoiseByQuestion,
        SharesNoiseBetweenQuestions,
        TakesNoiseAwayAgain,
        WholeNoiseTakenAway,
        ClampsTheNoiseAway,
        LowBitsTell,
        FailsWithTarget,
        SlowWithTarget,
    )
}


REPEATING: dict[str, type[NoisyCounts]] = {
    service.__name__: service
    for service in (
        RepeatsFirstAnswer,
        WholeFirstAnswer,
        RepeatsFirstOfAll,
        RepeatsFirstOfTable,
        SharesAnswersOfTable,
        SharesStaleAnswers,
        RepeatsNowAndThen,
    )
}


def write_people(path: Path) -> None:
    """Write the table that the services and the audits of them read."""
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "age", "region"])
        for name in range(N_RECORDS):
            table.writerow([name, rng.integers(18, 91), rng.choice(["north", "east", "south", "west"])])


@contextmanager
def served(service: NoisyCounts) -> Iterator[str]:
    """Serve on a free port of this machine until the end of the context; give the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle_any(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            body, parts = json.loads(content) if content else {}, self.path.split("/")
            with service.lock if service.one_at_a_time else nullcontext():
                match self.command, parts:
                    case "POST", ["", "rounds"]:
                        status, result = service.open(body)
                    case "POST", ["", "rounds", name, "ask"]:
                        status, result = service.ask(name, body)
                    case "DELETE", ["", "rounds", name]:
                        status, result = service.close(name)
                    case _:
                        status, result = 404, {"error": "no such path"}
            padding = result.get("", "")
            result = {name: value for name, value in result.items() if name}
            answer = b"" if status == 204 else (json.dumps(result) + padding).encode()
            self.send_response_only(status)
            if status != 204:
                self.send_header("Content-Length", str(len(answer)))
                self.send_header("X-Spent", str(result.get("spent")))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
