"""For how much of a plan each measured audit stands, where a dry run does not measure all of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from leakgauge.plan import Audit


@dataclass(frozen=True)
class CostShare:
    """How often the cost of a measured audit counts, for each of its parts."""

    study: float = 1.0
    rounds: float = 1.0
    attacker_rounds: float = 1.0  # requests and the judging of trials: those of each attacker in each round
    audits: float = 1.0

    def __add__(self, other: "CostShare") -> "CostShare":
        return CostShare(
            self.study + other.study,
            self.rounds + other.rounds,
            self.attacker_rounds + other.attacker_rounds,
            self.audits + other.audits,
        )


NO_SHARE = CostShare(0.0, 0.0, 0.0, 0.0)
WHOLE_SHARE = CostShare()


def audit_kind(audit: Audit) -> tuple[str, ...]:
    """Audits of the same kind, such as the points of a sweep, are assumed to cost the same in each round."""
    return audit.domain, *(contender.label for contender in audit.contenders)


def audit_shares(audit: Audit, measured: Sequence[Audit]) -> list[CostShare]:
    """What an audit takes of the cost of each measured one: of itself, or of those of its kind, or of all.

    The study is scaled with the attackers where nothing of its kind was measured, the rounds with their
    number.
    """
    same = [one for one in measured if one.name == audit.name]
    same = same or [one for one in measured if audit_kind(one) == audit_kind(audit)] or list(measured)
    n_attackers = sum(len(one.contenders) for one in same)

    def share(one: Audit) -> CostShare:
        rounds = audit.rounds / one.rounds / len(same)
        return CostShare(
            study=len(audit.contenders) / n_attackers,
            rounds=rounds,
            attacker_rounds=rounds * len(audit.contenders) / len(one.contenders),
            audits=1 / len(same),
        )

    names = {one.name for one in same}
    return [share(one) if one.name in names else NO_SHARE for one in measured]


def control_shares(
    audits: Sequence[Audit], controls: Sequence[Collection[str]], measured: Sequence[Audit]
) -> list[CostShare]:
    """For how many audits the positive control of each measured one stands.

    ``controls`` names those of the attacks of each audit; one that audits share counts once. All attacks of
    an audit play the same rounds of it. Where no audit was measured, its control takes as long as those of
    its kind, or else as the others.
    """
    names, played, n_new = {audit.name for audit in measured}, set[str](), dict[str, int]()
    for i in sorted(range(len(audits)), key=lambda i: audits[i].name not in names):
        n_new[audits[i].name] = len(set(controls[i]) - played)
        played |= set(controls[i])
    known = [audit for audit in measured if n_new[audit.name]]
    shares = dict.fromkeys(names, WHOLE_SHARE)
    for audit in audits:
        if audit.name in names or not n_new[audit.name]:
            continue
        same = [one for one in known if audit_kind(one) == audit_kind(audit)] or known
        n_attacks = sum(n_new[one.name] for one in same)
        for one in same:
            part = 1 / len(same)
            per_attack = part * n_new[audit.name] / n_new[one.name]
            shares[one.name] += CostShare(n_new[audit.name] / n_attacks, part, per_attack, part)
    return [shares[audit.name] for audit in measured]
