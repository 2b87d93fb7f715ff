"""Heat maps of a sweep: a panel an architecture, the sweep's axis from left to right, learning rates falling."""

import numpy as np
from matplotlib.patches import Patch, Polygon, Rectangle

from analysis import style
from analysis.reductions import ARCHITECTURE, RATE

HATCHES = {"pending": "////", "failed": "xxxx"}
CHANCE = "#D55E00"
MOST_COLUMNS_WITH_VALUES = 8
MOST_DIFFERENT = 0.3


def plain(cells, x, title, subtitle, down=RATE, panel=ARCHITECTURE, measure="accuracy"):
    """The mean in one hue with a colour bar, cell values where there are at most 8 columns.

    cells: a row a cell, indexed by panel, x and down, with mean and the counts of cell_counts. measure: an accuracy is
    drawn from 0 to 1, others from their least to their greatest value.
    """
    page, panels = _page(cells, x, title, subtitle, right=0.8, down=down, panel=panel)
    low, high = (0, 1) if "accuracy" in measure else (np.nanmin(cells["mean"]), np.nanmax(cells["mean"]))
    for axes, grid in panels:
        values = grid["mean"]
        image = axes.imshow(values, cmap=style.ACCURACY, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        if values.shape[1] <= MOST_COLUMNS_WITH_VALUES:
            _write_values(axes, grid, (low, high))
    _colour_bar(page, image, cells, measure)
    return page.figure


def in_colours(cells, x, title, subtitle, channels=("min", "mean", "max"), key=()):
    """Three columns as red, green and blue. key: swatches that explain it, ((red, green, blue), what it says)."""
    page, panels = _page(cells, x, title, subtitle, right=0.15, key=key)
    for axes, grid in panels:
        values = np.stack([grid[channel] for channel in channels], axis=-1)
        unknown = np.isnan(values).any(axis=-1, keepdims=True)
        axes.imshow(np.where(unknown, 1, values.clip(0, 1)), aspect="auto", interpolation="nearest")
    return page.figure


def differences(cells, x, title, subtitle):
    """Differences of accuracies around 0 in two hues, with their hundredths; cells that do not agree have a frame.

    cells: indexed like plain's, with difference and agrees.
    """
    page, panels = _page(cells.assign(**{status: 0 for status in HATCHES}), x, title, subtitle, right=0.8)
    for axes, grid in panels:
        values = grid["difference"]
        image = axes.imshow(values, cmap=style.DIFFERENCE, vmin=-MOST_DIFFERENT, vmax=MOST_DIFFERENT, aspect="auto",
                            interpolation="nearest")
        for row, column in np.argwhere(~np.isnan(values)):
            axes.text(column, row, f"{100 * values[row, column]:+.0f}", ha="center", va="center", fontsize=6.5, zorder=5)
        for row, column in np.argwhere(grid["agrees"] == 0):
            axes.add_patch(Rectangle((column - 0.44, row - 0.42), 0.88, 0.84, fill=False, linewidth=1.2,
                                     edgecolor=style.INK, zorder=4))
    height = min(2.6, page.middle[3] - page.middle[2])
    bar = page.figure.colorbar(image, cax=page.axes(page.width - 0.63, page.middle[1] - height / 2, 0.12, height),
                               ticks=[-MOST_DIFFERENT, 0, MOST_DIFFERENT])
    bar.outline.set_visible(False)
    bar.set_label("difference of accuracies", labelpad=2)
    return page.figure


CASES_KEY = (((0, 0, 0), "no case"), ((1, 0, 0), "argmin alone"), ((0, 1, 0), "first alone"), ((0, 0, 1), "argmax alone"),
             ((1, 0, 1), "argmin and argmax"), ((1, 1, 1), "all cases"))
SEEDS_KEY = (((0, 0, 0), "no seed learns"), ((0, 0.5, 1), "some seeds learn"),
             ((0.5, 0.5, 0.5), "all seeds learn in part"), ((1, 1, 1), "all seeds learn all"))


def _grid(own, x, columns, rows):
    """A panel's cells as arrays (row, column), one of each measure; NaN where the sweep has none."""
    return {c: own[c].unstack(x).reindex(index=rows, columns=columns).to_numpy(float) for c in own}


def _page(cells, x, title, subtitle, right, key=(), down=RATE, panel=ARCHITECTURE):
    architectures = style.in_order(cells.index.unique(panel)) if panel == ARCHITECTURE else sorted(cells.index.unique(panel))
    columns = sorted(cells.index.unique(x))
    rates = sorted(cells.index.unique(down), reverse=True)
    column_width = max(0.41, 0.07 * max(len(style.number(c)) for c in columns))
    width, height = max(1.15, column_width * len(columns)), max(0.9, 0.27 * len(rates))
    across = len(architectures) if len(architectures) * width < 9 else 3
    lines = -(-len(architectures) // across)
    left, gap = 0.88, 0.14
    page_width = left + across * width + (across - 1) * gap + right
    legend = style.wrapped(_swatches(key), page_width) + style.wrapped(_marks(cells), page_width)
    chances = _chances(cells, x, columns)
    bottom = 0.58 + 0.2 * len(legend) + (0.14 if chances else 0)
    page = style.Page(lines, across, (width, height), (gap, 0.36), (left, right, 0.96, bottom))
    page.heading(title, subtitle)
    panels = []
    for i, architecture in enumerate(architectures):
        row, column = divmod(i, across)
        axes = page.panel(row, column)
        grid = _grid(cells.xs(architecture, level=panel), x, columns, rates)
        panels.append((axes, grid))
        axes.set_title(style.named(panel, architecture), fontweight="bold", pad=4)
        axes.set_xticks(range(len(columns)), [style.number(c) for c in columns] if row == lines - 1 else [])
        if row == lines - 1:
            _write_chances(axes, chances)
        axes.set_yticks(range(len(rates)), [style.number(r) for r in rates] if column == 0 else [])
        axes.tick_params(length=0)
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rates) - 0.5, -0.5))
        _mark(axes, grid)
    page.text(page.middle[0], bottom - (0.5 if chances else 0.36), style.label_of(x), ha="center", va="center")
    if chances:
        page.text(left - 0.08, bottom - 0.28, "chance", ha="right", va="center", fontsize=7, color=CHANCE)
    page.text(0.2, page.middle[1], style.label_of(down), rotation=90, ha="center", va="center")
    page.legend(*legend)
    return page, panels


