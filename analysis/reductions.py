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


def over_seeds(table, value, by):
    """A row a group: seeds, mean, min, max, sd and ci95 of a column over the group's finished trials.

    NaN in groups of which some trial has no value, so that a mean never gets better by a seed that diverged. sd: of a
    sample (n - 1), NaN of one seed; ci95: half the width of the mean's 95 % confidence interval, Student's t.
    table: with the columns `value`, `by`, seed and status, trials of one group differ in the seed alone (FigureError).
    """
    finished = table[table["status"].isin(FINISHED)]
    one_trial_a_seed(finished, by)
    groups = finished.groupby(by, sort=True)[value]
    found = groups.agg(["size", "count", "mean", "min", "max", "std"]).rename(columns={"std": "sd", "size": "seeds"})
    found["ci95"] = [student(n - 1) * sd / n**0.5 for n, sd in zip(found["seeds"], found["sd"])]
    complete = found.pop("count") == found["seeds"]
    return found[["seeds"]].join(found[["mean", "min", "max", "sd", "ci95"]].where(complete))


def student(freedom, share=0.95):
    """t for which a share of Student's distribution lies in -t..t; freedom: whole, NaN if below 1."""
    if freedom < 1:
        return np.nan
    low, high = 0.0, np.pi / 2  # of the angle whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, int(freedom)) < share else (low, middle)
    return freedom**0.5 * np.tan(low)


def _within(angle, freedom):
    """The share of Student's distribution up to an angle, in closed form (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    odd, cosine = freedom % 2, np.cos(angle)
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(1 + odd, freedom, 2):
        total += term
        term *= k / (k + 1) * cosine**2
    return 2 / np.pi * (angle + np.sin(angle) * total) if odd else np.sin(angle) * total


def cell_axes(x):
    """The columns that name a cell."""
    return [ARCHITECTURE, x, RATE]


def one_trial_a_seed(trials, by, keys=None):
    """FigureError if two trials share all of `by` and the seed; it names the keys in which they differ.

    keys: of the configuration; without them all columns named like one.
    """
    place = [*by, SEED]
    twice = trials[trials.duplicated(place, keep=False)]
    if twice.empty:
        return
    first = twice[(twice[place] == twice[place].iloc[0]).all(axis=1)]
    keys = [k for k in trials if "." in k and not k.startswith("provenance.")] if keys is None else keys
    differ = [k for k in keys if k in first and k not in place and first[k].astype(str).nunique() > 1]
    values = "; ".join(f"{k} = {', '.join(map(str, first[k].unique()))}" for k in differ)
    named = [key for key in place if key != "epoch"]
    raise FigureError(f"trials must differ in {', '.join(named)} alone, also do in {values or 'nothing'}")


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


def cell_curves(trials, long, measure, x):
    """A row a cell and epoch: over_seeds of a measure of the cell's finished trials; NaN where a cell has none.

    trials: indexed by id, with the columns of cell_axes(x), seed and status. long: headlab.epochs of them.
    """
    own = trials[[*cell_axes(x), SEED, "status"]]
    rows = long[["id", "epoch", measure]].join(own, on="id", how="inner")
    cells = cell_counts(trials, x).index
    every = [(*cell, epoch) for cell in cells for epoch in sorted(long["epoch"].unique())]
    index = pd.MultiIndex.from_tuples(every, names=[*cell_axes(x), "epoch"])
    return over_seeds(rows, measure, index.names).reindex(index)


def best_epoch(curves):
    """The greatest of min, of mean and of max over epochs; NaN where no epoch has a value. curves: of over_seeds.

    This is the reduction of the published numbers: the maximum over epochs of the minimum, the mean and the maximum
    over seeds, each in an epoch of its own; not the mean of every seed's best epoch. epoch, seeds, sd and ci95 are of
    the (first) epoch with the greatest mean.
    """
    places = [name for name in curves.index.names if name != "epoch"]
    found = curves[["min", "mean", "max"]].groupby(places, sort=True).max()
    ordered = curves.reset_index("epoch").sort_values("mean", ascending=False, kind="stable")
    first = ordered[~ordered.index.duplicated()]
    return found.join(first[["epoch", "seeds", "sd", "ci95"]].where(first["mean"].notna()))


def chosen_rates(best_validation):
    """The learning rate of the greatest mean, of equal ones the greater rate; a row for each place of its other levels.

    best_validation: best_epoch of the validation accuracy at the task's own length. Places without any value are left
    out.
    """
    known = best_validation["mean"].dropna().reset_index()
    ordered = known.sort_values(["mean", RATE], ascending=False, kind="stable")
    return ordered.groupby([name for name in best_validation.index.names if name != RATE], sort=True)[RATE].first()
