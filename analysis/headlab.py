"""Results for your own eyes: trials, epochs and data sets of one sweep or several, and what figures make of them.

    trials = headlab.load("results/mode-model-dim")                       # a row a trial
    long = headlab.epochs("results/mode-model-dim")                       # a row a trial and epoch
    curves = headlab.over_seeds(long, "train_accuracy", [*headlab.CELL, "model.dim", "epoch"])
    best = headlab.best_epoch(curves)                                     # a row a cell
"""

import json
import pathlib

import numpy as np
import pandas as pd
import xarray as xr

from analysis import results
from analysis.reductions import (ARCHITECTURE, FINISHED, RATE, SEED, FigureError, best_epoch, chosen_rates,  # noqa: F401
                                 one_trial_a_seed, over_seeds, student)

LENGTH, CASE_LENGTH, CASES, CORRECT, TOTAL = "relative_length", "case_length", "case_", "case_correct_", "case_total_"
CELL = (ARCHITECTURE, RATE)
VALIDATION = "validation_accuracy"


def files(*paths):
    """The results.h5 of each path, which is one or a folder with one. FigureError if it is not there."""
    found = [pathlib.Path(path) / "results.h5" if pathlib.Path(path).is_dir() else pathlib.Path(path) for path in paths]
    for path in found:
        if not path.is_file():
            raise FigureError(f"{path}: must be there: run the sweep first, or name its folder")
    return found


def load(*paths):
    """A row a trial, indexed by id: configuration, status, provenance, best_*, last_*, test_accuracy...

    Values at a relative length other than 1 have it in their name: test_accuracy@0.5. paths: results.h5, a sweep's
    folder, or several; a trial that is in several is taken once. FigureError, DamagedError.
    """
    tables = []
    for path in files(*paths):
        with _opened(path) as data:
            more = {name: values.values for name, values in _columns(data, ("trial",))}
        tables.append(results.trials(path).assign(**more))
    table = pd.concat(tables)
    return table[~table.index.duplicated()]


def epochs(*paths):
    """A row a trial and epoch: id, epoch, configuration, status, and all that is measured each epoch, as load names it.

    Shares of cases named rightly are case_accuracy.NAME. Epochs that a diverged trial did not finish are NaN.
    """
    tables = []
    for path in files(*paths):
        keys = results.trials(path)[results.config_keys(path) + ["status"]]
        with _opened(path) as data:
            values = {name: array.values.ravel() for name, array in (*_columns(data, ("trial", "epoch")), *_cases(data))}
            index = pd.MultiIndex.from_product([data["id"].values, data["epoch"].values], names=["id", "epoch"])
        tables.append(pd.DataFrame(values, index=index).join(keys, on="id"))
    table = pd.concat(tables)
    table = table[~table.index.duplicated()].reset_index()
    return table[table["epoch"] <= table["train.epochs"]] if "train.epochs" in table else table


def dataset(*paths):
    """All as one xarray.Dataset, in memory; its dimension trial has the ids as coordinate."""
    parts, seen = [], set()
    for path in files(*paths):
        with _opened(path) as data:
            part = data.load().assign_coords(trial=data["id"].values)
        part = part.isel(trial=[i for i, name in enumerate(part["trial"].values) if name not in seen])
        seen |= set(part["trial"].values)
        parts.append(part)
    return parts[0] if len(parts) == 1 else xr.merge([part.reset_coords() for part in parts], combine_attrs="drop_conflicts")


def at_best_rate(table, trial_epochs, by, validation=VALIDATION):
    """The rows of a table whose learning rate is the best of its group by the validation at relative length 1.

    The best: see chosen_rates; never by test or training. table: of load or epochs; trial_epochs: of epochs; by: what
    names a group, for example architecture and model dimension, all that trials differ in but rate and seed.
    """
    place = [*by, RATE]
    rates = chosen_rates(best_epoch(over_seeds(trial_epochs, validation, [*place, "epoch"])))
    best = pd.MultiIndex.from_frame(rates.reset_index()[place])
    return table[pd.MultiIndex.from_frame(table[place]).isin(best)]


def tests_of_chosen(trials, trial_epochs, hue, cell, validation=VALIDATION, test="test_accuracy"):
    """over_seeds of the test accuracy of each hue's one cell, that of the best validation at relative length 1.

    trials: of load; trial_epochs: of epochs; cell: what names a cell, hue among it. Indexed by hue.
    """
    cell = list(dict.fromkeys(cell))
    best = best_epoch(over_seeds(trial_epochs, validation, [*cell, "epoch"]))["mean"].dropna().reset_index()
    chosen = best.sort_values("mean", ascending=False, kind="stable").drop_duplicates(hue)
    own = trials[pd.MultiIndex.from_frame(trials[cell]).isin(pd.MultiIndex.from_frame(chosen[cell]))]
    return over_seeds(own, test, [hue])


def pending(*paths):
    """The ids of trials that the folders' last plans name and that have not ended."""
    missing = []
    for path in files(*paths):
        plan = path.with_name("plan.json")
        if plan.exists():
            content = json.loads(plan.read_text(encoding="utf-8"))
            planned = [trial["id"] for trial in content.get("trials", [])] or content.get("ids", [])
            status = results.trials(path)["status"]
            ended = set(status.index[status != "interrupted"])
            missing += [name for name in planned if name not in ended]
    return missing


def at_length(name, length):
    """A measure's name at a relative length: only others than 1 are written."""
    return name if length == 1 else f"{name}@{length:g}"


def _opened(path):
    return xr.open_dataset(results.verified(path), engine="h5netcdf")


def _columns(data, dims):
    """Names and arrays of the variables with these dimensions; of those with a relative length too, one for each."""
    for name in data.variables:
        variable = data[name]
        if variable.dims == dims and len(dims) > 1:
            yield name, variable
        elif variable.dims == (*dims, LENGTH) and not name.endswith("_order"):
            for length in variable[LENGTH].values:
                yield at_length(name, length), variable.sel({LENGTH: length})


def _cases(data):
    """The share of each case's sequences that are named rightly, of all tasks' cases; a name is one column."""
    shares = {}
    for correct in [name for name in data.variables if name.startswith(CORRECT)]:
        task = correct.removeprefix(CORRECT)
        with np.errstate(invalid="ignore"):
            share = data[correct] / data[TOTAL + task].where(data[TOTAL + task] > 0)
        for length in data[CASE_LENGTH].values:
            for case in data[CASES + task].values:
                name = at_length(f"case_accuracy.{case}", length)
                one = share.sel({CASE_LENGTH: length, CASES + task: case}, drop=True)
                shares[name] = shares[name].fillna(one) if name in shares else one
    return shares.items()
