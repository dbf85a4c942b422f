"""Draft a plan for a trained model: from training rows, from its losses, from the model, or from code."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from leakgauge.core.errors import BadInput
from leakgauge.support.file_description import MODELS, ColumnDescription, FileDescription, name_parts
from leakgauge.support.label_words import LABEL_WORDS
from leakgauge.support.member_words import ACCEPTED_WORDS
from leakgauge.support.plan_draft import (
    TEXT_COMMENTS,
    Answers,
    ColumnRole,
    DraftContext,
    DraftedPlan,
    DraftKind,
    Question,
    Recognised,
    column_question,
    doubtful_columns,
    limit_question,
    limits_text,
    optional,
    plan_start,
    range_text,
    read_column,
    read_number,
    table_lines,
    unused_question,
)

_MEMBER = (
    *("member", "is_member", "is_train", "in_training", "train", "trained_on", "in_train", "is_training"),
    *("train_set", "training_set", "training_data", "in_train_set", "in_training_set", "used_for_training"),
    *("mitglied", "ist_mitglied", "trainingsdaten", "trainingsmenge", "trainingssatz", "im_training"),
    *("membre", "est_membre", "donnees_d_entrainement", "miembro", "es_miembro", "datos_de_entrenamiento"),
    *("membro", "dati_di_addestramento"),
)
_MEMBER_BESIDE_ANSWERS = (  # in other tables these may be anything
    *("training", "split", "set", "subset", "partition", "aufteilung", "mitgliedschaft", "in"),
    *("entrainement", "apprentissage", "entrenamiento", "en_entrenamiento", "addestramento"),
    "in_addestramento",
)
_LOSS = (
    *("loss", "cross_entropy", "nll", "log_loss", "verlust", "kreuzentropie", "perte", "perdida", "perdita"),
)
_PROBABILITY = (
    *("probability", "confidence", "p_true", "true_probability", "prob", "proba"),
    *("wahrscheinlichkeit", "konfidenz", "probabilite", "confiance", "probabilidad", "confianza"),
    *("probabilita", "confidenza"),
)
_MOST_CLASSES = 30
_MOST_PARTS = 6  # of a split into training rows and others
_MOST_NAMED = 3  # columns that may be the members
_MOST_MEMBERS = 1000
_MODELS = {"network": "a neural network", "random_forest": "a random forest"}
_TRAINING = '''"""How your model is trained: replace the body of `fit` with your own code."""

from sklearn.linear_model import LogisticRegression


def fit(X, y, rng):
    """Train a model on the rows X with the classes y; draw all random numbers from `rng`.

    What is returned has predict_proba, is a torch module, or is a function of rows.
    """
    return LogisticRegression(max_iter=1000).fit(X, y)
'''


def _label(file: FileDescription) -> ColumnDescription | None:
    """The column of classes: by its name, else the last column if it has few values."""
    named = file.find(LABEL_WORDS, ("text", "whole", "truth"))
    if named is not None and 2 <= named.n_distinct <= _MOST_CLASSES:
        return named
    last = file.columns[-1] if file.columns else None
    few = last is not None and last.kind != "real" and 2 <= last.n_distinct <= 10
    return last if few else None


def _member(file: FileDescription) -> ColumnDescription | None:
    return next(
        (
            column
            for word in _MEMBER
            if (column := file.find((word,), whole_name=True)) is not None and column.n_distinct <= 3
        ),
        None,
    )


def _member_beside_answers(file: FileDescription) -> ColumnDescription | None:
    """The column of members of a table that also has losses; there, more names say so."""
    if (named := _member(file)) is not None:
        return named
    found = (file.find((word,), whole_name=True) for word in _MEMBER_BESIDE_ANSWERS)
    return next((column for column in found if column is not None and column.says_members), None)


def _unfit(file: FileDescription, label: str) -> list[str]:
    """Columns that are no features: those that name each row, times, and texts of very many kinds."""
    return [
        column.name
        for column in file.columns
        if column.name != label
        and (
            column.kind in ("time", "clock", "other")
            or (column.kind in ("whole", "text") and column.n_distinct == file.n_rows)
            or (column.kind == "text" and column.n_distinct > 200)
        )
    ]


def _recognise_rows(file: FileDescription) -> Recognised | None:
    label = _label(file)
    if len(file.columns) < 3 or _member(file) is not None:
        return None
    if doubtful := doubtful_columns(file):
        because = f"{', '.join(doubtful[:_MOST_NAMED])} may be a split, or what a model said, and no features"
        return Recognised(score=0.25, because=because, sure=False)
    if label is None:
        few = [column for column in file.columns if column.kind != "real" and 2 <= column.n_distinct <= 10]
        because = "columns that could be predicted"
        return Recognised(score=0.25, because=because, sure=False) if few else None
    named = file.find(LABEL_WORDS, ("text", "whole", "truth")) == label
    because = f"{len(file.columns) - 1} columns besides {label.name} (label)"
    return Recognised(score=0.6 if named else 0.4, because=because, sure=named)


def _has_noise(answers: Answers) -> bool:
    return answers.get("epsilon") is not None


def _row_questions(file: FileDescription | None) -> Sequence[Question]:
    label = _label(file) if file is not None else None
    return [
        column_question(
            file, "label", "Which column does the model predict", label.name if label else None, asked=True
        ),
        Question(
            key="model",
            text="What kind of model is it",
            default="network",
            choices=_MODELS,
            decides="challenger.trainer",
        ),
        *unused_question(file),
        Question(
            key="epsilon",
            text='With which epsilon is it trained (DP-SGD)? "none" means without noise',
            default="none",
            read=optional(read_number()),
            asked=lambda answers: answers.get("model") == "network",
        ),
        limit_question("a row was used for training"),
    ]


def _row_data(context: DraftContext) -> dict[str, Any]:
    file = context.file
    assert file is not None
    label = context["label"]
    unfit = [*dict.fromkeys([*_unfit(file, label), *context.answers.get("unused", ())])]
    gaps = any(column.n_missing for column in file.columns if column.name not in unfit)
    return {
        "source": context.source,
        **context.text_keys,
        "label": label,
        "drop": unfit or None,
        "impute": True if gaps else None,
    }


_DATA_COMMENTS = TEXT_COMMENTS | {
    "source": "the rows; a relative path starts in this folder",
    "label": "the column that the model predicts",
    "drop": "columns that are no features: ids, times, free text",
    "impute": "missing values are filled in",
}


def _draft_rows(context: DraftContext) -> DraftedPlan:
    assert context.file is not None
    members = max(20, min(_MOST_MEMBERS, context.file.n_rows // 4))
    forest = context["model"] == "random_forest"
    if _has_noise(context.answers) and not forest:
        mechanism: dict[str, Any] = {
            "name": "dp_sgd",
            "epsilon": context["epsilon"],
            "delta": 1e-5,
            "relation": "replace_one",
        }
    else:
        mechanism = {"name": "none"}
    challenger = {
        "members": members,
        "targets": min(50, members // 2),
        "trainer": {"name": "random_forest", "trees": 50} if forest else None,
        "epochs": None if forest else 20,
        "batch": None if forest else max(16, members // 10),
        "hidden": None if forest else [32],
        "rate": None if forest else 0.1,
    }
    text = _plan_text(
        context,
        title="Model trained on rows",
        question="A model trained on these rows: can an attacker tell which rows it was trained on?",
        rounds=100,
        attacks=[
            '  { name = "loss_threshold", label = "loss" },  # low loss means member',
            '  { name = "lira", shadows = 16, label = "lira" },  # compares with models of its own',
        ],
        tables=[
            "[audit.data]",
            table_lines(_row_data(context), _DATA_COMMENTS),
            "[audit.mechanism]",
            table_lines(mechanism, {"name": "how training is protected", "epsilon": "for one row"}),
            "[audit.challenger]",
            table_lines(
                challenger,
                {
                    "members": "rows of one training: use your number; few rows are memorised more",
                    "targets": "rows looked for",
                    "trainer": 'see `leakgauge show trainers`; or train = "module:fit", your own code',
                    "hidden": "sizes of the hidden layers",
                },
            ),
        ],
    )
    notes = (f"models are trained on {members:,} rows (members in the plan); use the number of yours",)
    return DraftedPlan(text=text, notes=notes, exposes=True, roles=_row_roles(context))


def _row_roles(context: DraftContext) -> tuple[ColumnRole, ...]:
    """What is predicted, and from what; columns that are no features are not used."""
    assert context.file is not None
    label = context["label"]
    left_out = {label, *_unfit(context.file, label)}
    features = tuple(name for name in context.file.names if name not in left_out)
    return (ColumnRole("predicted", (label,), "label"), ColumnRole("features", features))


def _plan_text(
    context: DraftContext, *, title: str, question: str, rounds: int, attacks: list[str], tables: list[str]
) -> str:
    what = "trained models" if rounds > 1 else "the one model there is"
    lines = [
        *plan_start(context, "models", title=title, question=question),
        f"rounds = {rounds}  # {what}",
        *(["block = 20"] if rounds > 1 else []),
        "attacks = [",
        *attacks,
        "]",
        "",
        *tables,
    ]
    return "\n".join(lines).rstrip("\n") + "\n" + limits_text(context["limit"])


def _answer_column(file: FileDescription) -> tuple[str, ColumnDescription] | None:
    """The column of what a model said of each row: its loss, or the probability of the true class."""
    for key, words in (("loss", _LOSS), ("probability", _PROBABILITY)):
        if (column := file.find(words, ("real", "whole"), whole_name=True)) is not None:
            return key, column
    for key, words in (("loss", _LOSS), ("probability", _PROBABILITY)):
        if (column := file.find(words, ("real",))) is not None:
            return key, column
    return None


def _may_be_members(column: ColumnDescription) -> bool:
    """Whether a column has two values, or a few and a name such as split: train, test and validation."""
    few = 3 <= column.n_distinct <= _MOST_PARTS and column.kind != "real"
    named = "".join(name_parts(column.name)) in {
        word.replace("_", "") for word in (*_MEMBER, *_MEMBER_BESIDE_ANSWERS)
    }
    return column.n_distinct == 2 or (few and named)


def _recognise_losses(file: FileDescription) -> Recognised | None:
    member, answer = _member_beside_answers(file), _answer_column(file)
    if answer is None:
        return None
    if member is None:
        two = [column.name for column in file.columns if column != answer[1] and _may_be_members(column)]
        if not two:
            return None
        because = (
            f"column {answer[1].name} ({answer[0]}); {' or '.join(two[:_MOST_NAMED])} may be the members"
        )
        return Recognised(score=0.55, because=because, sure=False)
    return Recognised(
        score=0.95, because=f"columns {member.name} (member) and {answer[1].name} ({answer[0]})"
    )


def _given_questions(person: str = "a row was used for training") -> list[Question]:
    return [
        Question(
            key="assignment",
            text="How was it decided which rows are members",
            default="given",
            choices={
                "given": "in any other way, such as the real training set",
                "random": "by an independent fair coin for each row",
            },
        ),
        Question(
            key="epsilon",
            text='Which epsilon was promised to a row? "none" states no promise',
            default="none",
            read=optional(read_number()),
            asked=lambda answers: answers.get("assignment") == "random",
        ),
        limit_question(person),
    ]


def _loss_questions(file: FileDescription | None) -> Sequence[Question]:
    member = _member_beside_answers(file) if file is not None else None
    answer = _answer_column(file) if file is not None else None
    asked = column_question(
        file, "member", "Which column says who was a member", member.name if member else None
    )
    return [
        replace(asked, read=_read_member(file)),
        column_question(
            file, "loss", "Which column is the loss of a row", answer[1].name if answer else None
        ),
        *_given_questions(),
    ]


def _read_member(file: FileDescription | None) -> Callable[[str], str]:
    """Return a check that a file has a column, which says in words that are known who was a member."""
    read = read_column(file)

    def read_member(answer: str) -> str:
        name = read(answer)
        if file is not None and not file.column(name).says_members:
            raise BadInput(
                f"{file.path.name}: column {name!r} does not say of every row whether it was a member, or "
                f"says the same of all; write {ACCEPTED_WORDS}, or leave rows of the attacker empty"
            )
        return name

    return read_member


def _given_attack(answers: Answers) -> str:
    """The attack on a finished model; what epsilon covers does not include the members' mean loss."""
    if answers["assignment"] != "random":
        return '  { name = "loss_threshold" },  # low loss means member'
    return (
        '  { name = "loss_threshold", threshold = "optimal", knowledge = "black_box" },'
        "  # low loss means member"
    )


