"""A hundred mistakes that users make: each gets one line that says what is wrong, where, and the way out."""

from pathlib import Path
from typing import NamedTuple

import pytest

from leakgauge import api

BLACKBOX = """\
seed = 1
[[audit]]
name = "counts"
domain = "blackbox"
rounds = 200
challenger = { release = "mine:release", pair = "mine:pair", epsilon = 1.0 }
"""
MINE = """\
def release(data, rng):
    return sum(data) + rng.laplace()

def pair():
    return [1, 1, 0], [1, 1, 1]

value = 3
"""
CITY = """\
seed = 1
[[audit]]
name = "city"
domain = "locations"
rounds = 40
block = 20
data = { source = "synthetic", users = 60, sites = 4, epochs = 24 }
mechanism = { name = "laplace", epsilon = 1.0, unit = "event" }
attacks = [{ name = "likelihood", knowledge = "informed" }]
[audit.challenger]
group_size = 20
targets = { n = 2 }
"""
VISITS = CITY.replace(
    'source = "synthetic", users = 60, sites = 4, epochs = 24',
    'source = "visits.csv", timezone = "UTC", grid = [2, 2], epoch = "1h"',
)
QUERIES = """\
seed = 1
[[audit]]
name = "service"
domain = "queries"
rounds = 20
block = 10
data = { source = "synthetic", records = 50 }
mechanism = { name = "laplace", epsilon = 0.5 }
attacks = [{ name = "repeat", queries = 4 }]
[audit.challenger]
budget = 3.0
"""
SERVICE = (
    QUERIES
    + """\
own_service = true
service = { url = "http://127.0.0.1:9", token = "MISTAKE_TOKEN", rate = 1000.0, total = 100000 }
"""
)
FEDERATED = """\
seed = 1
[[audit]]
name = "clients"
domain = "federated"
rounds = 20
data = { source = "synthetic", rows = 200, features = 8, classes = 2 }
mechanism = { name = "bitrand", epsilon = 3.0 }
attacks = [{ name = "likelihood_neuron" }]
[audit.challenger]
targets = 2
batch = 5
"""
LOSSES = """\
seed = 1
[[audit]]
name = "losses"
domain = "models"
rounds = 1
data = { source = "losses.csv", loss = "loss" }
challenger = { game = "given" }
attacks = [{ name = "loss_threshold" }]
"""
MODEL = """\
seed = 1
[[audit]]
name = "model"
domain = "models"
rounds = 1
data = { source = "records.csv", label = "y" }
challenger = { game = "given", model = "model.onnx" }
attacks = [{ name = "loss_threshold" }]
"""
TRAINING = """\
seed = 1
[[audit]]
name = "training"
domain = "models"
rounds = 20
data = { source = "rows.csv", label = "y" }
challenger = { members = 20 }
mechanism = { name = "none" }
attacks = [{ name = "loss_threshold" }]
"""
LOSS_ROWS = "member,loss\n" + "0,0.5\n1,0.1\n" * 50
GOOD_VISITS = "user,time,lat,lon\n" + "".join(
    f"u{i},2024-05-01T{h:02d}:00:00Z,{45 + i / 1000},{9 + h / 1000}\n"
    for i in range(30)
    for h in range(8, 12)
)
SCORES = "member,score\n" + "1,0.9\n0,0.1\n" * 30


class Mistake(NamedTuple):
    """Files to write, the command line, words that the message must have, and the exit code."""

    name: str
    files: dict
    command: str
    words: tuple
    code: int = 2


def plan(text, *changes, **files):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return {
        "plan.toml": text,
        "mine.py": MINE,
        **{name.replace("_dot_", "."): one for name, one in files.items()},
    }


def of_plan(name, text, change, *words, command="run plan.toml", code=2, **files):
    return Mistake(name, plan(text, *([change] if change else []), **files), command, words, code)


def command(name, line, *words, code=2, **files):
    return Mistake(name, {key.replace("_dot_", "."): one for key, one in files.items()}, line, words, code)


