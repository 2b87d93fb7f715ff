"""How a training step's time grows with the model dimension and the sequence length, and the limit of the processor.

Writes OUT/growth: a picture a format, CSV, JSON. What `headlab bench` measures is kept as JSON, and measured if missing.
"""

import argparse
import hashlib
import itertools
import json
import pathlib
import subprocess
import sys

import pandas as pd
from matplotlib.lines import Line2D

from analysis import sidecars, style
from analysis.figures.sweep import formats
from analysis.reductions import FigureError

DIM, LENGTH, ARCHITECTURE = "model.dim", "task.length", "model.architecture"
LENGTHS = (4, 16, 64, 256, 1024, 4096)
TOKENS, MOST_SEQUENCES = 2048, 32  # of a step
WIDTHS, MEASURED_ARCHITECTURES = (8, 16, 32, 64, 128, 256, 512, 1024), ("mte", "nap")
MEASURE = ("bench", "--json", "--rounds", "5", "--seconds", "7", "--model.layers", "2", "--model.heads", "4")
DOTTED = {"linestyle": (0, (1, 1.5)), "linewidth": 0.8}
MEASURED, LIMIT = "microseconds_a_token", "limit_microseconds_a_token"


def main(words=None):
    options = arguments(words)
    try:
        style.use(options.style)
        if options.headlab:
            measure(options.headlab, options.results)
        entries = read(options.results)
        options.out.mkdir(parents=True, exist_ok=True)
        finish(table(entries), names_left_out(entries), entries, options)
    except (OSError, FigureError) as error:
        sys.exit(f"error: {error}")


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="the JSON of headlab bench")
    parser.add_argument("--headlab", help="the program that measures if there are no results")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the figure")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    parser.add_argument("--style", help="a matplotlib style file, applied on top")
    return parser.parse_args(words)


def measure(headlab, to):
    """What is missing in a file, which is written anew after each configuration, so that an interruption loses one.

    Steps of fewer sequences where these are long: 2048 tokens, at least one sequence, 32 of them at most.
    """
    entries = parsed(to) if to.exists() else []
    there = {tuple(entry["configuration"][key] for key in (LENGTH, ARCHITECTURE, DIM)) for entry in entries}
    for place in itertools.product(LENGTHS, MEASURED_ARCHITECTURES, WIDTHS):
        if place not in there:
            entries += measured(headlab, *place)
            to.parent.mkdir(parents=True, exist_ok=True)
            part = to.with_name(f"{to.name}.part")
            sidecars.write_json(part, {"version": 1, "bench": entries})
            part.replace(to)


def measured(headlab, length, architecture, dim):
    batch = max(1, min(MOST_SEQUENCES, TOKENS // length))
    command = [headlab, *MEASURE, "--model.architecture", architecture, "--model.dim", str(dim),
               "--task.length", str(length), "--train.batch", str(batch)]
    print(" ".join(command), flush=True)
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    if run.returncode != 0:
        raise FigureError(f"{headlab} bench has ended with code {run.returncode}")
    return json.loads(run.stdout)["bench"]


def read(path):
    """What was measured of each configuration, something at least. FigureError, OSError."""
    entries = parsed(path)
    if all("left_out" in entry for entry in entries):
        raise FigureError(f"{path}: holds no measured step")
    return entries


def parsed(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))["bench"]
    except FileNotFoundError as error:
        raise FigureError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError) as error:
        raise FigureError(f"{path}: is not JSON of headlab bench ({error})") from error


def table(entries):
    """A row an architecture, length and width that was measured; the limit is at the largest peak that was measured."""
    rows, peak = [], max((entry["peak_gflops"] for entry in entries if "left_out" not in entry), default=0)
    for entry in entries:
        if "left_out" in entry:
            continue
        key, step = entry["configuration"], entry["step"]
        tokens = key["train.batch"] * key[LENGTH]
        rows.append({
            ARCHITECTURE: key[ARCHITECTURE], DIM: key[DIM], LENGTH: key[LENGTH], "train.batch": key["train.batch"],
            MEASURED: 1e3 * step["best_ms"] / tokens,
            LIMIT: 1e-3 * step["operations"] / tokens / peak,
            "operations": step["operations"], "best_ms": step["best_ms"], "median_ms": step["median_ms"],
            "rounds": entry["rounds"], "peak_gflops": peak,
        })
    return pd.DataFrame(rows).set_index([ARCHITECTURE, DIM, LENGTH]).sort_index()


