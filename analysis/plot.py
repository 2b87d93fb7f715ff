"""Draws any sweep, one's own too, from the command line: no script to write.

lines        a measure over --x, a line a --hue, a panel a --col and --row
heatmap      over --x and --down, a panel a --col
curves       a measure over epochs
sensitivity  a measure over the learning rate
sorted       all cells from the best to the worst, a line a --hue; with the test of the one that validation chose

A measure is a column of headlab.load (test_accuracy, seconds...) or of headlab.epochs (train_accuracy,
validation_accuracy@0.5, case_accuracy.first...), which is that of the best epoch; in curves, of each.

example: python3 -m analysis.plot lines results/mode-model-dim --x model.dim --select best-rate --out figures/dim
"""

import argparse
import difflib
import pathlib
import sys

import h5py
import numpy as np
import pandas as pd
import xarray

from analysis import headlab, heat_maps, plots, reductions, sidecars, style
from analysis.figures.sweep import formats
from analysis.reductions import ARCHITECTURE, RATE, SEED, FigureError
from analysis.results import DamagedError

HUE = {"lines": ARCHITECTURE, "curves": ARCHITECTURE, "sensitivity": ARCHITECTURE, "sorted": ARCHITECTURE}
MOST_PANELS = 100


def main(words=None):
    options = arguments(words)
    try:
        style.use(options.style)
        trials, long = read(options)
        table = statistics(options, trials, long)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        figure = draw(options, trials, long, table)
        style.save(figure, options.out, options.formats)
        sidecars.write_table(f"{options.out}.csv", table)
        sidecars.write_json(f"{options.out}.json", {
            "figure": options.kind, "measure": options.y, "select": options.select, "band": options.band,
            "results": [sidecars.origin_of(path) for path in headlab.files(*options.results)],
            **sidecars.of_trials(trials), **sidecars.drawing(h5py, xarray)})
        print(f"{options.out}.{{{','.join(options.formats + ['csv', 'json'])}}}")
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")


def arguments(words):
    parser = argparse.ArgumentParser(prog="python3 -m analysis.plot", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("lines", "heatmap", "curves", "sensitivity", "sorted"))
    parser.add_argument("results", nargs="+", help="results.h5 or a sweep's folder")
    parser.add_argument("--x", metavar="KEY", help="from left to right (lines, heatmap)")
    parser.add_argument("--down", metavar="KEY", default=RATE, help=f"heatmap: from the top, falling ({RATE})")
    parser.add_argument("--hue", metavar="KEY", help=f"a line a value ({ARCHITECTURE}; none: one line)")
    parser.add_argument("--col", metavar="KEY", help=f"a panel a value (heatmap: {ARCHITECTURE})")
    parser.add_argument("--row", metavar="KEY", help="a row of panels a value")
    parser.add_argument("--y", metavar="MEASURE", help="what is drawn (train_accuracy; sorted: validation_accuracy)")
    parser.add_argument("--where", metavar="KEY=V[,V]", action="append", default=[], help="only these trials")
    parser.add_argument("--select", choices=("best-rate",), help="only the learning rate of the best validation accuracy")
    parser.add_argument("--band", choices=tuple(plots.BANDS), default="minmax", help="over seeds (minmax)")
    parser.add_argument("--title", help="the heading")
    parser.add_argument("--style", help="a matplotlib style file, applied on top")
    parser.add_argument("--partial", action="store_true", help="draw though trials are pending")
    parser.add_argument("--out", metavar="STEM", type=pathlib.Path, default=pathlib.Path("plot"),
                        help="files are STEM.png, STEM.csv... (plot)")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    options = parser.parse_args(words)
    options.hue = None if options.hue == "none" else options.hue or HUE.get(options.kind)
    options.y = options.y or ("validation_accuracy" if options.kind == "sorted" else "train_accuracy")
    settle_axes(options)
    return options


def settle_axes(options):
    """What x, col and down are where the kind of plot says so."""
    options.x = {"curves": "epoch", "sensitivity": RATE}.get(options.kind, options.x)
    if options.kind == "heatmap":
        options.hue, options.col = None, options.col or ARCHITECTURE
    else:
        options.down = None
    if options.kind == "sorted":
        options.x = None


