"""What a figure draws: a sweep's specification, its planned trials, and those of them that results.h5 holds."""

import json
import pathlib
import tomllib

import pandas as pd

from analysis import results
from analysis.reductions import ARCHITECTURE, RATE, SEED, FigureError, one_trial_a_seed


class Sweep:
    """trials: planned ones, indexed by id in the plan's order, with status done, diverged, failed or pending."""

    def __init__(self, path, specification, plan=None):
        """path: results.h5. specification: TOML. plan: what `headlab sweep --dry-run --json` prints, parsed; without
        one, all trials of the file are taken as planned. FigureError if they do not make one grid."""
        self.path = pathlib.Path(path)
        self.specification = tomllib.loads(specification)
        self.name = self.specification["name"]
        self.title = self.specification.get("title", self.name)
        self.x = x_axis(self.specification)
        known = results.trials(path) if self.path.exists() else pd.DataFrame(columns=["status"])
        self.unnamed = 0 if plan else results.attributes(path).get("count.planned", len(known)) - len(known)
        self.trials = _planned(known, plan)
        missing = [key for key in (ARCHITECTURE, self.x, RATE, SEED) if key not in self.trials]
        if missing:
            raise FigureError(f"{self.path}: trials must have {', '.join(missing)}")
        one_trial_a_seed(self.trials, self.x, results.config_keys(path) if len(known) else [])

    @property
    def finished(self):
        return self.trials[self.trials["status"].isin(["done", "diverged"])]

    def curve(self, name, relative_length=None):
        """(trial, epoch) of a variable, at one relative length if it has that dimension."""
        try:
            curve = results.curves(self.path, name)
            return curve if relative_length is None else curve.sel(relative_length=relative_length)
        except KeyError as error:
            raise FigureError(f"{self.path}: must hold {name} at relative length {relative_length}") from error

    def pending_cells(self):
        """A line a cell with its pending seeds."""
        pending = self.trials[self.trials["status"] == "pending"]
        groups = pending.groupby([ARCHITECTURE, self.x, RATE], sort=False)[SEED]
        return [f"{a}, {self.x} {x:g}, {RATE} {rate:g}: seed {', '.join(f'{s:g}' for s in seeds)}"
                for (a, x, rate), seeds in groups]


def x_axis(specification):
    """The one key of [grid] besides architecture, learning rate and seed, or the first of [zip]."""
    grid, zipped = _flat(specification.get("grid", {})), _flat(specification.get("zip", {}))
    axes = [key for key in list(grid) + list(zipped)[:1] if key not in (ARCHITECTURE, RATE, SEED)]
    if len(axes) != 1:
        raise FigureError(f"{specification['name']}: heat maps need one axis beside {ARCHITECTURE}, {RATE} and {SEED}; "
                          f"the grid has {', '.join(axes) or 'none'}")
    return axes[0]


def read_plan(path):
    """The plan that `headlab sweep --dry-run --json` printed into a file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _planned(known, plan):
    known = known.assign(status=known["status"].replace("interrupted", "pending"))
    if plan is None:
        return known
    axes = pd.DataFrame([{"id": t["id"], **t["axes"]} for t in plan["trials"]]).set_index("id")
    trials = known.reindex(axes.index)
    for key in axes:  # of trials that are not there yet, too
        trials[key] = axes[key]
    return trials.assign(status=trials["status"].fillna("pending"))


def _flat(table, prefix=""):
    """{"model": {"dim": 8}} to {"model.dim": 8}."""
    flat = {}
    for key, value in table.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat
