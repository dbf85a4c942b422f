from pathlib import Path

import pytest

from leakgauge.plan import plan_of
from leakgauge.runner.redaction import HiddenValues, hidden_values, redacted_value


def locations(**tables):
    audit = {
        "name": "city",
        "domain": "locations",
        "rounds": 40,
        "data": {"source": "secret/visits.csv", "timezone": "Europe/Rome"},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "challenger": {"targets": {"names": ["Adaora Okafor", "Bertrand"]}},
        "attacks": [{"name": "likelihood", "knowledge": {"name": "zero", "friends": ["Chiamaka"]}}],
    }
    return plan_of({"audit": [{**audit, **tables}]})


def test_names_and_paths_of_a_plan_are_hidden_and_time_zones_are_not():
    hidden = hidden_values(locations())
    assert hidden.people >= {"Adaora Okafor", "Bertrand", "Chiamaka"}
    assert hidden.paths == {"secret/visits.csv"}


@pytest.mark.parametrize(
    ("text", "is_path"),
    [
        ("visits.csv", True),
        ("C:\\data\\visits", True),
        ("http://10.0.0.1:8000/v1", True),
        ("~/visits", True),
        ("releases:noisy_counts", False),
        ("pack.releases:noisy_counts", False),
        ("%Y/%m/%d", False),
        ("%d.%m.%Y %H:%M", False),
        ("%Y-%m-%dT%H:%M:%SZ", False),
        ("/home/secret%folder/visits_of_may.csv", True),
        ("100%.csv", True),
        ("visits of may.csv", True),
        ("Visits of May.PARQUET", True),
        ("counts of May, version 1.5", False),
        ("%" * 60 + "xx", False),
        ("x" * 300, False),
        ("Asia/Kuala_Lumpur", False),
        ("laplace", False),
        ("1h", False),
    ],
)
def test_paths_are_told_from_other_strings(text, is_path):
    plan = locations(mechanism={"name": "laplace", "epsilon": 1.0, "note": text})
    assert (text in hidden_values(plan).paths) is is_path


def test_names_of_files_are_hidden_within_sentences_too():
    hidden = HiddenValues(frozenset({"Anna"}), frozenset({"secret/visits.csv"}))
    table = {"notes": ["visits.csv: 3 rows of secret/visits.csv"], "names": ("Anna",)}
    assert redacted_value(table, hidden) == {
        "notes": ["(path not shown): 3 rows of (path not shown)"],
        "names": ("(not shown)",),
    }


def test_numbers_at_the_end_of_an_address_are_not_hidden_elsewhere():
    hidden = HiddenValues(frozenset(), frozenset({"data/0.25", "http://localhost:8080/v1.0"}))
    assert not hidden.found_in(b'{"value": 0.25, "version": "1.0"}')
    assert redacted_value("0.25 of http://localhost:8080/v1.0", hidden) == "0.25 of (path not shown)"


def test_names_of_files_with_blanks_and_signs_are_hidden_within_sentences():
    hidden = HiddenValues(frozenset(), frozenset({"/secret%data/visits of may.csv"}))
    assert redacted_value("visits of may.csv: 3 rows", hidden) == "(path not shown): 3 rows"
    assert hidden.found_in(b"3 rows of visits of may.csv")


def test_names_are_found_as_words_and_in_arrays_of_text():
    hidden = HiddenValues(frozenset({"Anna"}), frozenset())
    assert hidden.found_in(b'{"who": "Anna"}')
    assert not hidden.found_in(b"Savannah")
    assert hidden.found_in("who is Anna".encode("utf-32-le"))
    assert not hidden.found_in(b"")


def test_folders_of_the_machine_are_found():
    hidden = HiddenValues(frozenset(), frozenset())
    assert hidden.found_in(b"open('/home/somebody/x')", frozenset({str(Path("/home/somebody"))}))
