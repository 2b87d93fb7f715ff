"""What a sweep shows of each seed by itself, so that the uncertainty of a finding is that over seeds.

Tables have a row a seed; in their columns, where there are several, architectures.
"""

import functools

import pandas as pd

from analysis import agreement, reductions
from analysis.reductions import ARCHITECTURE, FINISHED, RATE, SEED, FigureError, best_epoch, cell_axes, over_seeds

VALIDATION, TRAINING = "validation_accuracy", "train_accuracy"
CASES = ("argmin", "first", "argmax")
LEARNT = 0.05  # above chance


class Evidence:
    """The seeds of a sweep of which every planned trial has finished."""

    def __init__(self, sweep):
        """sweep: selection.Sweep."""
        self.sweep, self.x = sweep, sweep.x
        whole = sweep.trials["status"].isin(FINISHED).groupby(sweep.trials[SEED]).all()
        self.seeds = [] if sweep.unnamed else whole.index[whole].tolist()
        self.trials = sweep.trials[sweep.trials[SEED].isin(self.seeds)]

    @property
    def there(self):
        """How many trials have finished, and how many are planned."""
        return len(self.sweep.finished), len(self.sweep.trials) + len(self.sweep.unnamed)

    def require(self, names):
        """FigureError without one of these architectures."""
        missing = [name for name in names if name not in set(self.trials[ARCHITECTURE])]
        if missing:
            raise FigureError(f"the sweep has no {', '.join(missing)}")

    def epochs(self, measure):
        """A row a trial and epoch: the measure with what names the trial. FigureError if nothing was measured."""
        if measure not in self.sweep.epochs:
            raise FigureError(f"no {measure} was measured")
        own = self.trials[[*cell_axes(self.x), SEED, "status"]]
        return self.sweep.epochs[["id", "epoch", measure]].join(own, on="id", how="inner")

    @functools.cache
    def best(self, measure):
        """Of each cell and seed the best epoch, chance if none was finished; indexed by cell_axes and seed."""
        found = best_epoch(over_seeds(self.epochs(measure), measure, [*cell_axes(self.x), SEED, "epoch"]))["mean"]
        return found.fillna(self.chance.reindex(found.index))

    @functools.cached_property
    def chance(self):
        """Of each cell and seed, in evaluation."""
        return self.trials.set_index([*cell_axes(self.x), SEED])["chance_accuracy"].sort_index()

    @functools.cached_property
    def rates(self):
        """The learning rate of each architecture and x: see chosen_rates."""
        return reductions.chosen_rates(best_epoch(over_seeds(self.epochs(VALIDATION), VALIDATION,
                                                             [*cell_axes(self.x), "epoch"])))

    def at_chosen_rate(self, values):
        """Those of a series or table indexed by cell_axes and more."""
        cells = values.index.droplevel([name for name in values.index.names if name not in cell_axes(self.x)])
        chosen = pd.MultiIndex.from_frame(self.rates.reset_index()[cell_axes(self.x)])
        return values[cells.isin(chosen)]


def by_architecture(values):
    """The mean over all else of a series indexed by architecture, seed and more."""
    return values.groupby([SEED, ARCHITECTURE]).mean().unstack(ARCHITECTURE)


def robustness(evidence, names):
    """The mean over all cells of the best epoch's validation accuracy."""
    evidence.require(names)
    return by_architecture(evidence.best(VALIDATION))[list(names)]


def at_best_rates(evidence, names):
    """The mean over x of the validation accuracy, of each architecture at the rate that is its best there."""
    evidence.require(names)
    return by_architecture(evidence.at_chosen_rate(evidence.best(VALIDATION)))[list(names)]


def bands(evidence, names):
    """The share of learning rates at which half is reached of what the best one has above chance, mean over x.

    0 where even the best is no more than .05 above chance.
    """
    evidence.require(names)
    above = evidence.best(VALIDATION) - evidence.chance
    best = above.groupby([ARCHITECTURE, evidence.x, SEED]).transform("max")
    return by_architecture(((above >= best / 2) & (best > LEARNT)).astype(float))[list(names)]


def above_chance(evidence, architecture):
    """The most that an architecture's training accuracy, the mean of an epoch, is above chance in any cell and epoch."""
    evidence.require([architecture])
    chance = reductions.training_chance(evidence.trials).rename("chance")
    rows = evidence.epochs(TRAINING).join(chance, on="id")
    own = rows[rows[ARCHITECTURE] == architecture]
    return (own[TRAINING] - own["chance"]).groupby(own[SEED]).max()


def pace_of_cases(evidence):
    """The mean over epochs and chosen cells of each case's accuracy: the sooner it is learnt, the greater; a column a case."""
    columns = {}
    for case in CASES:
        rows = evidence.epochs(f"case_accuracy.{case}").set_index([*cell_axes(evidence.x), SEED, "epoch"])
        columns[case] = evidence.at_chosen_rate(rows[f"case_accuracy.{case}"]).groupby(SEED).mean()
    return pd.DataFrame(columns)


def case_at_greatest_rate(evidence, architecture, case):
    """How much less of a case is right at the greatest learning rate than at the best one, mean over x."""
    evidence.require([architecture])
    own = evidence.best(f"case_accuracy.{case}").xs(architecture, level=ARCHITECTURE)
    greatest = own.index.get_level_values(RATE).max()
    lost = own.groupby([evidence.x, SEED]).max() - own.xs(greatest, level=RATE)
    return lost.groupby(SEED).mean()


def lost_at(evidence, measure, names):
    """What is lost of the training accuracy in `measure`, an accuracy at another length; mean over cells."""
    evidence.require(names)
    return by_architecture(evidence.best(TRAINING) - evidence.best(measure))[list(names)]


def published_loss(evidence, task, metric):
    """The same by the published numbers for the cells of this sweep that are among them; a value an architecture."""
    theirs = {name: agreement.published(task, name)["best_mean"] for name in (TRAINING, metric)}
    lost = theirs[TRAINING] - theirs[metric]
    cells = evidence.trials[cell_axes(evidence.x)].drop_duplicates()
    places = pd.MultiIndex.from_arrays([cells[ARCHITECTURE], cells[evidence.x], agreement.exponent(cells[RATE].to_numpy())])
    own = lost.reindex(places).dropna()
    return own.groupby(level=0).mean()
