"""What all items of Huang et al. have in common: Laplace noise, and how a game is played."""

from leakgauge.papers.comparison import OurNumber
from leakgauge.papers.paper import Scale

CONFIDENCE = 0.999  # there are many intervals
LEVEL = 0.05  # of the t-test, section 4.4
RECORDS = 200  # of the generated table: more than anybody asks about
ROUNDS = {Scale.QUICK: 20_000, Scale.FULL: 200_000}  # the paper does not say how many
ERROR = 4e-4  # what a rate of a t-test under Laplace noise may be off, see theory.t_test_power
AUDIT = """
[[audit]]
name = "{name}"
domain = "queries"
rounds = {rounds}
block = 5000
data = {{ source = "synthetic", records = {records} }}
mechanism = {{ name = "laplace", epsilon = {epsilon!r} }}
challenger = {{ {challenger} }}
metrics = {{ confidence = {confidence} }}
attacks = [
{attacks}
]
"""


def write_audit(
    name: str,
    scale: Scale,
    epsilon: float,
    attacks: list[str],
    challenger: str = "",
    records: int = RECORDS,
) -> str:
    """Write a game about one record, and a count unless said otherwise; an answer costs ``epsilon``."""
    return AUDIT.format(
        name=name,
        rounds=ROUNDS[scale],
        records=records,
        epsilon=epsilon,
        challenger=", ".join(filter(None, ["targets = 1", challenger])),
        confidence=CONFIDENCE,
        attacks="\n".join(f"  {{ {attack} }}," for attack in attacks),
    )


def t_test_attack(m: int, form: str = "paper") -> str:
    """The line of a plan: the t-test of ``m`` answers."""
    return f'name = "split_t_test", queries = {m}, form = "{form}", label = "{form}-{m}"'


def with_numeric_error(value: float, errors: int = 1) -> OurNumber:
    """A value that rests on as many rates of a t-test under Laplace noise, and what it may be off."""
    return OurNumber(
        value=float(value), low=float(value) - errors * ERROR, high=float(value) + errors * ERROR
    )