def _given_challenger(answers: Answers, **more: Any) -> str:
    is_random = answers["assignment"] == "random"
    table = {
        "game": "given",
        **more,
        "randomised": True if is_random else None,
        "epsilon": answers.get("epsilon") if is_random else None,
    }
    comments = {
        "game": "the model is finished; it is not trained again",
        "randomised": "a fair coin decided for each row whether it was used",
        "model": 'an ONNX file, or "module:name" of a model in Python',
        "epsilon": "what was promised to a row",
    }
    return table_lines(table, comments)


def _draft_losses(context: DraftContext) -> DraftedPlan:
    assert context.file is not None
    answer = _answer_column(context.file)
    key = "loss" if answer is None or answer[1].name != context["loss"] else answer[0]
    data = {"source": context.source, **context.text_keys, "member": context["member"], key: context["loss"]}
    comments = TEXT_COMMENTS | {
        "source": "a row for each record; a relative path starts in this folder",
        "member": "the column that says who was in: 1 or 0",
        "loss": "the column of losses",
        "probability": "the column of the probability of the true class",
    }
    text = _plan_text(
        context,
        title="Finished model by its losses",
        question="A finished model, known by its losses: can an attacker tell which rows it was trained on?",
        rounds=1,
        attacks=[_given_attack(context.answers)],
        tables=[
            "[audit.data]",
            table_lines(data, comments),
            "[audit.challenger]",
            _given_challenger(context.answers),
        ],
    )
    between = range_text(context.file.column(context["loss"]))
    roles = (
        ColumnRole("members", (context["member"],), "member"),
        ColumnRole(
            "loss" if key == "loss" else "probability of the true class", (context["loss"],), "loss", between
        ),
    )
    return DraftedPlan(text=text, roles=roles)


