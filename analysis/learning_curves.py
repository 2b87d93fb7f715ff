"""Learning curves: the mean over seeds as a line, minimum to maximum as a band."""

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis import style
from analysis.reductions import ARCHITECTURE, RATE, seeds_of

PANEL = 2.3  # inches
PUBLISHED = {"color": "#555555", "linestyle": (0, (4, 1.5)), "linewidth": 1.1}


def chosen(curves, counts, rates, x, title, subtitle):
    """A panel for each value of x, in it each architecture at its chosen learning rate, written at its line's end.

    curves: cell_curves; counts: cell_counts; rates: chosen_rates.
    """
    values = sorted(curves.index.unique(x))
    across = min(len(values), 4 if len(values) in (4, 7, 8) else 3)
    names = 0.07 * max(map(len, curves.index.unique(ARCHITECTURE)))  # inches
    drawn = [(a, value, rate) for (a, value), rate in rates.items()]
    gap, left, right = 0.77 + names, 0.5, 0.72 + names
    legend = style.wrapped(_meaning(counts.loc[[cell for cell in drawn if cell in counts.index]]),
                           left + across * PANEL + (across - 1) * gap + right)
    page = style.Page(-(-len(values) // across), across, (PANEL, 2.1), (gap, 0.5),
                      (left, right, 0.98, 0.54 + 0.2 * len(legend)))
    page.heading(title, subtitle)
    for i, value in enumerate(values):
        axes = page.panel(*divmod(i, across))
        axes.set_title(f"{style.label_of(x)} = {style.number(value)}", pad=5)
        _frame(axes, curves)
        own = {a: rates[a, value] for a in style.in_order(curves.index.unique(ARCHITECTURE)) if (a, value) in rates}
        ends = [_draw(axes, curves, counts, (a, value, rate)) for a, rate in own.items()]
        _name_ends(axes, list(own.items()), ends, curves)
        _chance(axes, counts, x, value, written=True)
        axes.tick_params(labelleft=i % across == 0)
        if i % across == 0:
            axes.set_ylabel("accuracy")
        if i + across >= len(values):
            axes.set_xlabel("epoch")
    page.legend(*legend)
    return page.figure


def every_cell(curves, counts, x, title, subtitle):
    """Small panels: a row a learning rate, falling, a column a value of x, in each all architectures."""
    values, rates = sorted(curves.index.unique(x)), sorted(curves.index.unique(RATE), reverse=True)
    architectures = style.in_order(curves.index.unique(ARCHITECTURE))
    panel = (1.2, 0.85) if len(values) > 3 else (2.1, 1.15)
    left, right, gap = 0.5, 0.75, 0.12
    page_width = left + len(values) * panel[0] + (len(values) - 1) * gap + right
    legend = style.wrapped(_lines(architectures), page_width) + style.wrapped(_meaning(counts), page_width)
    bottom = 0.5 + 0.2 * len(legend)
    page = style.Page(len(rates), len(values), panel, (gap, gap), (left, right, 1.12, bottom))
    page.heading(title, subtitle)
    for row, rate in enumerate(rates):
        for column, value in enumerate(values):
            axes = page.panel(row, column)
            _frame(axes, curves)
            for a in architectures:
                _draw(axes, curves, counts, (a, value, rate), linewidth=1)
            _chance(axes, counts, x, value)
            axes.tick_params(labelbottom=row == len(rates) - 1, labelleft=column == 0)
            if row == 0:
                axes.set_title(style.number(value), pad=4)
        axes.text(1.04, 0.5, style.number(rate), transform=axes.transAxes, va="center", fontsize=9)
    page.text(page.middle[0], page.middle[3] + 0.3, style.label_of(x), ha="center", va="center")
    page.text(page.width - 0.14, page.middle[1], style.label_of(RATE), rotation=270, ha="center", va="center")
    page.text(0.18, page.middle[1], "accuracy", rotation=90, ha="center", va="center")
    page.text(page.middle[0], bottom - 0.28, "epoch", ha="center", va="center")
    page.legend(*legend)
    return page.figure


def beside(curves, published, counts, x, title, subtitle):
    """A column an architecture, a row a cell of both: ours in its colour, the published one in grey, each with its band.

    published: indexed like curves.
    """
    cells = published.index.droplevel(["epoch", ARCHITECTURE]).unique().sort_values()
    architectures = style.in_order(published.index.unique(ARCHITECTURE))
    page = style.Page(len(cells), len(architectures), (1.35, 1.0), (0.14, 0.34), (0.5, 0.2, 1.08, 0.74))
    page.heading(title, subtitle)
    for row, (value, rate) in enumerate(cells):
        for column, architecture in enumerate(architectures):
            axes, cell = page.panel(row, column), (architecture, value, rate)
            _frame(axes, curves)
            if cell in published.index.droplevel("epoch"):
                _draw_published(axes, published.loc[cell])
                _draw(axes, curves, counts, cell)
            _chance(axes, counts, x, value)
            axes.tick_params(labelbottom=row == len(cells) - 1, labelleft=column == 0)
            axes.set_title(architecture if row == 0 else "", pad=14)
            if column == 0:
                axes.text(0, 1.05, f"{style.named(x, value)}, {style.label_of(RATE)} {style.number(rate)}", va="bottom",
                          transform=axes.transAxes, fontsize=7.5, color=style.GREY)
    page.text(0.16, page.middle[1], "training accuracy", rotation=90, ha="center", va="center")
    page.text(page.middle[0], 0.45, "epoch", ha="center", va="center")
    page.legend([Line2D([], [], color=style.ARCHITECTURES["nap"][0], label=f"ours, mean of {seeds_of(counts)}"),
                 Line2D([], [], label="published, mean of 5 runs", **PUBLISHED),
                 Patch(facecolor=style.GREY, alpha=0.25, label="smallest to greatest"),
                 Line2D([], [], color=style.INK, linewidth=0.7, linestyle=(0, (1, 2)), label="chance")])
    return page.figure


def _draw_published(axes, own):
    axes.fill_between(own.index, own["min"], own["max"], color=PUBLISHED["color"], alpha=0.25, linewidth=0)
    axes.plot(own.index, own["mean"], **PUBLISHED)


def _frame(axes, curves):
    last = curves.index.unique("epoch").max()
    axes.set(xlim=(1 if last > 1 else 0.5, max(last, 1.5)), ylim=(0, 1.02), yticks=[0, 0.5, 1])
    axes.set_yticklabels(["0", ".5", "1"])
    axes.xaxis.get_major_locator().set_params(integer=True, nbins=5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#ececec", linewidth=0.5)
    axes.set_axisbelow(True)


def _draw(axes, curves, counts, cell, linewidth=1.5):
    """The mean in the last epoch that all seeds have, None if there is none."""
    if cell not in counts.index or counts.loc[cell, "finished"] == 0:
        return None
    own = curves.loc[cell, ["min", "mean", "max"]].dropna()
    if own.empty:
        return None
    colour, dashes = style.line_of(cell[0], curves.index.unique(ARCHITECTURE))
    axes.fill_between(own.index, own["min"], own["max"], color=colour, alpha=0.18, linewidth=0)
    axes.plot(own.index, own["mean"], color=colour, linestyle=dashes, linewidth=linewidth, solid_capstyle="round")
    if counts.loc[cell, "diverged"]:
        axes.plot(own.index[-1], own["mean"].iloc[-1], "x", color=colour, markersize=5, clip_on=False)
    return own["mean"].iloc[-1]


def _name_ends(axes, names, ends, curves):
    """Architecture and learning rate beside each line's end, moved apart where they would overlap."""
    there = [i for i, end in enumerate(ends) if end is not None]
    longest = max((len(names[i][0]) for i in there), default=0)
    heights = style.spread([ends[i] for i in there], least=0.072, low=0.03, high=1.0)
    for i, y in zip(there, heights):
        architecture, rate = names[i]
        colour, _ = style.line_of(architecture, curves.index.unique(ARCHITECTURE))
        transform = axes.get_yaxis_transform()
        axes.plot([1.005, 1.045], [ends[i], y], color=colour, linewidth=0.6, transform=transform, clip_on=False)
        axes.text(1.06, y, architecture, color=colour, fontweight="bold", va="center", fontsize=7.5,
                  transform=transform)
        axes.text(1.06 + (0.02 + 0.07 * longest) / PANEL, y, style.number(rate), color=style.GREY, va="center",
                  fontsize=6.5, transform=transform)


def _chance(axes, counts, x, value, written=False):
    """A line at the training accuracy of the best guess that ignores the sequence."""
    chance = counts.xs(value, level=x).get("chance_accuracy_training")
    if chance is None or chance.dropna().nunique() != 1:
        return
    level = chance.dropna().iloc[0]
    axes.axhline(level, color=style.INK, linewidth=0.7, linestyle=(0, (1, 2)))
    if written:
        below = level > 0.08
        axes.text(0.985, level + (-0.012 if below else 0.012), "chance", transform=axes.get_yaxis_transform(),
                  ha="right", va="top" if below else "bottom", fontsize=6.5, color=style.INK)


def _lines(architectures):
    styles = [style.line_of(a, architectures) for a in architectures]
    return [Line2D([], [], color=colour, linestyle=dashes, label=a)
            for a, (colour, dashes) in zip(architectures, styles)]


def _meaning(counts):
    """What a line, its band and the marks are."""
    handles = [Line2D([], [], color=style.GREY, label=f"mean of {seeds_of(counts)}"),
               Patch(facecolor=style.GREY, alpha=0.25, label="smallest to greatest seed"),
               Line2D([], [], color=style.INK, linewidth=0.7, linestyle=(0, (1, 2)), label="chance")]
    if counts["diverged"].any():
        handles.append(Line2D([], [], color=style.GREY, marker="x", linestyle="", markersize=5,
                              label="a seed diverged after this"))
    return handles
