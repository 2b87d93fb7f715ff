"""Where each aggregation can put its output: the values' convex hull is softmax's cage. Writes OUT/output-cage."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from analysis import analytic, style

ATTENTION, POOLS = ("softmax", "nap", "non"), ("sum", "max")
COLUMNS = ("kind", "aggregation", "x", "y", "outside")
SHARE_SHOWN = 0.98  # of all outputs; what lies further out is counted, not drawn


def main(words=None):
    analytic.run("output-cage", COLUMNS, draw, words, __doc__)


def draw(table):
    """A panel each for softmax, nap and non with their outputs, one for the pools, all at one scale."""
    outputs = table[table["kind"] == "output"]
    page = style.Page(1, len(ATTENTION) + 1, (2.3, 2.3), (0.18, 0.3), (0.72, 0.15, 0.85, 0.75))
    count = int((outputs["aggregation"] == "softmax").sum())
    page.heading("Attention's cage", f"{(table['kind'] == 'value').sum()} values in the plane, their convex hull, and the "
                 f"outputs of one head for {count} random queries and keys; pools have one output each")
    limit = extent(outputs, table)
    for column, name in enumerate((*ATTENTION, "sum and max")):
        axes = page.panel(0, column)
        shown = POOLS if name == "sum and max" else (name,)
        cage(axes, table)
        for aggregation in shown:
            draw_outputs(axes, outputs[outputs["aggregation"] == aggregation], aggregation, limit)
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit))
        axes.set_aspect("equal")
        axes.tick_params(labelleft=column == 0)
        axes.set_xlabel("first component of a value")
        axes.set_title(title(name, outputs[outputs["aggregation"].isin(shown)]), pad=5)
        if column == 0:
            axes.set_ylabel("second component")
    page.legend(legend())
    return page.figure


def title(name, outputs):
    if name in ATTENTION:
        return f"{name}: {np.mean(outputs['outside'] > 1e-9):.0%} outside"
    return name


def extent(outputs, table):
    """Half the side of the panels: most outputs and all values lie in them."""
    reach = outputs[["x", "y"]].abs().max(axis=1)
    values = table.loc[table["kind"] != "output", ["x", "y"]].abs().to_numpy().max()
    return 1.1 * max(np.quantile(reach, SHARE_SHOWN), values)


def cage(axes, table):
    corners = table.loc[table["kind"] == "corner", ["x", "y"]].to_numpy()
    values = table.loc[table["kind"] == "value", ["x", "y"]].to_numpy()
    axes.add_patch(Polygon(corners, facecolor="#ececec", edgecolor=style.GREY, linewidth=0.8, zorder=1))
    axes.plot(*values.T, linestyle="", marker="o", markersize=5, markerfacecolor="white", markeredgecolor=style.INK,
              markeredgewidth=0.9, zorder=4)


def draw_outputs(axes, own, aggregation, limit):
    look, pool = analytic.look(aggregation), aggregation in POOLS
    axes.plot(own["x"], own["y"], linestyle="", marker=look["marker"], color=look["color"], markersize=8 if pool else 2.6,
              markeredgecolor="white", markeredgewidth=0.6 if pool else 0.15, alpha=1 if pool else 0.75, zorder=5 if pool else 3)
    beyond = int((own[["x", "y"]].abs().max(axis=1) > limit).sum())
    if beyond:
        axes.text(0.97, 0.03, f"{beyond} further out", transform=axes.transAxes, ha="right", va="bottom", fontsize=6.5,
                  color=style.GREY)


def legend():
    marks = [Line2D([], [], linestyle="", marker=analytic.look(a)["marker"], color=analytic.look(a)["color"], markersize=5,
                    label=f"output of {a}") for a in (*ATTENTION, *POOLS)]
    return [Line2D([], [], linestyle="", marker="o", markersize=5, markerfacecolor="white", markeredgecolor=style.INK,
                   label="value"), Patch(facecolor="#ececec", edgecolor=style.GREY, label="convex hull of the values"), *marks]


if __name__ == "__main__":
    main()
