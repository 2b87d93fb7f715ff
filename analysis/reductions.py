"""From the trials of a sweep to its cells: which trials belong to one, and what of theirs is shown.

A cell is one architecture at one place of the sweep's axis and one learning rate; its trials differ in the seed alone.
"""

import numpy as np
import pandas as pd

ARCHITECTURE, RATE, SEED = "model.architecture", "train.learning_rate", "seed"
BIAS = "task.case_bias"
FINISHED = ("done", "diverged")


class FigureError(Exception):
    """What must hold for a figure to be drawn, and what was given."""


def over_seeds(values):
    """Minimum, mean and maximum over seeds in each epoch: (seed, epoch) -> (3, epoch).

    NaN in epochs that some seed has no value for, so that a mean never gets better by a seed that diverged.
    """
    if len(values) == 0:
        return np.full((3, values.shape[1]), np.nan)
    return np.stack([values.min(axis=0), values.mean(axis=0), values.max(axis=0)])


def cell_axes(x):
    """The columns that name a cell."""
    return [ARCHITECTURE, x, RATE]


def one_trial_a_seed(trials, x, keys):
    """FigureError if two trials share cell and seed; it names the configuration keys in which they differ."""
    place = cell_axes(x) + [SEED]
    twice = trials[trials.duplicated(place, keep=False)]
    if twice.empty:
        return
    first = twice[(twice[place] == twice[place].iloc[0]).all(axis=1)]
    differ = [k for k in keys if k in first and k not in place and first[k].astype(str).nunique() > 1]
    values = "; ".join(f"{k} = {', '.join(map(str, first[k].unique()))}" for k in differ)
    raise FigureError(f"trials must differ in {', '.join(place)} alone, also do in {values or 'nothing'}")


def training_chance(trials):
    """The accuracy in training of the best guess that ignores the sequence; NaN where the file does not tell.

    Files without chance_accuracy_training tell it where training and evaluation sequences are alike.
    """
    known = trials["chance_accuracy"]
    if BIAS in trials:
        known = known.where(trials[BIAS].fillna(0) == 0)
    return trials["chance_accuracy_training"].fillna(known) if "chance_accuracy_training" in trials else known


def cell_counts(trials, x):
    """A row a cell: how many trials are planned, finished (done and diverged), diverged, failed, pending; chance.

    chance_accuracy is that of evaluation, chance_accuracy_training that of training, each only where it is known.
    """
    status = trials["status"]
    flags = trials[cell_axes(x)].assign(
        planned=1, finished=status.isin(FINISHED).astype(int),
        **{s: (status == s).astype(int) for s in ("diverged", "failed", "pending")})
    groups = flags.groupby(cell_axes(x), sort=True)
    counts = groups.sum()
    if "chance_accuracy" in trials:
        known = trials.assign(chance_accuracy_training=training_chance(trials))
        chances = ["chance_accuracy", "chance_accuracy_training"]
        counts[chances] = known.groupby(cell_axes(x), sort=True)[chances].first()
    return counts


def seeds_of(counts):
    """How many finished seeds the cells have that have any: "5 seeds", "2 to 3 seeds"."""
    numbers = sorted(set(counts["finished"]) - {0})
    text = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
    return f"{text} seed{'' if text == '1' else 's'}"


def cell_curves(trials, curve, x):
    """A row a cell and epoch: min, mean, max over the cell's finished seeds (see over_seeds).

    trials: a table indexed by id with the columns of cell_axes(x) and status. curve: (trial, epoch) with ids.
    """
    finished = trials[trials["status"].isin(FINISHED)]
    values = curve.sel(trial=list(finished.index)).transpose("trial", "epoch").values.astype(float)
    epochs = curve["epoch"].values
    tables = {}
    for cell in cell_counts(trials, x).index:
        rows = (finished[cell_axes(x)] == list(cell)).all(axis=1).to_numpy()
        tables[cell] = pd.DataFrame(over_seeds(values[rows]).T, index=pd.Index(epochs, name="epoch"),
                                    columns=["min", "mean", "max"])
    return pd.concat(tables, names=cell_axes(x))


def best_epoch(curves, x):
    """A row a cell: the greatest of min, of mean and of max over epochs; NaN where no epoch has a value.

    This is the reduction of the published numbers: the maximum over epochs of the minimum, the mean and the maximum
    over seeds, each in an epoch of its own; not the mean of every seed's best epoch. curves: see cell_curves.
    """
    return curves.groupby(cell_axes(x), sort=True).max()


def chosen_rates(best_validation, x):
    """The learning rate of each architecture at each place: the greatest mean, of equal ones the greater rate.

    best_validation: best_epoch of the validation accuracy at the task's own length. A series indexed by
    (architecture, x); those without any value are left out.
    """
    known = best_validation["mean"].dropna().reset_index()
    ordered = known.sort_values(["mean", RATE], ascending=False, kind="stable")
    return ordered.groupby([ARCHITECTURE, x], sort=True)[RATE].first()
