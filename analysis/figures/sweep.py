"""The figures of any sweep over one axis, architectures, learning rates and seeds.

Writes OUT/heat-map, -seeds and, where the task has them, -cases; learning-curves and -all; robustness, rate-sensitivity
and, where there is a test at another length, length: a picture a format, CSV, JSON each.
"""

import argparse
import pathlib
import sys

import pandas as pd

from analysis import heat_maps, learning_curves, reductions, robustness, sidecars, style
from analysis.reductions import FigureError
from analysis.results import DamagedError
from analysis.selection import Sweep

BEST = "maximum over epochs of the {} over seeds"
MOST_NAMED = 20
CASES = ("argmin", "first", "argmax")


def main(words=None, settings=None, kind="architecture", note=""):
    """settings: see Sweep. kind: what a panel or line is. note: on how they follow from each other."""
    options = arguments(words)
    try:
        style.use(options.style)
        sweep = Sweep(options.results, options.specification.read_text(encoding="utf-8"), settings)
        sweep.require_budget(options.budget)
        check_complete(sweep, options.partial)
        options.out.mkdir(parents=True, exist_ok=True)
        draw(sweep, options, kind, note)
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")


def arguments(words, description=__doc__):
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("specification", type=pathlib.Path, help="the sweep's TOML file")
    parser.add_argument("--results", type=pathlib.Path, required=True, help="the sweep's folder, with results.h5")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the figures")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    parser.add_argument("--style", help="a matplotlib style file, applied on top")
    parser.add_argument("--budget", help="smoke, small or paper: refuse results of another one's plan")
    parser.add_argument("--partial", action="store_true", help="hatch what is not yet trained")
    return parser.parse_args(words)


def formats(text):
    unknown = set(text.split(",")) - {"pdf", "png", "svg"}
    if unknown:
        raise argparse.ArgumentTypeError(f"must be of pdf, png, svg; not {', '.join(sorted(unknown))}")
    return text.split(",")


def check_complete(sweep, partial):
    """FigureError that names what is pending, unless that may be drawn hatched."""
    if partial and len(sweep.finished):
        return
    cells = sweep.pending_cells()
    if cells:
        pending = (sweep.trials["status"] == "pending").sum() + len(sweep.unnamed)
        more = [f"and {len(cells) - MOST_NAMED} more cells"] if len(cells) > MOST_NAMED else []
        raise FigureError("\n  ".join([
            f"[{sweep.name}] all planned trials must have run, {pending} are pending"
            " (go on with the sweep, or draw with PARTIAL=1):", *cells[:MOST_NAMED], *more]))
    if sweep.finished.empty:
        raise FigureError(f"[{sweep.name}] some trial must have finished, {len(sweep.trials)} failed")


def measure(sweep):
    """What is drawn, in words."""
    own = "task.name" in sweep.trials and (sweep.trials["task.name"] == "file").any()
    seen = "on a file's rows of training" if own else "on sequences not seen before"
    return f"Training accuracy ({seen}{', with dropout on' if sweep.with_dropout else ''})"


class Drawing:
    """What the figures of one sweep share, and how one is written."""

    def __init__(self, sweep, options, kind, note):
        self.sweep, self.options, self.kind, self.x = sweep, options, kind, sweep.x
        self.notes = "; ".join(filter(None, [note, sweep.budget and f"budget: {sweep.budget}"]))
        self.counts = reductions.cell_counts(sweep.trials, self.x)
        self.curves, self.validation = sweep.curves("train_accuracy"), sweep.curves("validation_accuracy")
        self.rates = reductions.chosen_rates(reductions.best_epoch(self.validation))
        self.cells = reductions.best_epoch(self.curves).join(self.counts)
        self.seeds, self.fresh = reductions.seeds_of(self.counts), measure(sweep)

    def subtitle(self, text):
        return f"{text}\n{self.notes}" if self.notes else text

    def finish(self, figure, name, table, metric="train_accuracy", **facts):
        options = self.options
        style.save(figure, options.out / name, options.formats)
        sidecars.write_table(options.out / f"{name}.csv", table)
        sidecars.write_origin(options.out / f"{name}.json", self.sweep, figure=name, metric=metric,
                              dropout=self.sweep.with_dropout, **facts)
        print(f"{options.out / name}.{{{','.join(options.formats + ['csv', 'json'])}}}")


def draw(sweep, options, kind, note):
    drawing = Drawing(sweep, options, kind, note)
    draw_heat_maps(drawing)
    draw_learning_curves(drawing)
    robustness.draw(drawing)


def draw_heat_maps(d):
    best, title = f"{d.fresh} in the best epoch", d.sweep.title
    d.finish(heat_maps.plain(d.cells, d.x, title, d.subtitle(f"{best}: mean over {d.seeds}")),
             "heat-map", d.cells, reduction=BEST.format("mean"))
    d.finish(heat_maps.in_colours(d.cells, d.x, title,
                                  d.subtitle(f"{best}: red, green, blue = minimum, mean, maximum over {d.seeds}"),
                                  key=heat_maps.SEEDS_KEY),
             "heat-map-seeds", d.cells, reduction=BEST.format("minimum, mean, maximum"))
    cases = case_cells(d)
    if cases is not None:
        said = f"Accuracy on balanced cases: red, green, blue = argmin, first, argmax; mean over {d.seeds}, epoch of the best mean"
        d.finish(heat_maps.in_colours(cases, d.x, title, d.subtitle(said), CASES, heat_maps.CASES_KEY),
                 "heat-map-cases", cases, metric="case_accuracy", reduction="mean over seeds, in the epoch in which the "
                 "mean of the three cases is greatest")


def case_cells(d):
    """A row a cell: the mean accuracy of each case in the epoch with the best mean of the three; None without cases."""
    measures = [f"case_accuracy.{case}" for case in CASES]
    if not set(measures) <= set(d.sweep.epochs) or d.sweep.epochs[measures].isna().all(axis=None):
        return None
    means = pd.concat([d.sweep.curves(name)["mean"].rename(case) for name, case in zip(measures, CASES)], axis=1)
    ordered = means.assign(all=means.mean(axis=1, skipna=False)).sort_values("all", ascending=False, kind="stable")
    best = ordered.reset_index("epoch")
    return best[~best.index.duplicated()].sort_index().drop(columns="all").join(d.counts)


def draw_learning_curves(d):
    title, notes = d.sweep.title, d.notes
    own = [cell for cell in d.counts.index if d.rates.get(cell[:2]) == cell[2]]
    chosen = f"{d.fresh} at each {d.kind}'s best learning rate, chosen by\nvalidation accuracy and written at the line's end"
    d.finish(learning_curves.chosen(d.curves, d.counts, d.rates, d.x, title, "; ".join(filter(None, [chosen, notes]))),
             "learning-curves", d.curves[d.curves.index.droplevel("epoch").isin(own)].join(d.counts),
             reduction="mean, minimum and maximum over seeds; learning rate by the validation accuracy")
    d.finish(learning_curves.every_cell(d.curves, d.counts, d.x, title, d.subtitle(d.fresh)),
             "learning-curves-all", d.curves.join(d.counts), reduction="mean, minimum and maximum over seeds")


if __name__ == "__main__":
    main()
