"""What the figures of `headlab analytic` share: its CSV, and the files that are written."""

import argparse
import pathlib
import sys

import pandas as pd

from analysis import sidecars, style
from analysis.figures.sweep import formats
from analysis.reductions import FigureError

# Aggregations that are no architecture: colour, dashes, mark. softmax looks like mte, which has it.
OTHERS = {"softmax": "mte", "mean": ("#56B4E9", (0, (1, 1)), "P"), "normalised": ("#000000", (0, (3, 1, 1, 1)), "*")}


def look(aggregation):
    other = OTHERS.get(aggregation, aggregation)
    if isinstance(other, str):
        return style.look(other, [other])
    return dict(zip(("color", "linestyle", "marker"), other))


def run(name, columns, draw, words, description):
    """Reads --results, a CSV that must have the columns, and writes OUT/NAME as pictures, CSV and JSON. draw: of a table."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--results", type=pathlib.Path, required=True, help=f"the CSV of headlab analytic {name}")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the figure")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    parser.add_argument("--style", help="a matplotlib style file, applied on top")
    options = parser.parse_args(words)
    try:
        style.use(options.style)
        table = read(options.results, columns)
        options.out.mkdir(parents=True, exist_ok=True)
        style.save(draw(table), options.out / name, options.formats)
        sidecars.write_table(options.out / f"{name}.csv", table.set_index(table.columns[0]))
        sidecars.write_json(options.out / f"{name}.json", {
            "figure": name, "results": sidecars.origin_of(options.results), **sidecars.drawing()})
        print(f"{options.out / name}.{{{','.join(options.formats + ['csv', 'json'])}}}")
    except (FigureError, OSError) as error:
        sys.exit(f"error: {error}")


def read(path, columns):
    """FigureError if it is not such a table."""
    try:
        table = pd.read_csv(path, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise FigureError(f"{path}: is not CSV of headlab analytic ({error})") from error
    missing = [name for name in columns if name not in table]
    if missing or table.empty:
        raise FigureError(f"{path}: must have rows and the columns {', '.join(columns)}; has no {', '.join(missing) or 'rows'}")
    return table
