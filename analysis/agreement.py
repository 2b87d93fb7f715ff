"""A sweep's cells against the published ones (analysis/published)."""

import pathlib

import numpy as np
import pandas as pd

from analysis.reductions import ARCHITECTURE, RATE, FigureError

DIM = "model.dim"
FILES = {"mode": "mode_model_dim.csv", "argmin_first_argmax": "cases_model_dim_bert.csv"}
CURVES = {"mode": "mode_learning_curves.csv"}
MARGIN, FEWEST_SEEDS = 0.05, 2


def published(task, metric="train_accuracy"):
    """best_min, best_mean and best_max of a metric, a row a cell, indexed by (architecture, model.dim, k): rate .3^k."""
    if task not in FILES:
        raise FigureError(f"[agreement] numbers are published for {', '.join(FILES)}, not for {task}")
    table = pd.read_csv(pathlib.Path(__file__).with_name("published") / FILES[task])
    table = table[table["metric"] == metric]
    cells = table.assign(**{ARCHITECTURE: table["model"].str.lower(), DIM: table["model_dim"],
                            "k": exponent(table["learning_rate"])})
    return cells.set_index([ARCHITECTURE, DIM, "k"])[["best_min", "best_mean", "best_max"]]


def published_curves(task):
    """min, mean and max over runs of the training accuracy, indexed by (architecture, model.dim, k, epoch); None without any."""
    if task not in CURVES:
        return None
    table = pd.read_csv(pathlib.Path(__file__).with_name("published") / CURVES[task])
    cells = table.assign(**{ARCHITECTURE: table["model"].str.lower(), DIM: table["model_dim"],
                            "k": exponent(table["learning_rate"])})
    named = cells.rename(columns={f"train_accuracy_{name}": name for name in ("min", "mean", "max")})
    return named.set_index([ARCHITECTURE, DIM, "k", "epoch"])[["min", "mean", "max"]].sort_index()


def curves_of_both(curves, theirs):
    """The published curves with our learning rates for k, of the cells that have both; empty if there are none.

    curves: of cell_curves.
    """
    known = curves["mean"].dropna().reset_index()[[ARCHITECTURE, DIM, RATE]].drop_duplicates()
    ours = known.assign(k=exponent(known[RATE].to_numpy()))
    both = theirs.reset_index().merge(ours, on=[ARCHITECTURE, DIM, "k"])
    return both.set_index([ARCHITECTURE, DIM, RATE, "epoch"])[["min", "mean", "max"]].sort_index()


def exponent(rates):
    """k of rates 0.3^k that may be rounded. FigureError if one is no such power."""
    powers = np.log(np.asarray(rates, float)) / np.log(0.3)
    whole = np.rint(powers)
    if (np.abs(powers - whole) > 1e-3).any():
        raise FigureError(f"[agreement] {RATE} must be a power of 0.3, is {rates[np.abs(powers - whole).argmax()]}")
    return whole.astype(int)


def compared(cells, theirs):
    """The cells of which both have a value and ours at least two finished seeds.

    A cell agrees when our mean, the maximum over epochs of the mean over seeds, lies within .05 of the range of the
    published runs, [best_min, best_max]. difference: ours less the published mean; outside: how far it is from there.
    cells: best_epoch with the counts of cell_counts, indexed by (architecture, model.dim, learning rate).
    """
    ours = cells[(cells["finished"] >= FEWEST_SEEDS) & cells["mean"].notna()].reset_index()
    ours["k"] = exponent(ours[RATE])
    both = ours.merge(theirs.reset_index(), on=[ARCHITECTURE, DIM, "k"], validate="one_to_one")
    below, above = both["best_min"] - MARGIN - both["mean"], both["mean"] - both["best_max"] - MARGIN
    return both.assign(difference=both["mean"] - both["best_mean"], outside=np.maximum(below, above).clip(lower=0),
                       agrees=np.maximum(below, above) <= 0).set_index([ARCHITECTURE, DIM, RATE])


def shares(table):
    """How many cells of each architecture, and of all, are compared and agree."""
    counts = table.groupby(ARCHITECTURE, sort=False)["agrees"].agg(["size", "sum"])
    counts.columns = ["compared", "agree"]
    counts.loc["all"] = counts.sum()
    return counts.assign(share=counts["agree"] / counts["compared"])
