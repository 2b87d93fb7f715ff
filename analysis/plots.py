"""Lines, sorted cells and points, in panels: what is drawn of any sweep's statistics over seeds.

A table has the columns of reductions.over_seeds or best_epoch; levels of its index are what x, hue, col and row name.
"""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullFormatter

from analysis import style
from analysis.reductions import ARCHITECTURE, seeds_of

BANDS = {"minmax": "smallest to greatest seed", "sd": "mean ± standard deviation over seeds",
         "ci95": "95 % confidence interval of the mean over seeds", "none": ""}
PANEL, ONE_PANEL, GAP, LEFT, RIGHT, TOP = (2.3, 1.9), (4.2, 2.6), 0.42, 0.62, 0.2, 0.62
RIGHT_OF_MORE = 0.6  # for names of values right of what comes after the panels
MOST_ACROSS, MOST_LETTERS = 4, 38  # panels side by side; letters below one
LOG_FROM = 4  # greatest over smallest value from which an axis is logarithmic
CHANCE = {"color": style.INK, "linewidth": 0.7, "linestyle": (0, (1, 2))}


class Panels:
    """A page with a panel for each value of col and row, or of either, and `more` after them; hues in their order."""

    def __init__(self, table, title, subtitle, hue=None, col=None, row=None, more=0, explained=()):
        """explained: handles of the legend that say what a line, a band or a mark is."""
        self.hue, self.hues = hue, values_of(table, hue)
        cols, rows = values_of(table, col), values_of(table, row)
        self.parts = [(r, c) for r in rows for c in cols]
        count = len(self.parts) + more
        across = len(cols) if row else min(count, MOST_ACROSS if count != 5 else 3)
        down = -(-count // across)
        panel, gap = ONE_PANEL if count == 1 else PANEL, (GAP, 0.62)
        right = RIGHT_OF_MORE if more else RIGHT
        width = LEFT + across * panel[0] + (across - 1) * gap[0] + right
        legend = style.wrapped(self._names(), width) + style.wrapped(list(explained), width)
        margins = (LEFT, right, TOP + 0.15 * subtitle.count("\n") + (0.3 if col or row or more else 0), 0.55 + 0.2 * len(legend))
        self.page = style.Page(down, across, panel, gap, margins)
        self.page.heading(title, subtitle)
        self.page.legend(*legend)
        self.axes = [self.page.panel(*divmod(i, across)) for i in range(count)]
        for i, axes in enumerate(self.axes):
            _open(axes)
            axes.first_column, axes.last_row = i % across == 0, i + across >= count
        for axes, (r, c) in zip(self.axes, self.parts):
            axes.set_title(", ".join(style.named(key, v) for key, v in ((row, r), (col, c)) if key), pad=5)
        self.keys = (row, col)

    def each(self, table):
        """Axes and the part of the table that belongs there."""
        for axes, place in zip(self.axes, self.parts):
            part = table
            for key, value in zip(self.keys, place):
                part = part if key is None else part.xs(value, level=key)
            yield axes, part

    def of_hues(self, part):
        """Each hue that the part has: its look and its rows."""
        for value in self.hues:
            if self.hue is None:
                yield style.look(0, [0]), part
            elif value in part.index.get_level_values(self.hue):
                yield style.look(value, self.hues), part.xs(value, level=self.hue)

    def _names(self):
        if self.hue is None:
            return []
        looks = [style.look(value, self.hues) for value in self.hues]
        return [Line2D([], [], markersize=4, label=style.named(self.hue, v), **look) for v, look in zip(self.hues, looks)]


def values_of(table, key):
    """The values of a level of the index in the order in which they are drawn; one None without a key."""
    if key is None:
        return [None]
    found = table.index.unique(key)
    return style.in_order(found) if key == ARCHITECTURE else sorted(found)


def lines(table, x, title, subtitle, measure="accuracy", hue=ARCHITECTURE, col=None, row=None, band="minmax", chance=None,
          seeds=None, more=0):
    """A line a hue over x, with a band over seeds; the page's Panels. x: a key, or epoch."""
    counted = seeds or seeds_of(table.rename(columns={"seeds": "finished"}).fillna({"finished": 0}))
    panels = Panels(table, title, subtitle, hue, col, row, more, _meaning(counted, band, chance is not None))
    ticks = values_of(table, x)
    for axes, part in panels.each(table):
        axis(axes, x, ticks)
        for look, own in panels.of_hues(part):
            draw_line(axes, own.sort_index(), places(own.sort_index().index, ticks), look, band, marked=x != "epoch")
        measured(axes, measure, chance)
    return panels


def draw_line(axes, own, x, look, band, marked=True):
    """The mean with its band; gaps where there is no mean."""
    if band != "none":
        low, high = (own["min"], own["max"]) if band == "minmax" else (own["mean"] - own[band], own["mean"] + own[band])
        axes.fill_between(x, low.to_numpy(float), high.to_numpy(float), color=look["color"], alpha=0.16, linewidth=0)
    axes.plot(x, own["mean"].to_numpy(float), markersize=3.5 if marked else 0, linewidth=1.4, clip_on=False, zorder=3,
              **look)


def sorted_cells(table, title, subtitle, measure="accuracy", hue=ARCHITECTURE, col=None, row=None, chance=None, tests=None,
                 seeds=None):
    """Each hue's cells from the best to the worst mean; the page's Panels.

    tests: mean and sd by hue, drawn left of the lines: the test of the one cell that validation chose.
    """
    counted = seeds or seeds_of(table.rename(columns={"seeds": "finished"}).fillna({"finished": 0}))
    explained = _meaning(counted, "none", chance is not None)
    if tests is not None:
        explained.append(Line2D([], [], color=style.GREY, marker="o", markerfacecolor="white", linestyle="", markersize=5,
                                label="test accuracy of the cell that validation chose, mean ± standard deviation"))
    panels = Panels(table, title, subtitle, hue, col, row, 0, explained)
    for axes, part in panels.each(table):
        for look, own in panels.of_hues(part):
            ordered = own["mean"].dropna().sort_values(ascending=False).to_numpy()
            axes.plot(np.arange(1, len(ordered) + 1), ordered, markersize=3, linewidth=1.4,
                      markevery=max(len(ordered) // 12, 1), **look)
        _place_tests(axes, panels, tests)
        measured(axes, measure, chance)
        axes.set_xticks([tick for tick in MaxNLocator(6, integer=True).tick_values(1, axes.get_xlim()[1])
                         if 1 <= tick <= axes.get_xlim()[1]])
        if axes.last_row:
            axes.set_xlabel("cells, from the best to the worst")
    return panels


def _place_tests(axes, panels, tests):
    """Means and deviations side by side, left of the first cell."""
    if tests is None:
        return
    longest = max(len(line.get_xdata()) for line in axes.lines) if axes.lines else 1
    step = 0.035 * max(longest, 4)
    for i, value in enumerate(value for value in panels.hues if value in tests.index):
        look, test = style.look(value, panels.hues), tests.loc[value]
        axes.errorbar(1 - step * (len(tests) - i), test["mean"], None if np.isnan(test["sd"]) else test["sd"],
                      color=look["color"], marker=look["marker"], markerfacecolor="white", markersize=4.5, capsize=2,
                      linewidth=0.9)
    axes.set_xlim(1 - step * (len(tests) + 1), longest + 0.3)
    axes.axvline(1 - step / 2, color=style.PALE, linewidth=0.6)


def points(table, x, y, title, subtitle, labels, hue=ARCHITECTURE, col=None, chance=None, chosen=None):
    """A mark a cell at its two accuracies x and y, columns of the table, with the line where both are one; Panels.

    chance: of x alone, as another length has another one.
    chosen: indexed like the table: cells to be drawn larger, with a dark edge.
    """
    explained = [Line2D([], [], color=style.GREY, linewidth=0.7, label="as good at both lengths")]
    if chance is not None:
        explained.append(Line2D([], [], label=f"chance in {labels[0]}", **CHANCE))
    if chosen is not None:
        explained.append(Line2D([], [], color=style.GREY, marker="o", markeredgecolor=style.INK, linestyle="",
                                markersize=6, label="the learning rate that validation chose"))
    panels = Panels(table, title, subtitle, hue, col, None, 0, explained)
    for axes, part in panels.each(table):
        axes.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.7, zorder=1)
        for look, own in panels.of_hues(part):
            axes.plot(own[x], own[y], linestyle="", marker=look["marker"], color=look["color"], markersize=4, alpha=0.75,
                      markeredgewidth=0, clip_on=False, zorder=2)
        if chosen is not None:
            own = part[part["chosen"]]
            for look, one in panels.of_hues(own):
                axes.plot(one[x], one[y], linestyle="", marker=look["marker"], color=look["color"], markersize=6.5,
                          markeredgecolor=style.INK, markeredgewidth=0.9, clip_on=False, zorder=3)
        accuracies(axes.xaxis), measured(axes, labels[1])
        if chance is not None:
            axes.axvline(chance, **CHANCE)
        axes.set_xlim(0, 1.02)
        if axes.last_row:
            axes.set_xlabel(labels[0])
    return panels


def axis(axes, x, ticks):
    """Scale, ticks and label of the horizontal axis, whose values are `ticks`."""
    if axes.last_row:
        axes.set_xlabel("epoch" if x == "epoch" else style.label_of(x))
    if x == "epoch":
        axes.set_xlim(1 if len(ticks) > 1 else 0.5, max(ticks[-1], 1.5))
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=5)
        return
    at = places(ticks, ticks)
    if logarithmic(ticks):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    names = [t if isinstance(t, str) else style.number(t) for t in ticks]
    every = next(k for k in range(1, len(ticks) + 1) if sum(len(n) + 1 for n in names[::k]) <= MOST_LETTERS or k == len(ticks))
    axes.set_xticks(at[::every], names[::every])
    axes.set_xticks(at, minor=True)


def logarithmic(values):
    """Whether an axis of these values is: all positive, and the greatest some times the smallest."""
    return not any(isinstance(v, str) for v in values) and min(values) > 0 and max(values) >= LOG_FROM * min(values)


def places(values, among):
    """Numbers as they are; names by their place among all."""
    return [list(among).index(v) if isinstance(v, str) else v for v in values]


def measured(axes, measure, chance=None):
    """Scale and label of the vertical axis; accuracies from 0 to 1 with a line at chance."""
    if axes.first_column:
        axes.set_ylabel(style.label_of(measure))
    if "accuracy" not in measure:
        return
    axes.set_ylim(0, 1.02)
    accuracies(axes.yaxis)
    axes.tick_params(labelleft=axes.first_column)
    if chance is not None:
        axes.axhline(chance, zorder=1.5, **CHANCE)


def accuracies(of_axis):
    of_axis.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", ".25", ".5", ".75", "1"])


def _open(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#ececec", linewidth=0.5)
    axes.set_axisbelow(True)


def _meaning(seeds, band, chance):
    handles = [Line2D([], [], color=style.GREY, label=f"mean of {seeds}")]
    if band != "none":
        handles.append(Patch(facecolor=style.GREY, alpha=0.25, label=BANDS[band]))
    return handles + ([Line2D([], [], label="chance", **CHANCE)] if chance else [])
