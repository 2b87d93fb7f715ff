"""How well models do whose heads are made to share fewer queries and keys, before and after training on.

For each seed a model is trained with all of its width, then converted (by alternating least squares, and by each head's
singular vectors), tested as it is and after 5 % and 20 % more steps; beside it the model as it was with as many steps
more, and models that share from the start. Writes OUT/compression: a picture a format, CSV, JSON.
"""

import sys

import h5py
import pandas as pd
import xarray

from analysis import conversions, headlab, plots, sidecars, style
from analysis.reductions import RATE, FigureError
from analysis.results import DamagedError

DIM = 64
MODEL = ("--task.name", "multi_relation", "--model.layers", "1", "--model.dim", str(DIM), "--train.steps_per_epoch", "50",
         "--eval.every", "5", "--eval.sequences", "512", "--eval.test_sequences", "2048")
EPOCHS, MORE = 20, (1, 4)  # 5 % and 20 %
METHODS = {"collaborative": "als", "head-svd": "head-svd"}
BUDGETS = {"smoke": (1, (64, 16)), "small": (3, (80, 64, 48, 32, 24, 16, 8)), "paper": (10, (80, 64, 48, 32, 24, 16, 8))}
RATES = ("0.003", "0.001")
SCRATCH, CONTINUED = "from scratch", "continued"
CELL = ["method", "dim", "more"]


def main(words=None):
    options = conversions.arguments(words, __doc__, BUDGETS)
    try:
        style.use(options.style)
        if options.headlab:
            measure(conversions.Runs(options.headlab, options.results), *BUDGETS[options.budget])
        table, trials = read(options.results)
        options.out.mkdir(parents=True, exist_ok=True)
        style.save(draw(table), options.out / "compression", options.formats)
        sidecars.write_table(options.out / "compression.csv", table)
        sidecars.write_json(options.out / "compression.json", {
            "figure": "compression", "metric": "test_accuracy", "results": [sidecars.origin_of(options.results / "results.h5")],
            **sidecars.of_trials(trials), **sidecars.drawing(h5py, xarray)})
        print(f"{options.out / 'compression'}.{{{','.join(options.formats + ['csv', 'json'])}}}")
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")


def measure(runs, seeds, dims):
    for seed in range(seeds):
        base = f"{seed}.safetensors"
        runs.train(f"{seed}", *MODEL, "--seed", str(seed), "--train.epochs", str(EPOCHS), "--lr", RATES[0], save=base,
                   method=CONTINUED, dim=DIM, more=0)
        train_on(runs, f"{seed}-continued", base, method=CONTINUED, dim=DIM)
        for dim in dims:
            for method, how in METHODS.items():
                name = f"{seed}-{how}-{dim}"
                runs.convert(base, f"{name}.safetensors", "--dim", str(dim), "--method", how)
                runs.train(name, "--from", str(runs.path(f"{name}.safetensors")), "--train.epochs", "0", method=method, dim=dim,
                           more=0)
                train_on(runs, name, f"{name}.safetensors", method=method, dim=dim)
            for rate in RATES:
                runs.train(f"{seed}-scratch-{dim}-{rate}", *MODEL, "--seed", str(seed), "--train.epochs",
                           str(EPOCHS + MORE[-1]), "--lr", rate, "--model.query_key", "collaborative", "--model.query_key_dim",
                           str(dim), method=SCRATCH, dim=dim, more=MORE[-1])
    runs.merge()


def train_on(runs, name, model, **facts):
    for more in MORE:
        for rate in RATES:
            runs.train(f"{name}-{more}-{rate}", "--from", str(runs.path(model)), "--train.epochs", str(more), "--lr", rate,
                       more=more, **facts)


def read(folder):
    """over_seeds of the test accuracy by CELL, of several learning rates the one with the best validation; the trials."""
    runs = conversions.Runs(None, folder).known
    if not runs:
        raise FigureError(f"{folder}: must hold runs.json: run the figure without RUN=0")
    trials = headlab.load(folder)
    facts = pd.DataFrame(list(runs.values())).drop_duplicates("id").set_index("id")
    trials = trials.join(facts, how="inner")
    validation = trials["last_validation_accuracy"].fillna(0)  # none without epochs
    rates = trials.assign(v=validation).groupby([*CELL, RATE])["v"].mean().reset_index()
    best = rates.sort_values(["v", RATE], ascending=False, kind="stable").drop_duplicates(CELL)
    chosen = trials[pd.MultiIndex.from_frame(trials[[*CELL, RATE]]).isin(pd.MultiIndex.from_frame(best[[*CELL, RATE]]))]
    return headlab.over_seeds(chosen, "test_accuracy", CELL), trials


def everywhere(table, method, level):
    """With the method's rows repeated at all values of a level."""
    own = table[table.index.get_level_values("method") == method].reset_index(level)
    copies = [own.assign(**{level: value}).set_index(level, append=True) for value in table.index.unique(level)]
    rest = table[table.index.get_level_values("method") != method]
    return pd.concat([part.reorder_levels(CELL) for part in (rest, *copies)]).sort_index()


def draw(table):
    """A panel as converted and one for each number of further steps; what has no R or no panel of its own is in all."""
    whole = everywhere(everywhere(table, SCRATCH, "more"), CONTINUED, "dim")
    return plots.lines(whole, "dim", "Heads made to share queries and keys", "Test accuracy over the features they share (of "
                       f"{DIM}), after more steps of training (of {EPOCHS} epochs, {MORE[0]} is 5 %, {MORE[1]} is 20 %)",
                       "test_accuracy", "method", "more").page.figure


if __name__ == "__main__":
    main()
