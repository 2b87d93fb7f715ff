"""How large what each aggregation gives is before training, over the sequence length. Writes OUT/at-start."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis import analytic, plots, style

COLUMNS = ("aggregation", "length", "std", "norm", "closed_form")
MEASURES = {"std": "standard deviation over all entries", "norm": "mean norm of an output"}
CLOSED = {"linewidth": 0.8}


def main(words=None):
    analytic.run("at-start", COLUMNS, draw, words, __doc__)


def draw(table):
    """Two panels, log-log: standard deviation with its closed forms, and norm."""
    names = list(dict.fromkeys(table["aggregation"]))
    page = style.Page(1, 2, (3.3, 2.7), (1.5, 0.3), (0.62, 1.0, 0.75, 0.95))
    page.heading("Size of aggregations before training", "One head, d = 128, queries, keys and values independent and "
                 "standard normal; nap's at one token is 0")
    table = table.assign(closed_form=pd.to_numeric(table["closed_form"], errors="coerce"))
    for column, (measure, label) in enumerate(MEASURES.items()):
        axes = page.panel(0, column)
        axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#ececec", linewidth=0.5)
        axes.last_row = True
        plots.axis(axes, "task.length", sorted(table["length"].unique()))
        axes.set_ylabel(label)
        ends = {}
        for name in names:
            own = table[(table["aggregation"] == name) & (table[measure] > 0)]
            look = analytic.look(name)
            if measure == "std":
                closed = own[own["closed_form"] > 0]
                axes.plot(closed["length"], closed["closed_form"], color=look["color"], **CLOSED)
                look = look | {"linestyle": ""}
            axes.plot(own["length"], own[measure], markersize=3.6, linewidth=1.1, **look)
            ends[name] = own[measure].iloc[-1]
        axes.yaxis.set_major_formatter(lambda value, _: style.number(value))
        axes.set_xlim(table["length"].min() / 1.2, table["length"].max() * 1.2)
        name_ends(axes, ends)
    looks = [Line2D([], [], markersize=4, label=name, **analytic.look(name)) for name in names]
    page.legend(*style.wrapped(looks, page.width),
                [Line2D([], [], color=style.GREY, marker="o", linestyle="", markersize=4, label="measured"),
                 Line2D([], [], color=style.GREY, label="left, closed form: mean N^-1/2, sum and nap N^1/2, softmax (e/N)^1/2 for "
                        "large N, max of N normals", **CLOSED)])
    return page.figure


def name_ends(axes, ends):
    """Names right of the lines' ends, moved apart."""
    low, high = np.log(axes.get_ylim())
    shares = [(np.log(end) - low) / (high - low) for end in ends.values()]
    for (name, _), share, y in zip(ends.items(), shares, style.spread(shares, least=0.062, low=0.02, high=1.0)):
        colour = analytic.look(name)["color"]
        axes.plot([1.0, 1.05], [share, y], color=colour, linewidth=0.6, transform=axes.transAxes, clip_on=False)
        axes.text(1.06, y, name, color=colour, fontsize=7.5, fontweight="bold", va="center", transform=axes.transAxes)


if __name__ == "__main__":
    main()
