"""The four cases of section 4.5: enough known records to be refused or not, the target in the data or not."""

from collections.abc import Sequence

from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.huang.figures_3_and_4 import CENTRAL_T
from leakgauge.papers.huang.plans import LEVEL, audit_table, with_numeric_error
from leakgauge.theory import query_splitting
from leakgauge.verdict import Verdict

EPSILON, BUDGET = 0.3, 3.0
FEW, ENOUGH = 10, 100  # answers: what the budget allows, and far more
CERTAIN = comparison.read_published(__package__)["certain"]
ALWAYS_FIVE = (
    "However many answers there are, a t-test at 5 % calls about 5 % of non-members members. The absence of "
    "refusals would decide it, but the paper uses the test in this case."
)
SOUND = (
    "The paper assumes an accountant that charges only records in the data (theorem 4). Every query is "
    "about the target, so an accountant that looks only at queries refuses at the same time with and "
    "without the target."
)


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    known = {"name": "known", "records": FEW}
    refusal = {"name": "refusal", "queries": ENOUGH, "label": "refusal"}
    attacks = {
        "per_row": [
            refusal,
            {"name": "split_t_test", "queries": ENOUGH, "form": "paper", "label": "t_test"},
            {"name": "combined", "queries": ENOUGH, "form": "paper", "label": "combined"},
            {"name": "combined", "queries": FEW, "form": "paper", "label": "few", "knowledge": known},
        ],
        "per_predicate": [refusal],
    }
    return [
        audit_table(accountant, scope.scale, EPSILON, names, {"budget": BUDGET, "accountant": accountant})
        for accountant, names in attacks.items()
    ]


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    verdicts = {(verdict.audit, verdict.label): verdict for verdict in played.verdicts}
    return paper.ItemResult(
        (*_computed(), *(_enough(verdicts) if verdicts else ()), *(_few(verdicts) if verdicts else ()))
    )


def _computed() -> Sequence[comparison.ComparedNumber]:
    """Theoretical values of cases 1 to 3."""
    low, high = query_splitting.optimum_laplace(FEW, EPSILON)
    printed = float(
        query_splitting.success_as_printed([FEW], EPSILON / query_splitting.SQRT_2, level=LEVEL)[0]
    )
    return [
        comparison.ComparedNumber(
            setting=f"case 3: non-members found by the t-test of {ENOUGH} answers",
            ours=with_numeric_error(1 - query_splitting.size_laplace(ENOUGH, form="paper", level=LEVEL)),
            published=CERTAIN,
            why=ALWAYS_FIVE,
        ),
        comparison.ComparedNumber(
            setting=f"cases 1 and 2: success of the t-test, {FEW} answers",
            ours=with_numeric_error(_success()),
            published=comparison.PublishedNumber(value=printed, where="formula, theorem 5"),
            why=CENTRAL_T,
        ),
        comparison.ComparedNumber(
            setting=f"cases 1 and 2: the optimum, {FEW} answers",
            ours=comparison.exact_number((low + high) / 2),
            why="The likelihood ratio of the answers: no attack can do better.",
        ),
    ]


def _success() -> float:
    return float(query_splitting.success_laplace(FEW, [EPSILON], form="paper", level=LEVEL)[0])


def _enough(verdicts: dict[tuple[str, str], Verdict]) -> list[comparison.ComparedNumber]:
    """Cases 3 and 4, simulated."""
    rows = [
        ("case 4: members found by refusals", "refusal", "tpr", ""),
        ("case 3: non-members found by the absence of refusals", "refusal", "tnr", ""),
        ("case 4: members found by the four cases together", "combined", "tpr", ""),
        ("case 3: non-members found by the four cases together", "combined", "tnr", ""),
        (f"case 3: non-members found by the t-test of {ENOUGH} answers", "t_test", "tnr", ALWAYS_FIVE),
    ]
    return [
        *(
            comparison.ComparedNumber(
                setting=f"{name}, simulated",
                ours=metric_intervals.metric(verdicts["per_row", label], metric),
                published=CERTAIN,
                why=why,
            )
            for name, label, metric, why in rows
        ),
        comparison.ComparedNumber(
            setting="cases 3 and 4: success of refusals, a sound accountant, simulated",
            ours=metric_intervals.accuracy(verdicts["per_predicate", "refusal"]),
            why=SOUND,
        ),
    ]


def _few(verdicts: dict[tuple[str, str], Verdict]) -> list[comparison.ComparedNumber]:
    """Cases 1 and 2, simulated."""
    return [
        comparison.ComparedNumber(
            setting=f"cases 1 and 2: success of the t-test, {FEW} answers, simulated",
            ours=metric_intervals.accuracy(verdicts["per_row", "few"]),
            exact=_success(),
            drawn=True,
        )
    ]


CASES = paper.PaperItem(
    title="The four cases of section 4.5",
    about="An oracle refuses once a budget of 3 is spent, at ε = 0.3 for each answer, and charges only "
    "records that are in the data. An attacker who knows 100 of them or more splits one question into 100: "
    "a member is refused after ten answers (case 4), a non-member never (case 3). One who knows ten is "
    "never refused, and must use a t-test of ten answers (cases 1 and 2).",
    audits=_audits,
    show=_show,
    notes=(
        (
            "Theorem 4 charges ε if the target is not in the data and m ε if it is: such an accountant "
            "depends on the data, and its refusals are releases without noise. A sound one charges m ε in "
            "both cases."
        ),
        "Theorem 2 asks for more than m known records; m are enough.",
    ),
)