def _recognise_model(file: FileDescription) -> Recognised | None:
    return Recognised(score=0.95, because="an ONNX file") if file.suffix in MODELS else None


def _model_questions(_: FileDescription | None) -> Sequence[Question]:
    return [
        Question(key="data", text="Which file holds rows with features, a class, and who was a member"),
        Question(key="label", text="Which of its columns is the class", default="label"),
        Question(
            key="member",
            text="Which of its columns says who was a member",
            default="member",
            asked=lambda _: False,
        ),
        *_given_questions(),
    ]


def _draft_model(context: DraftContext) -> DraftedPlan:
    data = {"source": context.path("data"), "label": context["label"], "member": context["member"]}
    text = _plan_text(
        context,
        title="Finished model",
        question="A finished model: can an attacker who queries it tell which rows it was trained on?",
        rounds=1,
        attacks=[_given_attack(context.answers)],
        tables=[
            "[audit.data]",
            table_lines(data, {"source": "rows with features", "member": "the column that says who was in"}),
            "[audit.challenger]",
            _given_challenger(context.answers, model=context.source),
        ],
    )
    return DraftedPlan(text=text)


def _training_questions(file: FileDescription | None) -> Sequence[Question]:
    if file is None:
        return [limit_question("a row was used for training")]  # generated rows have a class
    label = _label(file)
    return [
        column_question(
            file, "label", "Which column does the model predict", label.name if label else None, asked=True
        ),
        limit_question("a row was used for training"),
    ]


