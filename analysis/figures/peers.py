"""How many times a training step of headlab is faster than one of each peer: over the width and over the length.

Reads the peers.json of `make bench-peers`, writes OUT/peers: a picture a format, CSV, JSON.
"""

import argparse
import csv
import hashlib
import json
import pathlib
import platform
import shlex
import statistics
import sys

import matplotlib
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis import peers_table, style
from analysis.figures.sweep import formats

COLOURS = ("#D55E00", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7")  # of peers, as they come
DASHES = ("solid", (0, (3, 1.5)))  # of a group's architectures
WIDTH, LENGTH = 128, 128  # of the panels over the other
TICKS = (0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
COLUMNS = ("architecture", "dim", "length", "peer", "headlab_best_ms", "peer_best_ms", "ratio_of_best",
           "headlab_median_ms", "peer_median_ms", "ratio_of_medians", "target")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("timings", type=pathlib.Path, help="peers.json")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the figure")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    options = parser.parse_args(words)
    try:
        found = json.loads(options.timings.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"error: [{options.timings}] must be timings of `make bench-peers`: {error}")
    cells = peers_table.in_order(found["cells"])
    if not cells:
        sys.exit(f"error: [{options.timings}] must hold a cell at least")
    style.use()
    options.out.mkdir(parents=True, exist_ok=True)
    style.save(figure(cells, "A training step on one core: how many times faster headlab is", subtitle(found)),
               options.out / "peers", options.formats)
    write_numbers(options.out / "peers.csv", cells)
    write_origin(options.out / "peers.json", options.timings, found)
    print(f"{options.out / 'peers'}.{{{','.join(options.formats + ['csv', 'json'])}}}")


def subtitle(found):
    versions = ", ".join(text.replace("==", " ") for text in found["requirements"] if "==" in text)
    rounds = min(len(times) for cell in found["cells"] for times in cell["milliseconds"].values())
    counted = f"{rounds} round{'s' if rounds > 1 else ''}"
    return (f"Best of {counted} in which all take turns; float32, 32 sequences, two layers, four heads\n"
            f"{found['processor']}, one core; headlab {found['commit']}, {versions}")


def figure(cells, title, below):
    """A column a group of architectures; above over the width, below over the length."""
    names = list(dict.fromkeys(name for cell in cells for name in peers_table.ratios(cell, "best")))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    page = style.Page(2, len(peers_table.GROUPS), (2.2, 1.9), (0.5, 0.62), (0.55, 0.2, 0.88, 0.98))
    page.heading(title, below)
    shared = {}
    for row, (axis, fixed, at) in enumerate((("dim", "length", LENGTH), ("length", "dim", WIDTH))):
        for column, group in enumerate(peers_table.GROUPS):
            axes = page.panel(row, column, **shared.get(column, {}))
            shared.setdefault(column, {"sharey": axes})
            draw(axes, [cell for cell in cells if cell[fixed] == at], group, axis, colours)
            frame(axes, axis)
            axes.set_title(f"{', '.join(group)}: ${'N' if axis == 'dim' else 'd'}$ = {at}")
            if column == 0:
                axes.set_ylabel("time of a step, peer / headlab")
    page.legend([Line2D([], [], color=colour, label=name) for name, colour in colours.items()], meanings())
    return page.figure


def meanings():
    first, second = (f"{', '.join(group[i] for group in peers_table.GROUPS)}" for i in (0, 1))
    return [Line2D([], [], color=style.INK, linestyle=DASHES[0], label=first),
            Line2D([], [], color=style.INK, linestyle=DASHES[1], label=second),
            Line2D([], [], color=style.INK, marker="_", markersize=9, linestyle="", label="target for the fastest")]


def draw(axes, cells, group, axis, colours):
    """Lines over cells[axis], and the targets."""
    for architecture, dashes in zip(group, DASHES):
        own = sorted((cell for cell in cells if cell["architecture"] == architecture), key=lambda cell: cell[axis])
        for name, colour in colours.items():
            points = [(cell[axis], peers_table.ratios(cell, "best")[name]) for cell in own
                      if name in cell["milliseconds"]]
            if points:
                axes.plot(*zip(*points), color=colour, linestyle=dashes, marker="o", markersize=2.5, gid=name)
    fixed = ("length", LENGTH) if axis == "dim" else ("dim", WIDTH)
    shapes = [dict(zip(("dim", "length"), shape)) for shape in peers_table.SHAPES]
    wanted = sorted((shape[axis], peers_table.target(group[0], (shape["dim"], shape["length"])))
                    for shape in shapes if shape[fixed[0]] == fixed[1])
    axes.scatter(*zip(*wanted), marker="_", s=110, color=style.INK, zorder=3, linewidth=1.4, gid="target")


def frame(axes, axis):
    axes.set(xscale="log", yscale="log")
    at = sorted({shape[axis != "dim"] for shape in peers_table.SHAPES})
    axes.set_xlim(at[0] / 1.25, at[-1] * 1.25)
    axes.xaxis.set_major_locator(FixedLocator(at))
    axes.yaxis.set_major_locator(FixedLocator(TICKS))
    for one in (axes.xaxis, axes.yaxis):
        one.set_minor_locator(NullLocator())
        one.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))
    axes.set_xlabel(style.label_of("model.dim" if axis == "dim" else "task.length"))
    axes.axhline(1, color=style.GREY, linewidth=0.6)
    axes.grid(axis="y", color=style.PALE, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def write_numbers(path, cells):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for cell in cells:
            for name in peers_table.ratios(cell, "best"):
                times = []
                for summarise in (min, statistics.median):
                    ours, theirs = (summarise(cell["milliseconds"][who]) for who in (peers_table.HEADLAB, name))
                    times += [ours, theirs, theirs / ours]
                wanted = peers_table.target(cell["architecture"], (cell["dim"], cell["length"]))
                writer.writerow([cell["architecture"], cell["dim"], cell["length"], name,
                                 *(f"{value:.6g}" for value in times), "" if wanted is None else f"{wanted:g}"])


def write_origin(path, timings, found):
    origin = {
        "figure": "peers",
        "timings": {"path": str(timings), "sha256": hashlib.sha256(timings.read_bytes()).hexdigest()},
        **{key: value for key, value in found.items() if key != "cells"},
        "versions": {"python": platform.python_version(), "matplotlib": matplotlib.__version__},
        "command": shlex.join(sys.orig_argv),
    }
    path.write_text(json.dumps(origin, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