PLANS = [
    of_plan("typo in a key of the plan", BLACKBOX, ("seed", "sed"), "'sed'", "did you mean 'seed'"),
    of_plan("typo in a key of an audit", BLACKBOX, ("rounds", "ronds"), "'ronds'", "did you mean 'rounds'"),
    of_plan(
        "typo in a key of the challenger",
        BLACKBOX,
        ("epsilon", "epsilom"),
        "'epsilom'",
        "did you mean 'epsilon'",
    ),
    of_plan(
        "typo in a domain",
        BLACKBOX,
        ('"blackbox"', '"blackbocks"'),
        "'blackbocks'",
        "did you mean 'blackbox'",
    ),
    of_plan("rounds as text", BLACKBOX, ("200", '"200"'), "rounds", "'200'"),
    of_plan("no rounds", BLACKBOX, ("rounds = 200", "rounds = 0"), "rounds", "0"),
    of_plan("negative rounds", BLACKBOX, ("rounds = 200", "rounds = -5"), "rounds", "-5"),
    of_plan("half a round", BLACKBOX, ("rounds = 200", "rounds = 0.5"), "rounds", "0.5"),
    of_plan("negative epsilon", BLACKBOX, ("epsilon = 1.0", "epsilon = -1.0"), "epsilon", "-1"),
    of_plan("epsilon as text", BLACKBOX, ("epsilon = 1.0", 'epsilon = "1"'), "epsilon", "'1'"),
    of_plan("epsilon that is no number", BLACKBOX, ("epsilon = 1.0", "epsilon = nan"), "epsilon", "nan"),
    of_plan("delta above 1", BLACKBOX, ("epsilon = 1.0", "epsilon = 1.0, delta = 2.0"), "delta", "2"),
    of_plan("name of an audit missing", BLACKBOX, ('name = "counts"\n', ""), "'name' is missing"),
    of_plan("domain missing", BLACKBOX, ('domain = "blackbox"\n', ""), "'domain' is missing"),
    of_plan("release missing", BLACKBOX, ('release = "mine:release", ', ""), "release"),
    of_plan("audit in single brackets", BLACKBOX, ("[[audit]]", "[audit]"), "[[audit]]"),
    of_plan("no audit", "seed = 1\n", None, "no audit", "[[audit]]"),
    of_plan(
        "two audits of one name", BLACKBOX + BLACKBOX.split("\n", 1)[1], None, "'counts'", "names must differ"
    ),
    of_plan(
        "key twice", BLACKBOX, ("seed = 1", "seed = 1\nseed = 2"), "plan.toml", "not valid TOML", "line 2"
    ),
    of_plan(
        "key twice in braces",
        BLACKBOX,
        ("epsilon = 1.0", "epsilon = 1.0, epsilon = 2.0"),
        "'epsilon' is given twice between the braces (at line 6, column",
        "delete one of the two",
    ),
    of_plan("missing quote", BLACKBOX, ('"counts"', '"counts'), "plan.toml", "not valid TOML", "line 3"),
    of_plan("table over two lines", CITY, ("users = 60,", "users = 60,\n"), "plan.toml", "not valid TOML"),
    of_plan("name with a slash", BLACKBOX, ('"counts"', '"a/b"'), "name", "'a/b'"),
    of_plan(
        "sweep over an unknown key",
        CITY,
        ("[audit.ch", 'sweep = { "mechanism.epsilom" = [1, 2] }\n[audit.ch'),
        "epsilom",
    ),
    of_plan(
        "sweep over nothing",
        CITY,
        ("[audit.ch", 'sweep = { "mechanism.epsilon" = [] }\n[audit.ch'),
        "sweep",
        "mechanism.epsilon",
    ),
    of_plan(
        "sweep over one value",
        CITY,
        ("[audit.ch", 'sweep = { "mechanism.epsilon" = 1.0 }\n[audit.ch'),
        "sweep",
        "list",
    ),
    of_plan(
        "publish without such a point", CITY, ("seed = 1", 'seed = 1\npublish = "town"'), "publish", "'town'"
    ),
    of_plan(
        "limit on an unknown number",
        BLACKBOX,
        ("seed = 1", "seed = 1\nlimits = { accurracy = 0.6 }"),
        "accurracy",
        "did you mean 'accuracy'",
    ),
    of_plan(
        "limit in percent", BLACKBOX, ("seed = 1", "seed = 1\nlimits = { accuracy = 60 }"), "accuracy", "60"
    ),
    of_plan(
        "limit on epsilon",
        BLACKBOX,
        ("seed = 1", "seed = 1\nlimits = { epsilon = 1.0 }"),
        "epsilon",
        "limit accuracy instead",
    ),
    of_plan(
        "limit on attackers that nobody is",
        BLACKBOX,
        ("seed = 1", 'seed = 1\nlimits = { accuracy = 0.6, attackers = ["informde"] }'),
        "informde",
    ),
    of_plan(
        "unknown attack", CITY, ('"likelihood"', '"likelyhood"'), "'likelyhood'", "did you mean 'likelihood'"
    ),
    of_plan("unknown knowledge", CITY, ('"informed"', '"informd"'), "'informd'", "did you mean 'informed'"),
    of_plan("knowledge of another domain", CITY, ('"informed"', '"simulator"'), "'simulator'"),
    of_plan("unknown mechanism", CITY, ('"laplace"', '"laplas"'), "'laplas'", "did you mean 'laplace'"),
    of_plan("mechanism of another domain", CITY, ('name = "laplace"', 'name = "bitrand"'), "bitrand"),
    of_plan(
        "unknown metric",
        CITY,
        ("[audit.ch", 'metrics = { epsilon = "one_rum" }\n[audit.ch'),
        "one_rum",
        "one_run",
    ),
    of_plan(
        "confidence in percent",
        CITY,
        ("[audit.ch", "metrics = { confidence = 95 }\n[audit.ch"),
        "confidence",
        "95",
    ),
    of_plan(
        "attack twice",
        CITY,
        ("attacks = [{", 'attacks = [{ name = "likelihood", knowledge = "informed" }, {'),
        "label",
    ),
    of_plan(
        "attacks as one name",
        CITY,
        ('[{ name = "likelihood", knowledge = "informed" }]', '"likelihood"'),
        "attacks",
        "list",
    ),
    of_plan("more targets than people", CITY, ("n = 2", "n = 200"), "target", "200"),
    of_plan(
        "groups larger than the data", CITY, ("group_size = 20", "group_size = 2000"), "group_size", "2000"
    ),
    of_plan("negative users", CITY, ("users = 60", "users = -60"), "users", "-60"),
    of_plan("unknown unit", CITY, ('"event"', '"events"'), "unit", "events"),
    of_plan(
        "unknown relation",
        CITY,
        ("group_size = 20", 'group_size = 20\nrelation = "add"'),
        "relation",
        "'add'",
    ),
    of_plan("unknown way to stop", CITY, ("block = 20", 'block = 20\nstop = "never"'), "stop", "'never'"),
    of_plan(
        "locations plan for another domain",
        CITY,
        ('"locations"', '"queries"'),
        "no attack on queries",
        "'likelihood'",
    ),
    of_plan(
        "policy as plan", "[limits]\naccuracy = 0.6\n", None, "plan.toml", "this is a policy", "[[audit]]"
    ),
    of_plan("JSON as plan", '{"seed": 1, "audit": []}', None, "plan.toml", "looks like JSON", "TOML"),
    of_plan("YAML as plan", "seed: 1\naudit:\n  - name: x\n", None, "plan.toml", "looks like YAML", "TOML"),
]
CODE = [
    of_plan("module missing", BLACKBOX, ("mine:release", "mein:release"), "no mein.py"),
    of_plan("function missing", BLACKBOX, ("mine:release", "mine:relase"), "'mine' has no 'relase'"),
    of_plan("no colon", BLACKBOX, ("mine:release", "mine.release"), '"module:name"', "'mine.release'"),
    of_plan("value instead of a function", BLACKBOX, ("mine:release", "mine:value"), "release"),
    of_plan("code that does not parse", BLACKBOX, None, "mine.py, line 1", mine_dot_py="def release(:\n"),
    of_plan(
        "code that raises when imported",
        BLACKBOX,
        None,
        "ZeroDivisionError",
        "mine.py, line 1",
        mine_dot_py="1 / 0\n",
    ),
    of_plan(
        "code that needs a missing library",
        BLACKBOX,
        None,
        "No module named 'no_such_lib'",
        "install no_such_lib",
        mine_dot_py="import no_such_lib\n",
    ),
    of_plan(
        "release with too few arguments",
        BLACKBOX,
        None,
        "def release(data, rng)",
        mine_dot_py=MINE.replace("(data, rng)", "()"),
    ),
    of_plan(
        "release that raises",
        BLACKBOX,
        None,
        "ValueError: no data",
        "mine.py, line 2",
        mine_dot_py=MINE.replace("return sum(data)", 'raise ValueError("no data")\n    return sum(data)'),
    ),
    of_plan(
        "release that returns nothing",
        BLACKBOX,
        None,
        "returned None",
        "return what is published",
        mine_dot_py=MINE.replace("return sum(data) + rng.laplace()", "sum(data)"),
    ),
    of_plan(
        "pair of three",
        BLACKBOX,
        None,
        "pair",
        mine_dot_py=MINE.replace("return [1, 1, 0], [1, 1, 1]", "return [1], [2], [3]"),
    ),
    of_plan(
        "pair of equal inputs",
        BLACKBOX,
        None,
        "pair",
        mine_dot_py=MINE.replace("[1, 1, 0], [1, 1, 1]", "[1], [1]"),
    ),
    of_plan(
        "pair that returns nothing",
        BLACKBOX,
        None,
        "pair",
        mine_dot_py=MINE.replace("return [1, 1, 0], [1, 1, 1]", "pass"),
    ),
]
DATA = [
    of_plan("missing file of visits", VISITS, None, "there is no file 'visits.csv'", "check the path"),
    of_plan("folder instead of a file", VISITS, ("visits.csv", "."), "source"),
    of_plan("empty file of visits", VISITS, None, "visits.csv", visits_dot_csv=""),
    of_plan("visits without rows", VISITS, None, "visits.csv", visits_dot_csv="user,time,lat,lon\n"),
    of_plan(
        "other column names",
        VISITS,
        None,
        "visits.csv",
        "no column",
        "columns = {",
        visits_dot_csv=GOOD_VISITS.replace("user", "person_id"),
    ),
    of_plan(
        "column mapped to one that is missing",
        VISITS,
        ("grid", 'columns = { user = "who" }, grid'),
        "'who'",
        visits_dot_csv=GOOD_VISITS,
    ),
    of_plan(
        "same column for two things",
        VISITS,
        ("grid", 'columns = { lat = "lat", lon = "lat" }, grid'),
        "'lat'",
        visits_dot_csv=GOOD_VISITS,
    ),
    of_plan(
        "visits in Latin-1",
        VISITS,
        None,
        "visits.csv",
        "UTF-8",
        visits_dot_csv=GOOD_VISITS.replace("u1,", "José,").encode("latin-1"),
    ),
    of_plan(
        "latitude and longitude swapped",
        VISITS,
        None,
        "lat",
        visits_dot_csv=GOOD_VISITS.replace(",45", ",145"),
    ),
    of_plan(
        "unknown time zone",
        VISITS,
        ('"UTC"', '"Europe/Rom"'),
        "timezone",
        "Europe/Rom",
        visits_dot_csv=GOOD_VISITS,
    ),
    of_plan(
        "times that are none", VISITS, None, "time", visits_dot_csv=GOOD_VISITS.replace("2024-05-01T", "May ")
    ),
    of_plan(
        "unknown ending", VISITS, ("visits.csv", "visits.xlsx"), "visits.xlsx", visits_dot_xlsx=b"PK\x03\x04"
    ),
    of_plan(
        "window outside of the data",
        VISITS,
        ("grid", 'window = ["2030-01-01", "2030-01-02"], grid'),
        "window",
        visits_dot_csv=GOOD_VISITS,
    ),
    of_plan(
        "title above the names of a file of visits",
        VISITS,
        None,
        "visits.csv: the first line has fewer values",
        "delete all lines above line 3",
        visits_dot_csv="Export of May\n\n" + GOOD_VISITS,
    ),
    of_plan(
        "title above the names of a file that is exposed",
        VISITS,
        None,
        "delete all lines above line 2",
        command="expose plan.toml",
        visits_dot_csv="Export of May,,,\n" + GOOD_VISITS,
    ),
    of_plan(
        "title above the names of a table of losses",
        LOSSES,
        None,
        "losses.csv: the first line has fewer values",
        "delete all lines above line 2",
        losses_dot_csv="Export of May\n" + LOSS_ROWS,
    ),
    of_plan(
        "losses with decimal commas",
        LOSSES,
        None,
        "data.loss: 'loss' of losses.csv is written with decimal commas; write decimal = \",\"",
        losses_dot_csv=LOSS_ROWS.replace(",", ";").replace(".", ","),
    ),
    of_plan(
        "features with decimal commas",
        FEDERATED,
        ('"synthetic", rows = 200, features = 8, classes = 2', '"rows.csv", features = ["a"]'),
        "data.features: 'a' is written with decimal commas; write decimal = \",\"",
        rows_dot_csv="a;label\n" + "0,5;0\n1,25;1\n" * 50,
    ),
    of_plan(
        "records with decimal commas",
        QUERIES,
        ('"synthetic", records = 50', '"rows.csv"'),
        "the numbers of column 'a' are written with decimal commas; write decimal = \",\"",
        rows_dot_csv="a;b\n" + "".join(f"{i},5;{i}\n" for i in range(50)),
    ),
    of_plan(
        "rows of a training with decimal commas",
        TRAINING,
        None,
        "the numbers of column 'a' are written with decimal commas; write decimal = \",\"",
        rows_dot_csv="a;y\n" + "".join(f"{i},5;{i % 2}\n" for i in range(100)),
    ),
    of_plan("missing table of losses", LOSSES, None, "there is no file 'losses.csv'", "check the path"),
    of_plan(
        "losses without such a column",
        LOSSES,
        ('loss = "loss"', 'loss = "los"'),
        "'los'",
        losses_dot_csv=LOSS_ROWS,
    ),
    of_plan(
        "losses without members", LOSSES, None, "member", losses_dot_csv=LOSS_ROWS.replace("1,0.1\n", "")
    ),
    of_plan(
        "losses that are no numbers", LOSSES, None, "loss", losses_dot_csv=LOSS_ROWS.replace("0.5", "low", 1)
    ),
    of_plan(
        "missing model", MODEL, None, "model.onnx", records_dot_csv="member,x,y\n" + "1,0.5,0\n0,0.1,1\n" * 20
    ),
    of_plan(
        "pickled model",
        MODEL,
        ("model.onnx", "model.pkl"),
        "not opened",
        "module:name",
        records_dot_csv="member,x,y\n" + "1,0.5,0\n0,0.1,1\n" * 20,
        model_dot_pkl=b"\x80\x04.",
    ),
    of_plan(
        "damaged model",
        MODEL,
        None,
        "model.onnx",
        records_dot_csv="member,x,y\n" + "1,0.5,0\n0,0.1,1\n" * 20,
        model_dot_onnx=b"no model",
    ),
    of_plan("batch larger than the data", FEDERATED, ("batch = 5", "batch = 5000"), "batch", "5000"),
    of_plan(
        "Flower app that is no app",
        FEDERATED.replace("targets = 2\nbatch = 5", 'targets = 1\napp = "nowhere"\ndata_hook = "task:load"')
        .replace('data = { source = "synthetic", rows = 200, features = 8, classes = 2 }\n', "")
        .replace(
            'mechanism = { name = "bitrand", epsilon = 3.0 }\nattacks = [{ name = "likelihood_neuron" }]\n',
            "",
        ),
        None,
        "challenger.app",
        "nowhere",
    ),
    of_plan(
        "service without a statement of ownership",
        SERVICE,
        ("own_service = true\n", ""),
        "own_service = true",
    ),
    of_plan(
        "service that is not there",
        SERVICE,
        None,
        "no connection to http://127.0.0.1:9",
        "check that the service is running there",
        "continue with",
        code=3,
    ),
    of_plan("service without its token", SERVICE, ("MISTAKE_TOKEN", "NO_SUCH_TOKEN"), "NO_SUCH_TOKEN"),
    of_plan(
        "more queries than the budget allows", QUERIES, ("budget = 3.0", "budget = -3.0"), "budget", "-3"
    ),
]
COMMANDS = [
    command("no command", "", "COMMAND", "leakgauge --help"),
    command("unknown command", "rum plan.toml", "rum", "leakgauge --help"),
    command("run without a plan", "run", "PLAN", "leakgauge run --help"),
    command("plan that is not there", "run nowhere.toml", "nowhere.toml", "no such plan file"),
    command("folder as plan", "run .", "."),
    command("binary file as plan", "run plan.toml", "plan.toml", plan_dot_toml=b"\x80\x04\x95\x00\xff"),
    of_plan("unknown engine", BLACKBOX, None, "--engine", "spark", command="run plan.toml --engine spark"),
    of_plan("no worker", BLACKBOX, None, "workers", "0", command="run plan.toml --workers 0"),
    of_plan("workers as text", BLACKBOX, None, "--workers", "two", command="run plan.toml --workers two"),
    of_plan(
        "address of the local engine",
        BLACKBOX,
        None,
        "address",
        command="run plan.toml --address tcp://127.0.0.1:1",
    ),
    of_plan("seed as text", BLACKBOX, None, "--seed", "x", command="run plan.toml --seed x"),
    of_plan("out is a file", BLACKBOX, None, "mine.py", command="run plan.toml --out mine.py"),
    of_plan(
        "out is a folder of other files",
        BLACKBOX,
        None,
        "not empty and not a run folder",
        command="run plan.toml --out .",
    ),
    of_plan("out below a file", BLACKBOX, None, "mine.py", command="run plan.toml --out mine.py/run"),
    of_plan(
        "policy that is not there",
        BLACKBOX,
        None,
        "nowhere.toml",
        command="run plan.toml --policy nowhere.toml",
    ),
    of_plan("plan as policy", BLACKBOX, None, "plan.toml", command="run plan.toml --policy plan.toml"),
    command("status of an empty folder", "status .", "not a run folder"),
    command("gate on a folder that is not there", "gate runs/x", "runs/x", "not a run folder"),
    command("gate on a plan", "gate plan.toml", "plan.toml", "not a run folder", plan_dot_toml=BLACKBOX),
    command("report of an empty folder", "report .", "not a run folder"),
    command("unknown format of a report", "report . --format pdf", "--format", "pdf"),
    command("judge a file that is not there", "judge scores.csv", "scores.csv", "no such file"),
    command(
        "scores without such columns",
        "judge scores.csv",
        "scores.csv",
        "member",
        scores_dot_csv="label,value\n1,0.5\n",
    ),
    command(
        "scores with two separators",
        "judge scores.csv",
        "scores.csv",
        scores_dot_csv=SCORES.replace(",", ";", 1),
    ),
    command(
        "title above the names of scores",
        "judge scores.csv",
        "scores.csv: the first line has fewer values",
        "delete all lines above line 2",
        scores_dot_csv="Export of May\n" + SCORES,
    ),
    command("empty scores", "judge scores.csv", "scores.csv", scores_dot_csv=""),
    command(
        "scores that are not finite",
        "judge scores.csv",
        "line 62, column score",
        scores_dot_csv=SCORES + "1,nan\n",
    ),
    command(
        "scores of members only",
        "judge scores.csv",
        "all 20 trials are members",
        scores_dot_csv="member,score\n" + "1,0.5\n" * 20,
    ),
    command(
        "members that are words",
        "judge scores.csv",
        "member",
        scores_dot_csv=SCORES.replace("\n1,", "\nperhaps,", 1),
    ),
    command(
        "negative epsilon of scores", "judge scores.csv --epsilon=-1", "epsilon", "-1", scores_dot_csv=SCORES
    ),
    command("delta without epsilon", "judge scores.csv --delta 1e-5", "--epsilon", scores_dot_csv=SCORES),
    command(
        "confidence of 95", "judge scores.csv --confidence 95", "confidence", "95", scores_dot_csv=SCORES
    ),
    command("nothing to expose", "expose", "name a plan", "--query-log"),
    of_plan("exposure where there are no people", BLACKBOX, None, "exposure", command="expose plan.toml"),
    command("query log that is not there", "expose --query-log log.csv", "log.csv", "check the path"),
    command(
        "query log without columns",
        "expose --query-log log.csv --contains c.csv",
        "log.csv",
        "column",
        log_dot_csv="a,b\n1,2\n",
        c_dot_csv="query,record\n1,2\n",
    ),
    command(
        "query log without records",
        "expose --query-log log.csv",
        "--contains",
        log_dot_csv="query,sensitivity,noise,scale\nq1,1,laplace,2\n",
    ),
    command("unknown list", "show atacks", "atacks", "did you mean 'attacks'"),
    command(
        "list of an unknown domain",
        "show attacks --domain location",
        "'location'",
        "did you mean 'locations'",
    ),
    command("unknown paper", "reproduce liu23", "'liu23'", "did you mean 'liu24'"),
    command("unknown figure", "reproduce liu24 --only figure_99", "figure_99"),
    of_plan("service of a plan without one", CITY, None, "queries", command="serve-oracle plan.toml"),
    of_plan(
        "port that cannot be",
        QUERIES,
        None,
        "port",
        "99999999",
        command="serve-oracle plan.toml --port 99999999",
    ),
    command("bundle of an empty folder", "bundle .", "not a run folder"),
    command("verify a file that is not there", "verify x.zip", "x.zip", "no such file"),
    command("verify a run folder", "verify .", "a folder", "leakgauge bundle"),
    command("verify a table", "verify scores.csv", "not a zip file", scores_dot_csv=SCORES),
]
MISTAKES = [*PLANS, *CODE, *DATA, *COMMANDS]