def read(options):
    """The trials and their epochs that --where and --select leave. FigureError."""
    if options.kind in ("lines", "heatmap") and not options.x:
        raise FigureError(f"{options.kind} needs --x, what is drawn from left to right")
    trials, long = headlab.load(*options.results), headlab.epochs(*options.results)
    waiting = headlab.pending(*options.results)
    if waiting and not options.partial:
        raise FigureError(f"all planned trials must have run, {len(waiting)} are pending: go on with the sweep, or draw "
                          "what is there with --partial")
    for option in ("x", "down", "hue", "col", "row"):
        key = getattr(options, option)
        if key and key != "epoch":
            known(option, key, trials)
    known("y", options.y, [c for table in (trials, long) for c in table if pd.api.types.is_numeric_dtype(table[c])])
    for text in options.where:
        trials = where(trials, text)
    if options.select:
        place = [key for key in axes(options) if key != "epoch"]
        if RATE in place:
            raise FigureError(f"--select best-rate leaves one {RATE} of each line and panel, which cannot be an axis")
        trials = headlab.at_best_rate(trials, long[long["id"].isin(trials.index)], place)
    panels = [trials[key].nunique() for key in (options.col, options.row) if key]
    if np.prod(panels) > MOST_PANELS:
        raise FigureError(f"{MOST_PANELS} panels at most, are {np.prod(panels)}: keep some values by --where")
    return trials, long[long["id"].isin(trials.index)]


def known(option, name, names):
    """FigureError with the nearest name if there is none of this."""
    if name not in names:
        near = difflib.get_close_matches(name, list(names), n=1, cutoff=0)
        raise FigureError(f"--{option} {name}: there is no such column{f'; the nearest is {near[0]}' if near else ''}")


def where(trials, text):
    key, _, values = text.partition("=")
    key = key.strip()
    known("where", key, trials)
    wanted = {value.strip() for value in values.split(",")}
    kept = trials[[str(v) in wanted or written(v) in wanted for v in trials[key]]]
    if kept.empty:
        there = ", ".join(sorted({written(v) for v in trials[key]}))
        raise FigureError(f"--where {text}: no trial has this; {key} is one of {there}")
    return kept


def written(value):
    return value if isinstance(value, str) else f"{value:.12g}"


def axes(options):
    """The keys that name a place of the plot."""
    keys = [options.x, options.down, options.hue, options.col, options.row]
    return list(dict.fromkeys(key for key in keys if key))


def statistics(options, trials, long):
    """over_seeds at each place; of measures of epochs those of the best epoch, in curves of each."""
    place = axes(options)
    if options.kind == "sorted":
        place += [key for key in varying(trials) if key not in place]
    try:
        if options.y in long and options.y not in trials:
            curves = headlab.over_seeds(long, options.y, [*place, "epoch"] if "epoch" not in place else place)
            return curves if options.kind == "curves" else headlab.best_epoch(curves)
        if options.kind == "curves":
            raise FigureError(f"--y {options.y}: curves need a measure of each epoch, such as train_accuracy")
        return headlab.over_seeds(trials, options.y, place)
    except FigureError as error:
        raise FigureError(f"{error}: draw that too (--hue, --col, --row), let --select best-rate choose, or keep one "
                          "value by --where") if "differ in" in str(error) else error from None


def varying(trials):
    """The configuration keys in which trials differ, but the seed."""
    return [key for key in trials if "." in key and key.split(".")[0] in ("task", "model", "init", "train")
            and trials[key].astype(str).nunique() > 1 and key != SEED]


def draw(options, trials, long, table):
    what = style.label_of(options.y)
    title = options.title or " and ".join(dict.fromkeys(pathlib.Path(p).resolve().name for p in options.results))
    said = f"{what[0].upper()}{what[1:]}" + (", best epoch" if options.y in long and options.kind != "curves" else "")
    if options.select:
        said += "; learning rate chosen by validation accuracy"
    if options.kind == "heatmap":
        counts = flags(trials, axes(options))
        return heat_maps.plain(table.join(counts), options.x, title, f"{said}, mean of {reductions.seeds_of(counts)}",
                               options.down, options.col, options.y)
    shared = {"measure": options.y, "hue": options.hue, "col": options.col, "row": options.row,
              "chance": chance(trials) if "accuracy" in options.y else None}
    if options.kind == "sorted":
        return plots.sorted_cells(table, title, said, **shared, tests=tests(options, trials, long)).page.figure
    return plots.lines(table, options.x, title, said, band=options.band, **shared).page.figure


def tests(options, trials, long):
    """The test accuracy of each hue's one cell that validation chose; None where there is more than one line a hue."""
    if options.hue is None or options.col or options.row or "test_accuracy" not in trials:
        return None
    return headlab.tests_of_chosen(trials, long, options.hue, [options.hue, *varying(trials)])


def chance(trials):
    """The one chance accuracy of the trials, None if there is no one."""
    levels = reductions.training_chance(trials).dropna().unique() if "chance_accuracy" in trials else []
    return levels[0] if len(levels) == 1 else None


def flags(trials, place):
    """How many trials of each place finished, failed, diverged or are pending."""
    status = trials["status"]
    columns = {name: status.eq(name).astype(int) for name in ("failed", "diverged", "pending")}
    table = trials[place].assign(finished=status.isin(reductions.FINISHED).astype(int), **columns,
                                 chance_accuracy_training=chance(trials))
    return table.groupby(place, sort=True).agg({c: "first" if "chance" in c else "sum" for c in table if c not in place})


if __name__ == "__main__":
    main()
