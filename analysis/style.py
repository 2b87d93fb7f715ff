"""How figures look: the fixed order and colours of architectures, names of axes, panels in inches, deterministic files.

Colours are Okabe and Ito's, told apart with any colour vision; lines differ in dashes and marks too, for print in grey.
"""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

matplotlib.use("agg")

# In the order in which they are drawn: colour, dashes. Between bert and mte the settings of the ablation.
ARCHITECTURES = {
    "bert": ("#0072B2", (0, (1, 1))),
    "+ no warm-up": ("#CC79A7", (0, (3, 1))),
    "+ no clipping": ("#8C564B", "solid"),
    "+ norms of mte": ("#000000", (0, (3, 1, 1, 1))),
    "mte": ("#56B4E9", (0, (5, 1.5))),
    "nap": ("#D55E00", "solid"),
    "non": ("#E69F00", (0, (3, 1, 1, 1))),
    "sum": ("#009E73", (0, (7, 1, 1, 1, 1, 1))),
    "max": ("#7F7F7F", (0, (2.5, 1))),
}
MARKS = {"bert": "o", "+ no warm-up": "P", "+ no clipping": "<", "+ norms of mte": "*", "mte": "s", "nap": "D", "non": "v",
         "sum": "^", "max": "X"}
# How heads share queries and keys, in the order of their colours here.
SHARING = {"concatenated": "#0072B2", "collaborative": "#D55E00", "multi_query": "#009E73", "head-svd": "#8C564B",
           "continued": "#7F7F7F", "from scratch": "#CC79A7"}
LATER_DASHES, LATER_MARKS = ("solid", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1))), "oDs^vP<X"
LATER = ("#CC79A7", "#8C564B", "#000000", "#B8A500")  # for architectures not named above, in alphabetical order

LABELS = {
    "model.dim": "model dimension $d$",
    "model.heads": "heads $M$",
    "model.layers": "layers $L$",
    "model.dropout": "dropout rate",
    "task.length": "sequence length $N$",
    "task.vocabulary": "vocabulary $V$",
    "task.case_bias": "case bias",
    "train.batch": "batch size",
    "train.l2": r"L2 factor $\lambda$",
    "train.learning_rate": "learning rate",
    "init.std": "initial standard deviation",
    "train_accuracy": "training accuracy",
    "validation_accuracy": "validation accuracy",
    "test_accuracy": "test accuracy",
    "train_loss": "training loss (nat)",
    "validation_loss": "validation loss (nat)",
    "test_loss": "test loss (nat)",
    "gradient_norm": "gradient norm",
    "seconds": "seconds",
    "query_key_parameters": "parameters of queries and keys",
    "score_operations": "operations of a score",
}

# One hue, even steps in lightness, so that it reads the same in grey.
ACCURACY = LinearSegmentedColormap.from_list(
    "accuracy", ["#f7fbff", "#d6e5f4", "#abcfe6", "#6caed6", "#3787c0", "#105ba4", "#08306b"])
# Around zero, equally light on both sides.
DIFFERENCE = LinearSegmentedColormap.from_list("difference", ["#D98A3D", "#FFFFFF", "#6FA8D6"])
GREY, PALE, INK = "#6b6b6b", "#d9d9d9", "#222222"

BASE = {
    "font.family": "DejaVu Sans", "font.size": 8, "text.color": INK, "axes.labelcolor": INK,
    "axes.titlesize": 9, "axes.labelsize": 8, "axes.edgecolor": "#8a8a8a", "axes.linewidth": 0.6,
    "xtick.labelsize": 7.5, "ytick.labelsize": 7.5, "xtick.color": "#8a8a8a", "ytick.color": "#8a8a8a",
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.major.size": 2.5, "ytick.major.size": 2.5, "lines.linewidth": 1.4, "hatch.linewidth": 0.6,
    "legend.frameon": False, "legend.fontsize": 8, "savefig.dpi": 200, "figure.dpi": 100,
    "pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "headlab", "path.simplify": True,
}


def use(style=None):
    """Sets matplotlib up from its own defaults, then ours, then a style file, whatever the user's matplotlibrc says."""
    plt.style.use(["default", BASE] + ([style] if style else []))


def in_order(architectures):
    """Those we know in their fixed order, then all others by name."""
    others = sorted(set(architectures) - set(ARCHITECTURES))
    return [a for a in ARCHITECTURES if a in set(architectures)] + others


def line_of(architecture, architectures):
    """Colour and dashes of an architecture among those of a sweep."""
    if architecture in ARCHITECTURES:
        return ARCHITECTURES[architecture]
    if architecture in SHARING:
        return SHARING[architecture], LATER_DASHES[list(SHARING).index(architecture) % len(LATER_DASHES)]
    later = [a for a in in_order(architectures) if a not in ARCHITECTURES]
    return LATER[later.index(architecture) % len(LATER)], "solid"


def look(value, values):
    """Colour, dashes and mark of one of the values of a key: architectures in theirs, others from dark to light."""
    if value in ARCHITECTURES or isinstance(value, str):
        colour, dashes = line_of(value, values)
        later = sorted(set(values) - set(MARKS), key=str)
        return {"color": colour, "linestyle": dashes,
                "marker": MARKS.get(value) or LATER_MARKS[later.index(value) % len(LATER_MARKS)]}
    place = sorted(values).index(value)
    return {"color": colormaps["viridis"](0.83 * place / max(len(values) - 1, 1)),
            "linestyle": LATER_DASHES[place % len(LATER_DASHES)], "marker": LATER_MARKS[place % len(LATER_MARKS)]}