def names_left_out(entries):
    keys = [entry["configuration"] for entry in entries if "left_out" in entry]
    return [f"{key[ARCHITECTURE]} $d$ = {key[DIM]}, $N$ = {key[LENGTH]}" for key in keys]


def finish(steps, left_out, entries, options):
    processors = sorted({f"{entry['processor']}, {entry['instructions']}" for entry in entries})
    figure = draw(steps, left_out, ", ".join(processors))
    style.save(figure, options.out / "growth", options.formats)
    sidecars.write_table(options.out / "growth.csv", steps)
    sidecars.write_json(options.out / "growth.json", {
        "figure": "growth",
        "results": {"path": str(options.results), "sha256": hashlib.sha256(options.results.read_bytes()).hexdigest()},
        "processors": processors,
        "limit": "operations of the step's products / the speed of fused multiply-adds measured in the same runs",
        "left_out": left_out,
        **sidecars.drawing(),
    })
    print(f"{options.out / 'growth'}.{{{','.join(options.formats + ['csv', 'json'])}}}")


def draw(steps, left_out, processors):
    """A column an architecture; above over d, a line a length, below over N, a line a width."""
    architectures = style.in_order(steps.index.unique(ARCHITECTURE))
    page = style.Page(2, len(architectures), (2.75, 2.35), (0.75, 0.62), (0.62, 0.75, 1.05 + 0.13 * bool(left_out), 0.8))
    page.heading("Growth of a training step", "\n".join(filter(None, [
        f"Time of whole steps divided by their tokens, best of a few; two layers, four heads, one thread of {processors}.",
        f"A step has {MOST_SEQUENCES} sequences, where those are longer than {TOKENS // MOST_SEQUENCES} tokens about"
        f" {TOKENS:,} tokens, but one sequence at least.",
        left_out and f"Left out, too long: {'; '.join(left_out)}."])))
    for column, architecture in enumerate(architectures):
        own = steps.loc[architecture]
        for row, (x, each, symbol) in enumerate(((DIM, LENGTH, "N"), (LENGTH, DIM, "d"))):
            axes = page.panel(row, column)
            frame(axes, own, x, (0.6 * steps[LIMIT].min(), 1.6 * steps[MEASURED].max()))
            names = lines(axes, own, x, each, symbol)
            if row == 0:  # lines meet at their ends, and leave the lower right free
                axes.legend(handles=names, loc="lower right", ncol=2, fontsize=7, handlelength=1.2, columnspacing=1)
                axes.set_title(architecture, pad=5)
            else:
                name_ends(axes, names)
            axes.tick_params(labelleft=column == 0)
            if column == 0:
                axes.set_ylabel("microseconds a token")
    peak = f"limit: operations of the products at the peak of fused multiply-adds, {steps['peak_gflops'].max():.0f} GFLOP/s"
    page.legend([Line2D([], [], color=style.INK, marker="o", markersize=2.5, label="measured"),
                 Line2D([], [], color=style.INK, label=peak, **DOTTED)])
    return page.figure


def frame(axes, steps, x, limits):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    ticks = sorted(steps.index.unique(x))
    axes.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: style.number(value))
    axes.minorticks_off()
    axes.grid(color=style.PALE, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.set_xlabel(style.label_of(x))


def lines(axes, steps, x, each, symbol):
    """Over x a line for each value of the other key, with its limit: the lines, named."""
    values = steps.index.unique(each).sort_values()
    names = []
    for value in values:
        line = steps.xs(value, level=each).sort_index()
        look = style.look(value, list(values)) | {"linestyle": "solid"}
        axes.plot(line.index, line[LIMIT], color=look["color"], **DOTTED)
        names += axes.plot(line.index, line[MEASURED], markersize=3.5, linewidth=1, label=f"${symbol}$ = {value}", **look)
    return names


def name_ends(axes, names):
    """Names right of the lines' ends, moved apart where they would touch."""
    transform = axes.transAxes
    ends = [transform.inverted().transform(axes.transData.transform(line.get_xydata()[-1]))[1] for line in names]
    for line, end, y in zip(names, ends, style.spread(ends, least=0.068, low=0.02, high=1.0)):
        colour = line.get_color()
        axes.plot([1.005, 1.04], [end, y], color=colour, linewidth=0.6, transform=transform, clip_on=False)
        axes.text(1.05, y, line.get_label(), color=colour, va="center", fontsize=7, transform=transform)


if __name__ == "__main__":
    main()
