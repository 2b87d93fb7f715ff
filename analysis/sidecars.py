"""What lies beside a figure: the numbers it draws as CSV, and where they come from as JSON."""

import json
import platform
import shlex
import sys

import h5py
import matplotlib
import numpy
import pandas
import xarray

from analysis import results
from analysis.reductions import FINISHED


def write_table(path, table):
    """CSV with six significant digits; the same numbers give the same bytes."""
    table.reset_index().to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def write_origin(path, sweep, **facts):
    """JSON: the results' hash, the plan's budget and command, versions, seeds, processors, the figure's own command.

    facts: what the caller knows of the figure. What is not known is null.
    """
    origin = {
        **facts,
        "sweep": sweep.name,
        "title": sweep.title,
        "budget": sweep.budget,
        "plan": sweep.plan.get("command_line"),
        "results": origin_of(sweep.path),
        **of_trials(sweep.trials),
        **drawing(h5py, xarray),
    }
    write_json(path, origin)


def origin_of(path):
    return {"path": str(path), "sha256": results.digest(path)}


def of_trials(trials):
    """How many there are of each status; seeds, processors and provenance of those that finished."""
    finished = trials[trials["status"].isin(FINISHED)]
    provenance = {column.split(".", 1)[1]: sorted(finished[column].dropna().astype(str).unique())
                  for column in finished if column.startswith("provenance.") and not _of_one_trial(column)}
    return {
        "trials": {"planned": len(trials), **trials["status"].value_counts().sort_index().to_dict()},
        "seeds": sorted(int(seed) for seed in finished["seed"].unique()),
        "processors": provenance.pop("processor", []),
        "provenance": provenance,
    }


def drawing(*more):
    """The versions of what draws, `more` modules included, and the figure's own command."""
    modules = sorted((matplotlib, numpy, pandas, *more), key=lambda module: module.__name__)
    return {"versions": {"python": platform.python_version(), **{m.__name__: m.__version__ for m in modules}},
            "command": shlex.join(sys.orig_argv)}


def write_json(path, origin):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(origin, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _of_one_trial(column):
    return column.split(".", 1)[1].split(".")[0] in ("start", "end", "seconds", "command", "command_line")
