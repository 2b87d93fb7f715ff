"""How much of a model's queries and keys lies in few dimensions, at the start, in the middle and at the end of training.

Beside it the band of random weights of the same shape. Writes OUT/spectra: a picture a format, CSV, JSON.
"""

import sys

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis import conversions, plots, sidecars, style
from analysis.reductions import FigureError

MODEL = ("--task.name", "multi_relation", "--model.layers", "2", "--model.dim", "64", "--train.steps_per_epoch", "50",
         "--eval.every", "5", "--eval.sequences", "512", "--eval.test_sequences", "1024", "--lr", "0.003")
EPOCHS = {"smoke": 4, "small": 20, "paper": 80}
KINDS = {"head_query": "each head's queries", "head_key": "each head's keys", "head_product": "each head's product",
         "product": "product, all heads", "query": "queries, all heads", "key": "keys, all heads",
         "unfolding_query": "unfolding by queries", "unfolding_key": "unfolding by keys"}
LOOKS = {"start": ("#7F7F7F", (0, (1, 1))), "middle": ("#56B4E9", (0, (5, 1.5))), "end": ("#D55E00", "solid")}


def main(words=None):
    options = conversions.arguments(words, __doc__, EPOCHS)
    try:
        style.use(options.style)
        if options.headlab:
            measure(conversions.Runs(options.headlab, options.results), EPOCHS[options.budget])
        table = read(options.results)
        options.out.mkdir(parents=True, exist_ok=True)
        style.save(draw(table), options.out / "spectra", options.formats)
        sidecars.write_table(options.out / "spectra.csv", table.set_index("stage"))
        sidecars.write_json(options.out / "spectra.json", {
            "figure": "spectra", "results": [sidecars.origin_of(file) for file in files(options.results).values()],
            **sidecars.drawing()})
        print(f"{options.out / 'spectra'}.{{{','.join(options.formats + ['csv', 'json'])}}}")
    except (FigureError, OSError) as error:
        sys.exit(f"error: {error}")


def files(folder):
    return {stage: folder / f"{stage}.csv" for stage in LOOKS}


def measure(runs, epochs):
    middle = epochs // 2
    runs.train("model", *MODEL, "--train.epochs", str(epochs), "--save-at", f"0,{middle}", save="model.safetensors")
    for (stage, file), model in zip(files(runs.folder).items(), ("model.0", f"model.{middle}", "model")):
        if not file.exists():
            runs.run("spectrum", str(runs.path(f"{model}.safetensors")), "--csv", str(file))


def read(folder):
    """The rows of headlab spectrum, with their stage."""
    tables = []
    for stage, file in files(folder).items():
        if not file.is_file():
            raise FigureError(f"{file}: must be there: run the figure without RUN=0")
        tables.append(pd.read_csv(file).assign(stage=stage))
    return pd.concat(tables)


def draw(table):
    """A panel a kind: thin lines are heads or layers, bold ones their mean."""
    across = 4
    page = style.Page(-(-len(KINDS) // across), across, (1.75, 1.6), (0.3, 0.62), (0.62, 0.2, 0.95, 0.78))
    page.heading("How few dimensions queries and keys need", "Share of the squared singular values in the largest ones; a "
                 "thin line a head or layer, bold: their mean;\ngrey: the range of random weights of the same shape")
    for i, (kind, name) in enumerate(KINDS.items()):
        axes = page.panel(*divmod(i, across))
        draw_kind(axes, table[table["kind"] == kind])
        axes.set_title(name, pad=5)
        axes.tick_params(labelleft=i % across == 0)
        if i % across == 0:
            axes.set_ylabel("share of the energy")
        if i >= len(KINDS) - across:
            axes.set_xlabel("share of the dimensions")
    page.legend([Patch(facecolor=style.PALE, label="random weights"),
                 *(Line2D([], [], color=colour, linestyle=dashes, label=stage) for stage, (colour, dashes) in LOOKS.items())])
    return page.figure


def draw_kind(axes, own):
    band = own.groupby("share")[["random_low", "random_high"]].agg({"random_low": "min", "random_high": "max"})
    axes.fill_between([0, *band.index], [0, *band["random_low"]], [0, *band["random_high"]], color=style.PALE, linewidth=0)
    for stage, (colour, dashes) in LOOKS.items():
        part = own[own["stage"] == stage]
        for _, line in part.groupby(["layer", "head"]):
            axes.plot([0, *line["share"]], [0, *line["energy"]], color=colour, linewidth=0.4, alpha=0.6)
        mean = part.groupby("share")["energy"].mean()
        axes.plot([0, *mean.index], [0, *mean], color=colour, linestyle=dashes, linewidth=1.6, zorder=3)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    for of_axis in (axes.xaxis, axes.yaxis):
        plots.accuracies(of_axis)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
