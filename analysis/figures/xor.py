"""The best fit of XOR by a single head of each aggregation, against the exact bound. Writes OUT/xor."""

from matplotlib.lines import Line2D

from analysis import analytic, style

PATTERNS, TARGETS = ("00", "01", "10", "11"), (0, 1, 1, 0)
COLUMNS = ("aggregation", "query", "mean_squared_error", "mean_squared_bound", "exact",
           *(f"output_{pattern}" for pattern in PATTERNS))
QUERIES = {"fixed": "one query for all", "own": "query of the tokens", "none": "no query"}


def main(words=None):
    analytic.run("xor", COLUMNS, draw, words, __doc__)


def draw(table):
    """A panel a row: the four patterns' outputs against what they should be."""
    page = style.Page(1, len(table), (1.28, 1.75), (0.14, 0.3), (0.55, 0.15, 1.3, 0.82))
    page.heading("XOR of two tokens by a single head", "The best fit of each aggregation, computed; error: mean squared, and "
                 "the least there can be.\nWeights that sum to one get one of four patterns wrong, whatever they are")
    for column, (_, row) in enumerate(table.iterrows()):
        axes = page.panel(0, column)
        draw_fit(axes, row)
        axes.tick_params(labelleft=column == 0)
        if column == 0:
            axes.set_ylabel("output")
    page.text(page.middle[0], 0.42, "pattern of the two tokens", ha="center", va="center")
    page.legend([Line2D([], [], linestyle="", marker="_", markersize=11, markeredgewidth=2, color=style.INK, label="XOR"),
                 Line2D([], [], linestyle="", marker="o", markersize=5, color=style.GREY, label="best fit"),
                 Line2D([], [], color=style.GREY, linewidth=1, label="error")])
    return page.figure


def draw_fit(axes, row):
    look, outputs = analytic.look(row["aggregation"]), [row[f"output_{pattern}"] for pattern in PATTERNS]
    axes.vlines(range(4), TARGETS, outputs, color=style.GREY, linewidth=1)
    axes.plot(range(4), TARGETS, linestyle="", marker="_", markersize=11, markeredgewidth=2, color=style.INK)
    axes.plot(range(4), outputs, linestyle="", marker=look["marker"], color=look["color"], markersize=5.5, zorder=3)
    axes.axhline(0.5, color=style.PALE, linewidth=0.7, zorder=0)
    axes.set(xlim=(-0.5, 3.5), ylim=(-0.12, 1.12), yticks=[0, 0.5, 1])
    axes.set_xticks(range(4), PATTERNS)
    axes.set_title(f"{row['aggregation']}", fontweight="bold", pad=30)
    error, bound = (0 if abs(row[f"mean_squared_{name}"]) < 1e-12 else row[f"mean_squared_{name}"] for name in ("error", "bound"))
    axes.text(0.5, 1.03, f"{QUERIES.get(row['query'], row['query'])}\nerror {error:.3g}, least {bound:.3g}\n"
              f"{row['exact']} of 4 right", transform=axes.transAxes, ha="center", va="bottom", fontsize=6.8, color=style.GREY,
              linespacing=1.25)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
