"""The agreement of a sweep over model dimension and learning rate with the published numbers, cell by cell.

Writes OUT/agreement and, of the cells whose curves are published, published-curves: a picture a format, CSV, JSON; prints
how many cells agree and which do not.
"""

import sys

from analysis import agreement, heat_maps, learning_curves, reductions, sidecars, style
from analysis.figures.sweep import arguments, check_complete
from analysis.reductions import FigureError
from analysis.results import DamagedError
from analysis.selection import Sweep

RULE = ("a cell agrees when the maximum over epochs of our mean over seeds lies within .05 of the published runs' range "
        "of that maximum")
TASK, DEFAULT_TASK = "task.name", "argmin_first_argmax"


def main(words=None):
    options = arguments(words, __doc__)
    try:
        style.use(options.style)
        sweep = Sweep(options.results, options.specification.read_text(encoding="utf-8"))
        sweep.require_budget(options.budget)
        check_complete(sweep, options.partial)
        options.out.mkdir(parents=True, exist_ok=True)
        draw(sweep, options)
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")


def draw(sweep, options):
    counts = reductions.cell_counts(sweep.trials, agreement.DIM)
    cells = reductions.best_epoch(sweep.curves("train_accuracy")).join(counts)
    table = agreement.compared(cells, agreement.published(task_of(sweep)))
    if table.empty:
        raise FigureError(f"[{sweep.name}] no cell is in the published numbers and has two finished seeds")
    shares = agreement.shares(table)
    total = shares.loc["all"]
    figure = heat_maps.differences(table, agreement.DIM, f"{sweep.title}: ours less published",
                                   f"{total['agree']:.0f} of {total['compared']:.0f} cells agree, others are framed; "
                                   f"training accuracy, mean over {reductions.seeds_of(counts)} less that over 5 runs")
    style.save(figure, options.out / "agreement", options.formats)
    sidecars.write_table(options.out / "agreement.csv", table)
    sidecars.write_origin(options.out / "agreement.json", sweep, figure="agreement", metric="train_accuracy",
                          reduction=RULE, agree=int(total["agree"]), compared=int(total["compared"]))
    print(report(table, shares))
    draw_curves(sweep, options, counts)


def draw_curves(sweep, options, counts):
    """Nothing where no curve of such a cell is published."""
    theirs = agreement.published_curves(task_of(sweep))
    curves = sweep.curves("train_accuracy")
    both = None if theirs is None else agreement.curves_of_both(curves, theirs)
    if both is None or both.empty:
        return
    figure = learning_curves.beside(curves, both, counts, agreement.DIM, f"{sweep.title}: ours and published",
                                    "Training accuracy (on sequences not seen before) by epoch\n"
                                    f"budget: {sweep.budget or 'not known'}")
    style.save(figure, options.out / "published-curves", options.formats)
    joined = curves.join(both, rsuffix="_published", how="inner")
    sidecars.write_table(options.out / "published-curves.csv", joined)
    sidecars.write_origin(options.out / "published-curves.json", sweep, figure="published-curves", metric="train_accuracy",
                          reduction="mean, minimum and maximum over seeds")


def task_of(sweep):
    """The one task of the sweep's trials."""
    tasks = sweep.trials[TASK].dropna().unique() if TASK in sweep.trials else [DEFAULT_TASK]
    if len(tasks) != 1:
        raise FigureError(f"[{sweep.name}] trials must be of one task, are of {', '.join(tasks) or 'none'}")
    return tasks[0]


def report(table, shares):
    """A line an architecture with its share, then one a cell that does not agree."""
    lines = [f"{name:5} {row['agree']:4.0f} of {row['compared']:4.0f} cells agree ({row['share']:.0%})"
             for name, row in shares.iterrows()]
    for (architecture, dim, rate), row in table[~table["agrees"]].iterrows():
        lines.append(f"  {architecture:5} d {dim:4} rate {style.number(rate):8} ours {row['min']:.3f} {row['mean']:.3f} "
                     f"{row['max']:.3f}  published {row['best_min']:.3f} {row['best_mean']:.3f} {row['best_max']:.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
