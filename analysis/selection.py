"""What a figure draws: a sweep's specification, its planned trials, and those of them that results.h5 holds."""

import functools
import json
import pathlib
import shlex
import tomllib

import pandas as pd

from analysis import headlab, results
from analysis.reductions import ARCHITECTURE, RATE, SEED, FigureError, cell_axes, cell_curves, one_trial_a_seed

DROPOUT = "model.dropout"


class Sweep:
    """The trials of a folder that its last plan names, or all if there is no plan.

    trials: indexed by id in the plan's order, with status done, diverged, failed or pending. unnamed: what is pending
    without a known place in the grid.
    """

    def __init__(self, folder, specification, settings=None):
        """folder: of results.h5 and plan.json. specification: TOML. FigureError if trials are not there or no grid.

        settings: {name: {key: value}}: trials with these values go by that name, the last that fits, instead of their
        architecture's.
        """
        self.path = pathlib.Path(folder) / "results.h5"
        self.specification = tomllib.loads(specification)
        self.name = self.specification["name"]
        self.title = self.specification.get("title", self.name)
        self.x = x_axis(self.specification)
        if not self.path.is_file():
            raise FigureError(f"{self.path}: must be there: run the sweep first, or name its folder")
        known = headlab.load(self.path)
        known = known.assign(status=known["status"].replace("interrupted", "pending"))
        place = [ARCHITECTURE, self.x, RATE, SEED]
        missing = [key for key in place if key not in known]
        if missing:
            raise FigureError(f"{self.path}: trials must have {', '.join(missing)}")
        self.plan = _plan(self.path.with_name("plan.json"))
        planned = _planned(known, self.plan)
        placed = planned[place].notna().all(axis=1)
        self.trials = _named(planned[placed].astype({key: known[key].dtype for key in place}), settings or {})
        self.unnamed = planned.index[~placed].tolist()
        one_trial_a_seed(self.trials, cell_axes(self.x), results.config_keys(self.path))

    @property
    def budget(self):
        """smoke, small or paper: that of the folder's last plan; none if that is not known."""
        words = shlex.split(self.plan.get("command_line", ""))
        named = [b for a, b in zip(words, words[1:]) if a == "--budget"]
        named += [word.removeprefix("--budget=") for word in words if word.startswith("--budget=")]
        return self.plan.get("budget") or (named[0] if named else None)

    def require_budget(self, wanted):
        """FigureError if the plan is known to be another budget's."""
        if wanted and self.budget and wanted != self.budget:
            raise FigureError(f"[{self.name}] the plan in {self.path.parent} must be of budget {wanted}, is of "
                              f"{self.budget}: run that sweep (without RUN=0), or draw with BUDGET={self.budget}")

    @property
    def with_dropout(self):
        """Whether some finished trial trained with dropout."""
        return DROPOUT in self.finished and bool((self.finished[DROPOUT].fillna(0) > 0).any())

    @property
    def finished(self):
        return self.trials[self.trials["status"].isin(["done", "diverged"])]

    def curves(self, measure):
        """cell_curves of a measure as headlab.epochs names it. FigureError if the results have none."""
        if measure not in self.epochs:
            raise FigureError(f"{self.path}: must hold {measure}")
        return cell_curves(self.trials, self.epochs, measure, self.x)

    @functools.cached_property
    def epochs(self):
        return headlab.epochs(self.path)

    def pending_cells(self):
        """A line a cell with its pending seeds, then one a trial without a place."""
        pending = self.trials[self.trials["status"] == "pending"]
        groups = pending.groupby([ARCHITECTURE, self.x, RATE], sort=False)[SEED]
        cells = [f"{a}, {self.x} {x:g}, {RATE} {rate:g}: seed {', '.join(f'{s:g}' for s in seeds)}"
                 for (a, x, rate), seeds in groups]
        return cells + [f"trial {name}" for name in self.unnamed]


def x_axis(specification):
    """The one key of [grid] besides architecture, learning rate and seed, or the first of [zip]."""
    grid, zipped = _flat(specification.get("grid", {})), _flat(specification.get("zip", {}))
    axes = [key for key in list(grid) + list(zipped)[:1] if key not in (ARCHITECTURE, RATE, SEED)]
    if len(axes) != 1:
        raise FigureError(f"{specification['name']}: heat maps need one axis beside {ARCHITECTURE}, {RATE} and {SEED}; "
                          f"the grid has {', '.join(axes) or 'none'}")
    return axes[0]


def _named(trials, settings):
    """Puts a setting's name in the place of the architecture of its trials."""
    names = trials[ARCHITECTURE].copy()
    for name, values in settings.items():
        names[(trials[list(values)] == pd.Series(values)).all(axis=1)] = name
    return trials.assign(**{ARCHITECTURE: names})


def _plan(path):
    """What plan.json holds, nothing if it is not there. FigureError if it is not a plan."""
    if not path.exists():
        return {}
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
        if "ids" in plan or "trials" in plan:
            return plan
    except (ValueError, TypeError):
        pass
    raise FigureError(f"{path}: not a plan as headlab writes it; start the sweep again, which writes it anew")


def _planned(known, plan):
    """A row a planned trial. plan: of plan.json, which has either ids or trials with id and axes (key to value)."""
    if not plan:
        return known
    planned = plan.get("trials") or [{"id": name} for name in plan["ids"]]
    trials = known.reindex(pd.Index([trial["id"] for trial in planned], name="id"))
    axes = pd.DataFrame([trial.get("axes", {}) for trial in planned], index=trials.index)
    for key in axes:
        trials[key] = trials[key].where(trials[key].notna(), axes[key]) if key in trials else axes[key]
    return trials.assign(status=trials["status"].fillna("pending"))


def _flat(table, prefix=""):
    """{"model": {"dim": 8}} to {"model.dim": 8}."""
    flat = {}
    for key, value in table.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat
