"""Services that keep their noise and leak beside it, or spend what they have not.

``BESIDE`` lists those whose leak is in what no attack on answers reads, ``TOTAL`` those whose refusals,
errors or answers tell the target in every round. They are served and audited as those of
``noisy_count_services``.
"""

import time
from typing import Any

from domains.queries.remote.noisy_count_services import (
    EPSILON,
    LAPLACE,
    N_ANSWERS,
    TARGET,
    NoisyCounts,
    Refused,
    ServerError,
    Session,
    Statement,
)


class SpendsAfterTheCheck(NoisyCounts):
    """Checks the budget, and spends it a moment later: questions at once get more answers than that."""

    one_at_a_time = False

    def answer(self, session: Session, where: str) -> float:
        if where in session.cache:
            return session.cache[where]
        if not self.affordable(session, []):
            raise Refused
        time.sleep(0.03)
        session.n_answers += 1
        return super().publish(len(self.rows(session, where)) + self.noise(session, where))


class DebugField(NoisyCounts):
    """Leaves a debug field in its replies: how many rows were read."""

    def more(self, session: Session, where: str) -> dict[str, Any]:
        return {"debug": {"rows": len(self.rows(session, where))}}


class LengthGrows(NoisyCounts):
    """Pads its replies by a blank for every row that was read, so that Content-Length tells the count."""

    def padding(self, session: Session, where: str) -> int:
        return len(self.rows(session, where))


class ExactAboveAHundred(NoisyCounts):
    """Takes large counts to be harmless, and adds no noise to them."""

    def noise(self, session: Session, where: str) -> float:
        return 0.0 if len(self.rows(session, where)) > 100 else super().noise(session, where)


class ExactInTheMiddle(NoisyCounts):
    """Adds no noise to counts of 20 to 80 records."""

    def noise(self, session: Session, where: str) -> float:
        return 0.0 if 20 <= len(self.rows(session, where)) <= 80 else super().noise(session, where)


class OpeningTells(NoisyCounts):
    """Says how many records the table has when a session is opened."""

    def open(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = super().open(body)
        return status, {**reply, "records": 500 - len(body["absent"])}


class ZeroIsFree(NoisyCounts):
    """Charges nothing for an answer where nobody is counted."""

    def answer(self, session: Session, where: str) -> float:
        before = session.n_answers
        answer = super().answer(session, where)
        if not self.rows(session, where):
            session.n_answers = before
        return answer


class AnswersInErrors(NoisyCounts):
    """Fails now and then, charges nothing for that, and leaves the answer in the error."""

    def ask(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = super().ask(name, body)
        session = self.sessions.get(name)
        if status != 200 or session is None or session.rng.random() < 0.5:
            return status, reply
        session.n_answers -= 1
        del session.replies[body["request"]]
        session.cache.clear()
        return 500, {"error": "internal error", "answer": reply["answer"]}


class SixMillisecondsMore(NoisyCounts):
    """Takes six milliseconds longer where the target is in the answer."""

    stated = Statement(rounds=200)

    def answer(self, session: Session, where: str) -> float:
        if TARGET in self.rows(session, where):
            time.sleep(0.006)
        return super().answer(session, where)


# -- total leaks: every round tells whether the target is in the table

ONE = Statement({**LAPLACE, "epsilon": 0.1}, {"budget": 0.1 * N_ANSWERS})


class RefusesTheTarget(NoisyCounts):
    """Refuses every question whose answer has the target in it."""

    stated, scale = ONE, 10.0

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return TARGET not in rows and super().affordable(session, rows)


class RefusesTheAbsent(NoisyCounts):
    """Refuses every question about somebody who is not in the table."""

    stated, scale = ONE, 10.0

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return TARGET not in session.absent and super().affordable(session, rows)


class FailsOnTheAbsent(NoisyCounts):
    """Ends in an error where somebody who is asked about is not in the table."""

    stated, scale = ONE, 10.0

    def answer(self, session: Session, where: str) -> float:
        if TARGET in session.absent:
            raise ServerError
        return super().answer(session, where)


class OneAnswerMore(NoisyCounts):
    """Refuses one answer earlier where the target is in the table."""

    stated, scale = ONE, 10.0

    def affordable(self, session: Session, rows: list[int]) -> bool:
        return session.n_answers < N_ANSWERS - (TARGET not in session.absent)


class RefusesInOtherWords(NoisyCounts):
    """Says in its refusals why there is no answer."""

    stated, scale = ONE, 10.0

    def more_of_refusal(self, session: Session) -> dict[str, Any]:
        return {"reason": "no such person" if TARGET in session.absent else "budget"}


BESIDE: dict[str, type[NoisyCounts]] = {
    kind.__name__: kind
    for kind in (
        SpendsAfterTheCheck,
        DebugField,
        LengthGrows,
        ExactAboveAHundred,
        ExactInTheMiddle,
        OpeningTells,
        ZeroIsFree,
        AnswersInErrors,
        SixMillisecondsMore,
    )
}
TOTAL: dict[str, type[NoisyCounts]] = {
    kind.__name__: kind
    for kind in (
        RefusesTheTarget,
        RefusesTheAbsent,
        FailsOnTheAbsent,
        OneAnswerMore,
        RefusesInOtherWords,
    )
}
assert EPSILON * N_ANSWERS == 2.5
