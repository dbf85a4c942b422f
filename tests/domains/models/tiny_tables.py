"""Files of a few rows in the formats of published data sets, written by hand."""

import gzip
import io
import tarfile

import duckdb

ADULT_DATA = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, \
0, 40, United-States, <=50K
50, Private, 83311, Some-college, 10, Divorced, Sales, Unmarried, Black, Female, 0, 0, 13, South, >50K
28, ?, 338409, HS-grad, 9, Never-married, ?, Wife, Black, Female, 0, 0, 40, ?, <=50K
39, Private, 83311, HS-grad, 9, Divorced, Sales, Unmarried, Black, Female, 0, 0, 13, Mexico, <=50K

"""
ADULT_TEST = """|1x3 Cross validator
25, Private, 226802, Masters, 14, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, >50K.
25, Private, 226802, Masters, 14, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, >50K.
"""
HEART = {  # age, sex, cp, trestbps, chol, fbs, restecg, thalach, exang, oldpeak, slope, ca, thal, num
    "cleveland": "63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0\n"
    "67.0,1.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,3.0,3.0,2\n",
    "hungarian": "28,1,2,130,132,0,2,185,0,0,?,0,3,0\n",
    "switzerland": "32,1,1,95,0,?,0,127,0,.7,1,?,?,1\n38,0,4,105,0,?,0,166,0,2.8,1,0,3,4\n",
    "va": "63,1,4,140,260,0,1,112,1,3,2,?,7,2\n",
}
STUDENT = """school;sex;age;Mjob;G1;G2;G3
"GP";"F";18;"teacher";"0";"11";11
"GP";"M";17;"at_home";"9";"11";9
"MS";"M";15;"health";"12";"13";10
"""
COMPAS_NAMES = (
    "id,name,sex,age,age_cat,race,decile_score,priors_count,days_b_screening_arrest,c_charge_degree,"
    "is_recid,decile_score,priors_count,two_year_recid"
)
COMPAS_ROWS = """1,ann,Female,69,Greater than 45,Other,1,0,-1,F,0,1,0,0
2,bob,Male,34,25 - 45,African-American,3,5,30,F,1,3,5,1
3,cas,Male,24,Less than 25,Caucasian,4,4,-30,M,1,4,4,0
4,dan,Male,23,Less than 25,Caucasian,4,4,31,M,1,4,4,1
5,eve,Male,23,Less than 25,Caucasian,4,4,,M,1,4,4,1
6,flo,Male,23,Less than 25,Caucasian,4,4,0,O,1,4,4,1
7,gus,Male,23,Less than 25,Caucasian,4,4,0,M,-1,4,4,1
"""


def write_adult(folder, data=ADULT_DATA, test=ADULT_TEST, packed=False):
    for name, text in (("adult.data", data), ("adult.test", test)):
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)


def write_heart(folder, **other):
    for name, text in (HEART | other).items():
        (folder / f"processed.{name}.data").write_text(text)


def write_archive(folder, **files):
    with tarfile.open(folder / "dataset_location.tgz", "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def census_row(**other):
    """One line of the census as its 42 values, with some of them changed by place."""
    row = ["0"] * 42
    usual = {
        0: "39", 1: "State government", 4: "Bachelors degree(BA AB BS)", 7: "Never married",
        9: "Adm support including clerical", 10: "White", 12: "Male", 16: "2174", 17: "0", 24: "1700.09",
        34: "United-States", 40: "94", 41: "- 50000.",
    }  # fmt: skip
    for place, value in (usual | {int(key[1:]): value for key, value in other.items()}).items():
        row[place] = value
    return row


def write_census(folder, rows, parquet=False):
    if not parquet:
        (folder / "census-income.data").write_text("".join(f"{', '.join(row)}\n" for row in rows))
        return
    with duckdb.connect(":memory:") as database:
        numbers = (0, 16, 17, 40)
        typed = ", ".join(f"column_{i} {'BIGINT' if i in numbers else 'VARCHAR'}" for i in range(42))
        database.execute(f"CREATE TABLE it ({typed})")
        for row in rows:
            database.execute(f"INSERT INTO it VALUES ({', '.join('?' * 42)})", row)
        database.execute(f"COPY it TO '{folder / 'census-income.data.parquet'}'")
