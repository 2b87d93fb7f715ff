"""How much hangs on the learning rate, and on the length: figures of a whole sweep. d: sweep.Drawing."""

import pandas as pd

from analysis import headlab, plots, reductions, style
from analysis.reductions import ARCHITECTURE, RATE


def draw(d):
    draw_sorted(d)
    draw_sensitivity(d)
    draw_length(d)


def level(d, name="chance_accuracy"):
    """The one chance of the sweep, None if it has several."""
    known = d.counts[name].dropna().unique() if name in d.counts else []
    return known[0] if len(known) == 1 else None


def draw_sorted(d):
    """The best-epoch validation means of all cells, from the best to the worst, and the test of the chosen one."""
    best = reductions.best_epoch(d.validation)
    tests = chosen_tests(d)
    said = (f"Validation accuracy of all cells ({style.label_of(d.x)}, learning rate) in their best epoch, from the best "
            f"to the worst")
    panels = plots.sorted_cells(best, d.sweep.title, d.subtitle(said), "validation_accuracy", chance=level(d), tests=tests,
                                seeds=d.seeds)
    table = best.join(d.counts)
    if tests is not None:
        table = table.join(tests.rename(columns=lambda name: f"test_of_chosen_{name}"), on=ARCHITECTURE)
    d.finish(panels.page.figure, "robustness", table, "validation_accuracy",
             reduction="maximum over epochs of the mean over seeds; test: of the cell with the greatest, last weights")


def chosen_tests(d):
    """None without tests."""
    trials = d.sweep.trials
    if "test_accuracy" not in trials or trials["test_accuracy"].isna().all():
        return None
    own = trials[[*reductions.cell_axes(d.x), "seed", "status"]]
    long = d.sweep.epochs[["id", "epoch", "validation_accuracy"]].join(own, on="id", how="inner")
    return headlab.tests_of_chosen(trials, long, ARCHITECTURE, reductions.cell_axes(d.x))


def draw_sensitivity(d):
    """Accuracy over the learning rate, a panel a value of x; the last one has the best rate over x."""
    several = len(d.cells.index.unique(d.x)) > 1
    said = f"{d.fresh} in the best epoch over the learning rate" + ("; last panel: the best rates by validation" if several
                                                                  else "")
    panels = plots.lines(d.cells, RATE, d.sweep.title, d.subtitle(said), "train_accuracy", col=d.x, seeds=d.seeds,
                         chance=level(d, "chance_accuracy_training"), more=int(several))
    if several:
        draw_best_rates(panels, d.rates, d.x)
    best = d.rates.rename("best_rate").reset_index().set_index([ARCHITECTURE, d.x])
    d.finish(panels.page.figure, "rate-sensitivity", d.cells.join(best), reduction="maximum over epochs of the mean, "
             "minimum and maximum over seeds; best_rate: by the validation accuracy")


def draw_best_rates(panels, rates, x):
    """Lines that would cover each other are moved apart by a few percent."""
    axes = panels.axes[-1]
    values = sorted(rates.index.unique(x))
    plots.axis(axes, x, values)
    axes.set_yscale("log")
    axes.yaxis.tick_right()
    used = sorted(rates.unique())
    axes.set_yticks(used, [style.number(rate) for rate in used])
    axes.minorticks_off()
    axes.set_title("best learning rate", pad=5)
    axes.set_xlabel(style.label_of(x))
    for i, name in enumerate(panels.hues):
        if name in rates.index.get_level_values(ARCHITECTURE):
            own = rates.xs(name, level=ARCHITECTURE).sort_index()
            axes.plot(own.index, own * 1.05 ** (i - (len(panels.hues) - 1) / 2), markersize=3.5, linewidth=1,
                      **style.look(name, panels.hues))


def draw_length(d):
    """The test accuracy at another length against that at the own one, a mark a cell."""
    trials = d.sweep.trials
    names = [name for name in trials if name.startswith("test_accuracy@") and trials[name].notna().any()]
    for name in names:
        place = reductions.cell_axes(d.x)
        table = pd.concat([headlab.over_seeds(trials, measure, place)["mean"].rename(measure)
                           for measure in ("test_accuracy", name)], axis=1).dropna()
        table["chosen"] = [d.rates.get(cell[:2]) == cell[2] for cell in table.index]
        other = style.label_of(name).replace("test accuracy", "").strip()
        said = f"Test accuracy after training at length N: {other} against at N; a mark a cell, mean over {d.seeds}"
        panels = plots.points(table, "test_accuracy", name, d.sweep.title, d.subtitle(said),
                              ("test accuracy at N", style.label_of(name)), col=d.x, chance=level(d), chosen=True)
        d.finish(panels.page.figure, "length" if len(names) == 1 else f"length-{name.split('@')[1]}", table.join(d.counts),
                 "test_accuracy", reduction="mean over seeds, last weights")
