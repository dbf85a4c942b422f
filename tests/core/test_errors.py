import pickle

import pytest

from leakgauge.core.errors import BadInput


@pytest.mark.parametrize("cell", ["x" * 81, "a b, " * 100, "it's " + "y" * 200, "\n" * 90])
def test_a_long_value_of_a_file_is_cut_in_a_message(cell):
    error = BadInput(f"visits.csv, line 7: {cell!r} is no time; write '2013-11-01'")
    quoted = str(error).removeprefix("visits.csv, line 7: ").removesuffix(" is no time; write '2013-11-01'")
    assert len(quoted) == len("''") + 80
    assert quoted[1:41] == repr(cell)[1:41]
    assert quoted[-40:-1] == repr(cell)[-40:-1]
    assert str(pickle.loads(pickle.dumps(error))) == str(BadInput(str(error))) == str(error)


@pytest.mark.parametrize(
    "message",
    [
        f"{'x' * 80!r} stays",
        "the service's total is the plan's own, and so are the other numbers that stand beside it in that's",
        f'columns = {{ user = "a" }} {"and more words " * 10} time = "b"',
    ],
)
def test_other_messages_stay_as_they_are(message):
    assert str(BadInput(message)) == message
