"""What a conversion to R shared features costs and leaves: seconds and relative error over R, with their limits.

Of layers of a trained small model and of random weights in the shape of BERT-base's. Writes OUT/conversion-cost: a
picture a format, CSV, JSON.
"""

import sys

import pandas as pd
from matplotlib.lines import Line2D

from analysis import conversions, sidecars, style
from analysis.figures import spectra
from analysis.reductions import FigureError

SHARES = (0.125, 0.25, 0.375, 0.5, 0.75, 0.9)  # of D_k
BERT = ("--task.name", "mode", "--model.architecture", "bert", "--model.layers", "1", "--model.dim", "768", "--model.heads",
        "12", "--train.epochs", "0", "--task.length", "8", "--eval.sequences", "0", "--eval.test_sequences", "0")
MODELS = {"trained, D 64, 4 heads": ("trained", 64), "random, D 768, 12 heads": ("bert", 768)}
METHODS = {"als": ("alternating least squares", "#D55E00", "o", "solid"),
           "head-svd": ("singular vectors of each head", "#8C564B", "s", (0, (5, 1.5)))}


def main(words=None):
    options = conversions.arguments(words, __doc__, spectra.EPOCHS)
    try:
        style.use(options.style)
        if options.headlab:
            measure(conversions.Runs(options.headlab, options.results), options.budget)
        table = read(options.results)
        options.out.mkdir(parents=True, exist_ok=True)
        style.save(draw(table), options.out / "conversion-cost", options.formats)
        sidecars.write_table(options.out / "conversion-cost.csv", table.set_index("model"))
        sidecars.write_json(options.out / "conversion-cost.json", {"figure": "conversion-cost", **sidecars.drawing()})
        print(f"{options.out / 'conversion-cost'}.{{{','.join(options.formats + ['csv', 'json'])}}}")
    except (FigureError, OSError) as error:
        sys.exit(f"error: {error}")


def conversions_of(model, width):
    """Name, method and R of each conversion of a model."""
    return [(f"{model}-{method}-{dim}.safetensors", method, dim)
            for method in METHODS for dim in (round(share * width) for share in SHARES)]


def measure(runs, budget):
    runs.train("trained", *spectra.MODEL, "--train.epochs", str(spectra.EPOCHS[budget]), save="trained.safetensors")
    runs.train("bert", *BERT, save="bert.safetensors")
    for model, width in MODELS.values():
        for name, method, dim in conversions_of(model, width):
            runs.convert(f"{model}.safetensors", name, "--dim", str(dim), "--method", method)


def read(folder):
    """A row a layer and conversion, as headlab reparametrize gives it."""
    runs, rows = conversions.Runs(None, folder), []
    for said, (model, width) in MODELS.items():
        for name, method, dim in conversions_of(model, width):
            if not runs.path(name).with_suffix(".json").exists():
                raise FigureError(f"{runs.path(name).with_suffix('.json')}: must be there: run the figure without RUN=0")
            rows += [{"model": said, "method": method, "share": dim / width, **layer} for layer in runs.convert("", name)]
    return pd.DataFrame(rows)


def draw(table):
    """Error above, seconds below; a column a model."""
    page = style.Page(2, len(MODELS), (2.9, 1.7), (0.7, 0.4), (0.7, 0.2, 0.95, 0.8))
    page.heading("Converting heads to R shared features", "Relative error of all heads' query-key products, and seconds a "
                 "layer;\na line a layer; dotted: below it no R features can be")
    for column, model in enumerate(MODELS):
        own = table[table["model"] == model]
        for row, measure_ in enumerate(("error", "seconds")):
            axes = page.panel(row, column)
            draw_panel(axes, own, measure_)
            axes.set_title(model if row == 0 else "", pad=5)
            axes.tick_params(labelbottom=row == 1)
        axes.set_xlabel("R over the width of all heads")
    marks = [Line2D([], [], color=colour, marker=mark, linestyle=dashes, markersize=4, label=name)
             for name, colour, mark, dashes in METHODS.values()]
    page.legend([*marks, Line2D([], [], color=style.INK, linestyle=(0, (1, 2)), label="floor")])
    return page.figure


def draw_panel(axes, own, measured):
    for (method, layer), line in own.groupby(["method", "layer"]):
        _, colour, mark, dashes = METHODS[method]
        line = line.sort_values("share")
        axes.plot(line["share"], line[measured], color=colour, marker=mark, linestyle=dashes, markersize=3.5, linewidth=1.2)
        if measured == "error" and method == "als":
            axes.plot(line["share"], line["floor"], color=style.INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xlim(0, 1)
    if measured == "seconds":
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1)
    axes.set_ylabel({"error": "relative error", "seconds": "seconds a layer"}[measured])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#ececec", linewidth=0.5)


if __name__ == "__main__":
    main()
