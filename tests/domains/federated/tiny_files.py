"""Files of a few rows, written by hand."""

from io import BytesIO

import duckdb
import numpy as np
from PIL import Image

TEXT = "id,label,x,when,y,is_train\n7,cat,1.5,2020-01-02,-2,true\n8,dog,0.25,2021-03-04,3,false\n"


def write_csv(folder, text=TEXT, name="rows.csv"):
    (folder / name).write_text(text)
    return {"source": name}


def write_npz(folder, name="rows.npz", **arrays):
    np.savez(folder / name, **arrays)
    return {"source": name}


def write_parquet(folder, query, name="rows.parquet", parameters=None):
    with duckdb.connect(":memory:") as database:
        database.execute("CREATE TABLE it AS " + query, parameters)
        database.execute(f"COPY it TO '{folder / name}'")
    return {"source": name}


def encoded(pixels, kind="PNG", mode=None):
    held = BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).convert(mode or "RGB").save(held, kind)
    return held.getvalue()
