import gzip

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models.data.published.texas import NUMBERS, TEXTS
from leakgauge.domains.models.data.sources import load_table

NAMES = ["RECORD_ID", "PROVIDER_NAME", *NUMBERS, "PUBLIC_HEALTH_REGION", *TEXTS, "PRINC_SURG_PROC_CODE"]
STAYS = [
    {"PUBLIC_HEALTH_REGION": "03", "PRINC_SURG_PROC_CODE": "0331", "PAT_AGE": "07", "SEX_CODE": "F"},
    {"PUBLIC_HEALTH_REGION": "03", "PRINC_SURG_PROC_CODE": "0331", "PAT_AGE": "12", "SEX_CODE": "M"},
    {"PUBLIC_HEALTH_REGION": "11", "PRINC_SURG_PROC_CODE": "331", "PAT_AGE": "`", "SEX_CODE": "F"},
    {"PUBLIC_HEALTH_REGION": "", "PRINC_SURG_PROC_CODE": "331", "PAT_AGE": "", "SEX_CODE": ""},
    {"PUBLIC_HEALTH_REGION": "11", "PRINC_SURG_PROC_CODE": "9999", "PAT_AGE": "20", "SEX_CODE": "F"},
    {"PUBLIC_HEALTH_REGION": "11", "PRINC_SURG_PROC_CODE": "", "PAT_AGE": "20", "SEX_CODE": "F"},
]
TEXAS = {"source": "texas", "procedures": 2}


def text(stays, names=NAMES):
    rows = [[stay.get(name, {"PROVIDER_NAME": 'St. "Ann'}.get(name, "")) for name in names] for stay in stays]
    return "".join("\t".join(row) + "\r\n" for row in [names, *rows])


def test_keeps_most_frequent_procedures_by_region(tmp_path):
    (tmp_path / "PUDF_base1q2006_tab.txt").write_text(text(STAYS), newline="")
    found = load_table(TEXAS, tmp_path, 1)
    assert [found.classes[label] for label in found.labels] == ["0331", "0331", "331", "331"]
    region = found.groups["region"]
    assert [region.values[code] for code in region.codes] == ["03", "03", "11", "NA"]
    assert found.names == ("SEX_CODE=F", "SEX_CODE=M", "SEX_CODE=NA", "PAT_AGE")
    assert found.rows[:, 3].tolist() == pytest.approx([7 / 12, 1, 0, 0])  # what is no number is 0


def test_reads_all_quarters(tmp_path):
    (tmp_path / "PUDF_base1q2006_tab.txt").write_text(text(STAYS[:2]), newline="")
    packed = gzip.compress(text(STAYS[2:], NAMES[::-1]).encode())
    (tmp_path / "PUDF_base2q2006_tab.txt.gz").write_bytes(packed)
    assert len(load_table(TEXAS, tmp_path, 1)) == 4


def test_reads_66_columns():
    assert len({*NUMBERS, *TEXTS, "PUBLIC_HEALTH_REGION"}) == 66  # Humphries et al. 2023, section IV-A


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        ({}, {}, "there is no file PUDF_base..._tab.txt"),
        ({"PUDF_base1q2006_tab.txt": "RECORD_ID\tRACE\n1\t2\n"}, {}, "as it was published"),
        ({}, {"procedures": 1}, "procedures must be >= 2, got 1"),
    ],
)
def test_rejects_unreadable_files(tmp_path, files, more, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(BadInput) as error:
        load_table(TEXAS | more, tmp_path, 1)
    assert message in str(error.value)