def _chances(cells, x, columns):
    """The chance accuracy of each column as text, "" where it is not known; none if it is the same in all."""
    if "chance_accuracy_training" not in cells or cells["chance_accuracy_training"].dropna().nunique() < 2:
        return []
    known = [cells["chance_accuracy_training"].xs(c, level=x).dropna().unique() for c in columns]
    return [_short(levels[0]) if len(levels) == 1 else "" for levels in known]


def _write_chances(axes, chances):
    """Below the columns' names."""
    for column, text in enumerate(chances):
        axes.annotate(text, (column, 0), (0, -0.28 * 72), xycoords=("data", "axes fraction"),
                      textcoords="offset points", ha="center", va="center", fontsize=7, color=CHANCE)


def _short(accuracy):
    return f"{accuracy:.2f}".replace("0.", ".", 1) if accuracy < 0.995 else "1"


def _mark(axes, grid):
    """Hatches cells with pending or failed trials, puts a triangle into those with diverged ones."""
    for status, hatch in HATCHES.items():
        for row, column in np.argwhere(grid[status] > 0):
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch=hatch, linewidth=0,
                                     edgecolor="#8a8a8a", zorder=3))
    for row, column in np.argwhere(grid["diverged"] > 0):
        corner = [(column + 0.5, row - 0.5), (column + 0.5, row - 0.08), (column + 0.2, row - 0.5)]
        axes.add_patch(Polygon(corner, facecolor=CHANCE, edgecolor="white", linewidth=0.5, zorder=4))


def _write_values(axes, grid, limits):
    """The means; dark on light where the cell is hatched."""
    values, hatched = grid["mean"], np.add(*(grid[status] for status in HATCHES)) > 0
    for row, column in np.argwhere(~np.isnan(values)):
        value = values[row, column]
        share = (value - limits[0]) / max(limits[1] - limits[0], 1e-300)
        axes.text(column, row, _short(value) if limits == (0, 1) else f"{value:.3g}", ha="center", va="center",
                  fontsize=7, zorder=5, color="white" if share > 0.55 and not hatched[row, column] else style.INK,
                  bbox={"facecolor": "white", "linewidth": 0, "pad": 1} if hatched[row, column] else None)


def _colour_bar(page, image, cells, measure):
    height = min(2.6, page.middle[3] - page.middle[2])
    axes = page.axes(page.width - 0.63, page.middle[1] - height / 2, 0.12, height)
    bar = page.figure.colorbar(image, cax=axes)
    bar.outline.set_visible(False)
    bar.set_label(style.label_of(measure), labelpad=5)
    if "accuracy" not in measure:
        return
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", ".25", ".5", ".75", "1"])
    name = "chance_accuracy_training"
    chance = cells[name].dropna().unique() if name in cells else []
    if len(chance) == 1:
        axes.axhline(chance[0], color=CHANCE, linewidth=1.2)
        axes.text(-0.25, chance[0], "chance", transform=axes.get_yaxis_transform(), ha="right", va="center",
                  fontsize=6.5, color=CHANCE, rotation=90)


def _swatches(key):
    return [Patch(facecolor=colour, edgecolor="#8a8a8a", linewidth=0.5, label=text) for colour, text in key]


def _marks(cells):
    handles = [Patch(facecolor="white", edgecolor="#8a8a8a", hatch=2 * hatch, linewidth=0.5, label=f"a seed {what}")
               for (status, hatch), what in zip(HATCHES.items(), ("is pending", "failed")) if cells[status].any()]
    if cells["diverged"].any():
        handles.append(Patch(facecolor=CHANCE, label="a seed diverged: the best epoch before"))
    return handles