def label_of(key):
    """Of a key or a measure; those at another relative length than 1 say so: test_accuracy@0.5 at 0.5 N."""
    if key in LABELS:
        return LABELS[key]
    name, _, length = key.partition("@")
    if name.startswith("case_accuracy."):
        name = f"accuracy of case {name.split('.', 1)[1].replace('_', ' ')}"
    text = LABELS.get(name, name)
    return f"{text} at {'N/2' if length == '0.5' else f'{length} N'}" if length else text


def named(key, value):
    """A value as a panel's title or in a legend: architectures by their name, others with their key's symbol."""
    if isinstance(value, str):
        return value
    label = label_of(key)
    return f"{label.split()[-1] if label.endswith('$') else label} = {number(value)}"


def number(value):
    """Short: integers below a million whole, 0.0081, three significant digits from 0.0001; 2.0e-5, 1.0e30 beyond."""
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    if float(value).is_integer():
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):.10f}".rstrip("0")


def spread(values, least, low, high):
    """Places nearest to `values` (least squares), in their order, at least `least` apart; then moved into low..high."""
    order = np.argsort(values, kind="stable")
    groups = []  # neighbours that touch: sum of what their first wants, how many
    for rank, value in enumerate(np.asarray(values, float)[order]):
        groups.append((value - rank * least, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            (wanted, n), (more, m) = groups[-2:]
            groups[-2:] = [(wanted + more, n + m)]
    firsts = np.repeat([wanted / n for wanted, n in groups], [n for _, n in groups])
    ranks = np.arange(len(firsts))
    places = np.clip(firsts, low, high - least * max(len(firsts) - 1, 0)) + ranks * least
    result = np.empty(len(places))
    result[order] = places
    return result.tolist()


HANDLE, HANDLE_PAD, COLUMN_GAP, LEGEND_LEFT = 2.0, 0.6, 1.4, 0.14  # in letters' heights, but the last, in inches


def wrapped(handles, width):
    """Rows of a legend's handles that fit a page of a width in inches, one handle a row at least."""
    font = FontProperties(size=plt.rcParams["legend.fontsize"])
    letter = font.get_size_in_points() / 72
    rows, used = [], 0
    for handle in handles:
        text = TextPath((0, 0), handle.get_label(), prop=font).get_extents().x1 / 72
        own = (HANDLE + HANDLE_PAD) * letter + text
        if rows and used + COLUMN_GAP * letter + own <= width - 2 * LEGEND_LEFT:
            rows[-1].append(handle)
            used += COLUMN_GAP * letter + own
        else:
            rows.append([handle])
            used = own
    return rows


class Page:
    """A figure with panels of a fixed size in inches on a grid; what is above and below has its own space."""

    def __init__(self, rows, columns, panel, gap, margins):
        """panel, gap: (width, height); margins: (left, right, top, bottom)."""
        left, right, top, bottom = margins
        self.width = left + columns * panel[0] + (columns - 1) * gap[0] + right
        self.height = top + rows * panel[1] + (rows - 1) * gap[1] + bottom
        self.figure = plt.figure(figsize=(self.width, self.height))
        self._place = lambda row, column: (left + column * (panel[0] + gap[0]),
                                           self.height - top - panel[1] - row * (panel[1] + gap[1]))
        self._panel = panel
        # Of all panels together: x and y of the middle, y of the bottom and the top.
        self.middle = ((left + self.width - right) / 2, (bottom + self.height - top) / 2, bottom, self.height - top)

    def panel(self, row, column, **options):
        return self.axes(*self._place(row, column), *self._panel, **options)

    def axes(self, x, y, width, height, **options):
        """Axes at inches from the lower left corner."""
        return self.figure.add_axes(
            [x / self.width, y / self.height, width / self.width, height / self.height], **options)

    def text(self, x, y, text, **options):
        """Text at inches from the left and, if y is negative, from the top."""
        y = y if y >= 0 else self.height + y
        return self.figure.text(x / self.width, y / self.height, text, **options)

    def legend(self, *rows):
        """Rows of handles at the lower left, from the top; empty ones take no place. See wrapped."""
        for i, handles in enumerate(reversed([row for row in rows if row])):
            self.figure.legend(handles=handles, loc="lower left", ncol=len(handles), handlelength=HANDLE,
                               columnspacing=COLUMN_GAP, handletextpad=HANDLE_PAD, borderpad=0, borderaxespad=0,
                               bbox_to_anchor=(LEGEND_LEFT / self.width, (0.12 + 0.2 * i) / self.height))

    def heading(self, title, subtitle, left=0.12):
        """In smaller letters where they would not fit the page."""
        for text in (self.text(left, -0.13, title, fontsize=10.5, fontweight="bold", va="top"),
                     self.text(left, -0.35, subtitle, fontsize=8, color=GREY, va="top", linespacing=1.35)):
            needed = text.get_window_extent().width / self.figure.dpi
            text.set_fontsize(text.get_fontsize() * min(1, (self.width - 2 * left) / max(needed, 0.01)))


def save(figure, stem, formats):
    """Writes STEM.FORMAT for each format, without dates: the same figure gives the same bytes. The paths written."""
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    paths = [f"{stem}.{form}" for form in formats]
    for path, form in zip(paths, formats):
        figure.savefig(path, format=form, metadata=undated.get(form))
    close(figure)
    return paths


def close(figure):
    plt.close(figure)
