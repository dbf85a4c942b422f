"""Draft a plan for a Python function that makes a release, or read scores of another tool."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import CODE, FileDescription
from leakgauge.support.plan_draft import (
    FOLDER,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    Recognised,
    epsilon_question,
    limit_question,
    limits_text,
    optional,
    plan_start,
    read_number,
)

_MEMBER = ("member", "is_member", "in", "is_train", "train")
_SCORE = ("score",)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_RELEASE = '''"""The release to audit: put your own code into `release`, and your own inputs into `pair`."""

import numpy as np


def release(table, rng):
    """Return what you publish about `table`; draw all random numbers from `rng`, a numpy.random.Generator."""
    return np.round(table + rng.laplace(scale=1.0, size=table.shape), 1)


# Two inputs that differ by one person: without the person, then with them.
pair = (np.array([12, 7, 20]), np.array([12, 8, 20]))
'''


def _parsed(file: FileDescription) -> ast.Module:
    """The statements of a Python file, which is not run."""
    try:
        return ast.parse(file.path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise BadInput(f"{file.path}: is no Python file that can be read: {error}") from None


def _functions(file: FileDescription) -> dict[str, ast.FunctionDef]:
    """The public functions of a Python file."""
    found = (node for node in _parsed(file).body if isinstance(node, ast.FunctionDef))
    return {node.name: node for node in found if not node.name.startswith("_")}


def _takes_generator(function: ast.FunctionDef) -> bool:
    names = [argument.arg for argument in function.args.args]
    return len(names) == 2 and names[1] in ("rng", "generator")


def _variables(file: FileDescription) -> list[str]:
    return [
        node.id
        for node in _top_level(_parsed(file).body)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _top_level(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that are not within a function or class, such as both branches of a condition."""
    for node in nodes:
        yield node
        if not isinstance(node, (*_NAMED, ast.Lambda)):
            yield from _top_level(ast.iter_child_nodes(node))


def _read_name(file: FileDescription) -> Callable[[str], str]:
    """Return a check that a name exists in a file, as far as its text says; it is read at each answer."""

    def read(answer: str) -> str:
        nodes = list(_top_level(_parsed(file).body))
        imported = [
            (name.asname or name.name).partition(".")[0]
            for node in nodes
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in node.names
        ]
        named = [node.name for node in nodes if isinstance(node, _NAMED)]
        if answer not in (*_variables(file), *named, *imported) and "*" not in imported:
            raise BadInput(f"{file.path.name} has no {answer!r} at its top level; {_pair_example(file)}")
        return answer

    return read


def _pair_example(file: FileDescription) -> str:
    return (
        f"write a line such as pair = ([1, 0, 1], [1, 0, 1, 1]) in {file.path.name}: without and with one "
        "person"
    )


def _recognise_function(file: FileDescription) -> Recognised | None:
    if file.suffix not in CODE:
        return None
    able = [name for name, function in _functions(file).items() if _takes_generator(function)]
    if not able:
        return None
    return Recognised(score=0.8, because=f"function {able[0]}(…, rng)")


def _function_questions(file: FileDescription | None) -> Sequence[Question]:
    questions: list[Question] = []
    if file is not None:
        functions = _functions(file)
        if not functions:
            raise BadInput(f"{file.path}: has no public function; write one release(data, rng)")
        able = [name for name, function in functions.items() if _takes_generator(function)]
        default = (able or list(functions))[0]
        pairs = [name for name in (*_variables(file), *functions) if "pair" in name.lower()]
        several = len(able) != 1
        questions = [
            Question(
                key="function",
                text="Which function makes the release? It takes an input and a numpy.random.Generator",
                default=default,
                choices={
                    name: (ast.get_docstring(function) or "").partition("\n")[0]
                    for name, function in functions.items()
                },
                asked=lambda _: several,
            ),
            Question(
                key="pair",
                text=f"What in {file.path.name} holds two inputs that differ by one person? If nothing does, "
                f"{_pair_example(file)}",
                read=_read_name(file),
                default=pairs[0] if pairs else None,
                asked=lambda _: len(pairs) != 1,
            ),
        ]
    return [
        *questions,
        epsilon_question(
            'Which epsilon does the release promise? "none" states no promise',
            default="1" if file is None else "none",
        ),
        Question(
            key="delta",
            text="Which delta does it promise",
            default="0",
            read=read_number(above=-1e-300, below=1.0),
            asked=lambda answers: answers.get("epsilon") is not None,
        ),
        limit_question("this person is in the input"),
    ]