def _draft_training(context: DraftContext) -> DraftedPlan:
    file = context.file
    data = {"source": "synthetic"} if file is None else _row_data(context)
    members = 200 if file is None else max(20, min(_MOST_MEMBERS, file.n_rows // 4))
    text = _plan_text(
        context,
        title="Own training code",
        question="Your own training code: can an attacker tell which rows a model was trained on?",
        rounds=100,
        attacks=[
            '  { name = "loss_threshold", label = "loss" },  # low loss means member',
            '  { name = "lira", shadows = 16, label = "lira" },  # compares with models of its own',
        ],
        tables=[
            "[audit.data]",
            table_lines(data, _DATA_COMMENTS),
            "[audit.mechanism]",
            'name = "none"  # your code trains as it does\n',
            "[audit.challenger]",
            table_lines(
                {"members": members, "targets": min(50, members // 2), "train": "training:fit"},
                {
                    "members": "rows of one training: use your number; few rows are memorised more",
                    "targets": "rows looked for",
                    "train": "module:function, in this folder",
                },
            ),
        ],
    )
    notes = ("training.py holds an example; put your own training there",)
    roles = () if file is None else _row_roles(context)
    return DraftedPlan(text=text, files={"training.py": _TRAINING}, notes=notes, roles=roles)


def draft_kinds() -> dict[str, DraftKind]:
    """Return what a plan can be drafted for, by name."""
    return {
        "rows": DraftKind(
            about="A table of rows with a class, on which a model will be trained.",
            keys={
                "label": "the column of classes",
                "model": "the kind of model: network or random_forest",
                "unused": "columns that are no features, divided by commas, or none",
                "epsilon": "the epsilon that is promised, or none",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_row_questions,
            draft=_draft_rows,
            recognise=_recognise_rows,
        ),
        "losses": DraftKind(
            about="What a finished model said: the loss or probability of each row, and who was a member.",
            keys={
                "member": "the column of members",
                "loss": "the column of losses",
                "assignment": "how members were chosen: given or random",
                "epsilon": "the epsilon that is promised, or none",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_loss_questions,
            draft=_draft_losses,
            recognise=_recognise_losses,
        ),
        "model": DraftKind(
            about="A finished model as an ONNX file, and a table of rows with who was a member.",
            keys={
                "data": "the file of the table, or of the rows",
                "label": "the column of classes",
                "member": "the column of members",
                "assignment": "how members were chosen: given or random",
                "epsilon": "the epsilon that is promised, or none",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_model_questions,
            draft=_draft_model,
            recognise=_recognise_model,
        ),
        "training": DraftKind(
            about="Your own training code, and a table of rows if there is one; an example is written.",
            keys={
                "label": "the column of classes",
                "limit": "how often an attacker may be right, such as 0.6, or none",
            },
            questions=_training_questions,
            draft=_draft_training,
            needs_file=False,
        ),
    }
