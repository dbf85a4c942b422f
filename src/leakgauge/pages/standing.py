"""Which metric stands for how well an adversary does.

Trials of all targets taken together have one threshold for everybody. An adversary of a given person sets one
for that person, so where a round has several targets their own numbers are taken, and averaged.
"""

from leakgauge.verdict import Verdict

AVERAGED = "on average over the targets"


def standing(verdict: Verdict, name: str) -> str:
    """The metric to show for ``name`` where there is room for one: its mean of targets, if there are several.

    Where too few rounds let no target be judged by itself, the trials of all of them have to do.
    """
    mean = f"{name}_mean"
    known = mean in verdict.metrics and verdict.metrics[mean].value is not None
    return mean if verdict.n_targets > 1 and known else name


def averaged(verdict: Verdict, name: str) -> bool:
    """Whether what stands for a metric is an average over the targets."""
    return standing(verdict, name) != name


def how(verdict: Verdict, name: str) -> str:
    """What to say behind a number that is an average; empty where it is none."""
    return f" {AVERAGED}" if averaged(verdict, name) else ""