def _draft_function(context: DraftContext) -> DraftedPlan:
    module = "release" if context.file is None else context.file.path.stem
    function = context.answers.get("function") or "release"
    pair = context.answers.get("pair") or "pair"
    promise = []
    if context["epsilon"] is not None:
        promise.append(f"epsilon = {context['epsilon']!r}  # what the release promises for this pair")
        if context.answers.get("delta"):
            promise.append(f"delta = {context['delta']!r}")
    lines = [
        *plan_start(
            context,
            "blackbox",
            title="Python function",
            question="A Python function that makes a release: does it keep its promise and hide a person?",
        ),
        "rounds = 10_000  # simulated releases: each calls the function once",
        'attacks = ["learned_event"]  # learns on other releases which outputs give the person away',
        "",
        "[audit.challenger]",
        f'release = "{module}:{function}"  # module:function, in this folder',
        f'pair = "{module}:{pair}"  # two inputs, without and with the person, or a function',
        *promise,
    ]
    files = {} if context.file is not None else {"release.py": _RELEASE}
    notes = () if context.file is not None else ("release.py holds an example; put your own release there",)
    return DraftedPlan(text="\n".join(lines) + "\n" + limits_text(context["limit"]), files=files, notes=notes)


def _recognise_scores(file: FileDescription) -> Recognised | None:
    member, score = file.find(_MEMBER, whole_name=True), file.find(_SCORE, ("real", "whole"), whole_name=True)
    if member is None or score is None or member.n_distinct > 2:
        return None
    return Recognised(score=0.97, because=f"columns {member.name} and {score.name}")


def _score_questions(_: FileDescription | None) -> Sequence[Question]:
    return [
        Question(
            key="assignment",
            text="How was it decided who is a member",
            default="given",
            choices={
                "given": "in any other way, such as the real training set",
                "random": "by an independent fair coin for each of them",
            },
        ),
        Question(
            key="epsilon",
            text='Which epsilon was promised? "none" states no promise',
            default="none",
            read=optional(read_number()),
            asked=lambda answers: answers.get("assignment") == "random",
        ),
        limit_question("somebody is a member"),
    ]


def _draft_scores(context: DraftContext) -> DraftedPlan:
    assert context.file is not None
    command = ["judge", str(context.file.path)]
    if context["assignment"] == "random":
        command += ["--coins", "fair"]
    if context.answers.get("epsilon") is not None:
        command += ["--epsilon", repr(context["epsilon"])]
    if "limits.accuracy" in context.assumed:  # a policy is what the owner states
        return DraftedPlan(command=tuple(command))
    command += ["--policy", f"{FOLDER}/policy.toml"]
    return DraftedPlan(command=tuple(command), files={"policy.toml": limits_text(context["limit"]).lstrip()})


def draft_kinds() -> dict[str, DraftKind]:
    """Return what a plan can be drafted for, by name."""
    return {
        "function": DraftKind(
            about="A Python function that makes a release; without a file, an example is written.",
            keys={
                "function": "the function that makes the release",
                "pair": "what holds the two inputs",
                "epsilon": "the epsilon that is promised, or none",
                "delta": "the delta that is promised",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_function_questions,
            draft=_draft_function,
            recognise=_recognise_function,
            needs_file=False,
            beside_file=True,
            imports_file=True,
        ),
        "scores": DraftKind(
            about="A table of scores of any attack, with the columns member and score.",
            keys={
                "limit": "how often an attacker may be right, such as 0.6, or none",
                "assignment": "how members were chosen: given or random",
                "epsilon": "the epsilon that is promised, or none",
            },
            questions=_score_questions,
            draft=_draft_scores,
            recognise=_recognise_scores,
        ),
    }
