"""A domain for tests: the release is a biased coin per target."""

from leakgauge.core.domain import Domain, Term

DOMAIN = Domain(
    package=__name__,
    default_attacks=("peek",),
    knowledge_terms={
        "nothing": Term(title="attacker who sees the coin", meaning="Only what comes out"),
        "little": Term(title="attacker who knows a little", meaning="Hardly more"),
    },
)
