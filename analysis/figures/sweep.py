"""Heat maps and learning curves of any sweep over one axis, architectures, learning rates and seeds.

Writes OUT/heat-map, OUT/heat-map-seeds, OUT/learning-curves and OUT/learning-curves-all: a picture a format, CSV, JSON.
"""

import argparse
import pathlib
import sys

from analysis import heat_maps, learning_curves, reductions, sidecars, style
from analysis.reductions import FigureError
from analysis.results import DamagedError
from analysis.selection import Sweep

BEST = "maximum over epochs of the {} over seeds"
MOST_NAMED = 20


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
    return "Training accuracy (on sequences not seen before" + (", with dropout on)" if sweep.with_dropout else ")")


def draw(sweep, options, kind, note):
    x, counts = sweep.x, reductions.cell_counts(sweep.trials, sweep.x)
    curves = reductions.cell_curves(sweep.trials, sweep.curve("train_accuracy"), x)
    validation = reductions.cell_curves(sweep.trials, sweep.curve("validation_accuracy", 1), x)
    rates = reductions.chosen_rates(reductions.best_epoch(validation))
    cells = reductions.best_epoch(curves).join(counts)
    seeds, fresh = reductions.seeds_of(counts), measure(sweep)
    notes = "; ".join(filter(None, [note, sweep.budget and f"budget: {sweep.budget}"]))

    def subtitle(text):
        return f"{text}\n{notes}" if notes else text

    def finish(figure, name, table, **facts):
        style.save(figure, options.out / name, options.formats)
        sidecars.write_table(options.out / f"{name}.csv", table)
        sidecars.write_origin(options.out / f"{name}.json", sweep, figure=name, metric="train_accuracy",
                              dropout=sweep.with_dropout, **facts)
        print(f"{options.out / name}.{{{','.join(options.formats + ['csv', 'json'])}}}")

    best = f"{fresh} in the best epoch"
    finish(heat_maps.plain(cells, x, sweep.title, subtitle(f"{best}: mean over {seeds}")),
           "heat-map", cells, reduction=BEST.format("mean"))
    finish(heat_maps.in_colours(cells, x, sweep.title,
                                subtitle(f"{best}: red, green, blue = minimum, mean, maximum over {seeds}"),
                                key=heat_maps.SEEDS_KEY),
           "heat-map-seeds", cells, reduction=BEST.format("minimum, mean, maximum"))
    own = [cell for cell in counts.index if rates.get(cell[:2]) == cell[2]]
    chosen = f"{fresh} at each {kind}'s best learning rate, chosen by\nvalidation accuracy and written at the line's end"
    finish(learning_curves.chosen(curves, counts, rates, x, sweep.title, "; ".join(filter(None, [chosen, notes]))),
           "learning-curves", curves[curves.index.droplevel("epoch").isin(own)].join(counts),
           reduction="mean, minimum and maximum over seeds; learning rate by the validation accuracy")
    finish(learning_curves.every_cell(curves, counts, x, sweep.title, subtitle(fresh)),
           "learning-curves-all", curves.join(counts), reduction="mean, minimum and maximum over seeds")


if __name__ == "__main__":
    main()
