"""What heads that share queries and keys save: accuracy over their parameters, and over the operations of scores.

Of a sweep over model.query_key and model.query_key_dim, a panel a task.relation. Writes OUT/accuracy-parameters and
accuracy-operations: a picture a format, CSV, JSON each. The learning rate is that of the best validation accuracy.
"""

import sys

import h5py
import xarray

from analysis import headlab, plots, sidecars, style
from analysis.figures.sweep import arguments
from analysis.reductions import RATE, FigureError
from analysis.results import DamagedError

RELATION, SHARING, WIDTH = "task.relation", "model.query_key", "model.query_key_dim"
CELL = [RELATION, SHARING, WIDTH]
AXES = {"parameters": "query_key_parameters", "operations": "score_operations"}
COSTS = [*AXES.values(), "key_cache", "parameters", "operations_per_step"]


def main(words=None):
    options = arguments(words, __doc__)
    try:
        style.use(options.style)
        trials = headlab.load(options.results)
        require_complete(options)
        table = statistics(trials, headlab.epochs(options.results))
        options.out.mkdir(parents=True, exist_ok=True)
        for name in AXES:
            finish(name, table, trials, options)
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")


def require_complete(options):
    waiting = headlab.pending(options.results)
    if waiting and not options.partial:
        raise FigureError(f"all planned trials must have run, {len(waiting)} are pending: go on with the sweep, or draw "
                          "with PARTIAL=1")


def statistics(trials, epochs):
    """A row a cell: over_seeds of its test accuracy at the chosen rate, that rate, and what the cell costs."""
    chosen = headlab.at_best_rate(trials, epochs, CELL)
    groups = chosen.groupby(CELL)
    return headlab.over_seeds(chosen, "test_accuracy", CELL).join(groups[[RATE, *COSTS]].first())


def finish(name, table, trials, options):
    title, said = "Heads that share queries and keys", ("Test accuracy on the values of related keys, learning rate "
                                                        "chosen by validation accuracy; from right to left: all of d, "
                                                        "then down to a feature a head")
    style.save(draw(table, AXES[name], title, said, trials), options.out / f"accuracy-{name}", options.formats)
    sidecars.write_table(options.out / f"accuracy-{name}.csv", table)
    sidecars.write_json(options.out / f"accuracy-{name}.json", {
        "figure": f"accuracy-{name}", "metric": "test_accuracy",
        "results": [sidecars.origin_of(path) for path in headlab.files(options.results)],
        **sidecars.of_trials(trials), **sidecars.drawing(h5py, xarray)})
    print(f"{options.out / f'accuracy-{name}'}.{{{','.join(options.formats + ['csv', 'json'])}}}")


def draw(table, x, title, said, trials):
    by_cost = table.set_index(x, append=True).droplevel(WIDTH)
    chance = trials["chance_accuracy"].dropna().unique()
    return plots.lines(by_cost, x, title, said, "test_accuracy", SHARING, RELATION, band="minmax",
                       chance=chance[0] if len(chance) == 1 else None).page.figure


if __name__ == "__main__":
    main()