def test_there_are_a_hundred_mistakes_and_none_twice():
    assert len(MISTAKES) >= 100
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_mistake_gets_one_line_and_leaves_nothing(call, tmp_path, monkeypatch, mistake):
    monkeypatch.setenv("MISTAKE_TOKEN", "token")
    monkeypatch.setattr("time.sleep", lambda _: None)  # before a service is asked again
    monkeypatch.setattr(api, "write_report", lambda *_, **__: pytest.fail("there is nothing to report"))
    for name, content in mistake.files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(tmp_path.rglob("*"))
    done = call(*mistake.command.split())
    assert done.code == mistake.code
    assert done.out == ""
    assert done.err.startswith("leakgauge: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert len(done.err) <= 500
    for word in mistake.words:
        assert word in done.err
    if mistake.code == 2:  # others can be continued
        assert sorted(tmp_path.rglob("*")) == before


def test_damaged_run_folder_gets_one_line(call, plan, tmp_path):
    plan()
    folder = tmp_path / "runs" / "coin"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{")
    for line in ("judge", "gate", "status", "report", "bundle"):
        done = call(line, "runs/coin")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert str(Path("runs/coin/manifest.json")) in done.err


def write(folder, files):
    for name, content in files.items():
        (folder / name).write_text(content)


def test_a_token_in_place_of_the_name_of_its_variable_is_seen_by_the_dry_run_and_not_shown(
    call, tmp_path, monkeypatch
):
    write(tmp_path, plan(SERVICE, ("MISTAKE_TOKEN", "ghp_s3cr3tT0k3n")))
    done = call("run", "plan.toml", "--dry-run")
    assert "token: the environment variable that it names holds no token; export it before" in done.out
    assert "s3cr3t" not in done.out + done.err
    write(tmp_path, plan(SERVICE))
    assert "'MISTAKE_TOKEN' holds no token; export it before" in call("run", "plan.toml", "--dry-run").out
    monkeypatch.setenv("MISTAKE_TOKEN", "token")
    assert "holds no token" not in call("run", "plan.toml", "--dry-run").out


def test_no_rounds_are_asked_of_a_finished_release(call, tmp_path):
    write(tmp_path, plan(LOSSES + "[limits]\naccuracy = 0.6\n") | {"losses.csv": LOSS_ROWS})
    out = call("run", "plan.toml", "--dry-run").out
    assert "limits: losses is one finished release, so no more rounds can be simulated" in out
    assert "too few" not in out
