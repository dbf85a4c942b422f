import pytest

from leakgauge.domains.queries.service import server

PLAN = """
seed = 7
[[audit]]
name = "{name}"
domain = "{domain}"
data = {{ records = 30 }}
mechanism = {{ name = "laplace", epsilon = 1.0 }}
challenger = {{ budget = 2.0{more} }}
"""


@pytest.fixture
def plan(tmp_path):
    def write(*audits):
        parts = [PLAN.format(**{"name": "a", "domain": "queries", "more": "", **one}) for one in audits]
        text = parts[0] + "".join(part.replace("seed = 7", "") for part in parts[1:])
        (tmp_path / "plan.toml").write_text(text)
        return "plan.toml"

    return write


@pytest.fixture
def served(monkeypatch):
    """What would be served, and whether nobody serves it."""
    found = []

    def serve(rounds, token, door):
        found.append((rounds._table, rounds._rules, token))
        door.close()

    monkeypatch.setattr(server, "serve", serve)
    return found


def test_serves_oracle_and_prints_token_once(call, plan, served, monkeypatch):
    monkeypatch.delenv("LEAKGAUGE_TOKEN", raising=False)
    outcome = call("serve-oracle", plan({}), "--port", "0")
    ((table, rules, token),) = served
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.count(token) == 1
    assert "audit 'a' is served at http://127.0.0.1:" in outcome.err
    assert (len(table.records), table.targets.size, rules.budget) == (30, 1, 2.0)


def test_token_from_environment_is_not_printed(call, plan, served, monkeypatch):
    monkeypatch.setenv("LEAKGAUGE_TOKEN", "of-the-environment")
    outcome = call("serve-oracle", plan({}), "--port", "0")
    assert served[0][2] == "of-the-environment"
    assert "of-the-environment" not in outcome.err


def test_serves_remote_plan_without_its_token(call, plan, served, monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    elsewhere = ', own_service = true, service = { url = "http://127.0.0.1:1", token = "NOT_SET" }'
    assert call("serve-oracle", plan({"more": elsewhere}), "--port", "0").code == 0
    assert len(served) == 1


def test_targets_match_those_of_same_plan_and_seed(call, plan, served):
    for seed in (3, 3, 4):
        call("serve-oracle", plan({}), "--port", "0", "--seed", seed)
    one, other, third = (table.targets.tolist() for table, _, _ in served)
    assert one == other != third


def test_audit_is_chosen_by_name(call, plan, served):
    file = plan({}, {"name": "b"})
    assert call("serve-oracle", file, "--audit", "b", "--port", "0").code == 0
    refusal = call("serve-oracle", file, "--port", "0")
    assert (refusal.code, "holds 2 audits; add --audit, one of a, b" in refusal.err) == (2, True)


@pytest.mark.parametrize(
    ("audit", "more", "said"),
    [
        ({}, ["--audit", "aa"], "did you mean 'a'"),
        ({"domain": "blackbox"}, [], "only queries can be served"),
        ({}, ["--port", "-1"], "port must be in 0..65535"),
        ({"more": ", accountant = 'per_rows'"}, [], "did you mean 'per_row'"),
    ],
)
def test_unservable_plan_is_bad_input(call, plan, served, audit, more, said):
    outcome = call("serve-oracle", plan(audit), *more)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
    assert served == []


def test_used_port_is_bad_input(call, plan, served):
    with server.listen(0) as door:
        outcome = call("serve-oracle", plan({}), "--port", door.getsockname()[1])
    assert (outcome.code, "choose another --port" in outcome.err) == (2, True)


def test_dry_run_sends_no_request(call, plan):
    elsewhere = ', own_service = true, service = { url = "http://127.0.0.1:1" }'
    outcome = call("run", plan({"more": elsewhere}), "--dry-run")  # nobody listens there
    assert outcome.code == 0
    per_round = 3 * (10 + 2)  # three attacks of ten questions, and two requests for each round of each
    beyond = 2 * 3 * 5  # in each block, one session of each attack is asked on past its budget
    pairs = 2 * 3 * 20 * (2 + 2)  # and ten sessions of each world are asked one question in two forms
    at_once = 3 * 40 + 3 + 2  # once, one session is asked many questions at the same moment
    apart = 2 * 8 * (6 + 2)  # and sessions of each world are asked about all, nobody and some records
    extra = beyond + pairs + at_once + apart
    requests = f"{2100 * per_round + extra:,} requests, {100 * per_round:,} of them for the positive control"
    assert requests in outcome.out
    assert f"at most {extra} of the requests" in outcome.out
    assert "service.total = 100,000 requests for each start of an audit: one start is enough" in outcome.out
