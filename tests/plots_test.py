"""analysis/plot.py, the figures of robustness and those of headlab analytic, of hand-made results."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import plot, plots, robustness, style  # noqa: E402
from analysis.figures import at_start, output_cage, sweep, xor  # noqa: E402
from analysis.selection import Sweep  # noqa: E402
from tests.support.made_up import DIM, NAN, RATE, SPECIFICATION, made_up_curves, whole_sweep  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        style.use()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, trials, **more):
        test = np.stack([np.arange(len(trials)) / 20, np.arange(len(trials)) / 40], axis=-1)
        curves = made_up_curves(trials) | {"test_accuracy": (test, ("trial", "relative_length"))} | more
        write_results(self.folder / "results.h5", trials, curves)


class Plot(InFolder):
    def plot(self, kind, *options, out="p"):
        """The message of an error, none without one."""
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                plot.main([kind, str(self.folder), "--out", str(self.folder / out), *options])
            except SystemExit as end:
                return end.code
        return None

    def table(self):
        return pd.read_csv(self.folder / "p.csv")

    def test_each_kind_is_drawn_with_its_numbers_and_origin(self):
        self.write(whole_sweep())
        for kind, options in (("lines", ("--x", DIM, "--select", "best-rate")), ("heatmap", ("--x", DIM)),
                              ("curves", ("--col", DIM, "--row", RATE)), ("sensitivity", ("--col", DIM, "--band", "ci95")),
                              ("sorted", ())):
            with self.subTest(kind):
                self.assertIsNone(self.plot(kind, *options, "--formats", "svg"))
                self.assertGreater((self.folder / "p.svg").stat().st_size, 5000)
                origin = json.loads((self.folder / "p.json").read_text(encoding="utf-8"))
                self.assertEqual((origin["figure"], origin["seeds"], len(origin["results"])), (kind, [0, 1], 1))

    def test_lines_at_the_best_rate_are_of_the_best_epoch(self):
        self.write(whole_sweep())
        self.plot("lines", "--x", DIM, "--select", "best-rate", "--formats", "svg")
        table = self.table().set_index(["model.architecture", DIM])
        # Later trials are better: those of .09, for nap and 8 the trials 2 and 3, in epoch 3.
        self.assertEqual(table.loc[("nap", 8), ["min", "mean", "max", "epoch"]].tolist(), [4 / 32, 4.5 / 32, 5 / 32, 3])
        self.assertEqual(len(table), 4)

    def test_measures_of_trials_and_conditions(self):
        self.write(whole_sweep())
        self.plot("lines", "--x", DIM, "--y", "test_accuracy@2", "--where", "train.learning_rate=0.3", "--where",
                  "model.architecture=max,sum", "--formats", "svg")
        self.assertEqual(self.table()["mean"].tolist(), [8.5 / 40, 12.5 / 40])

    def test_what_is_wrong_is_told(self):
        self.write(whole_sweep())
        for options, said in ((("lines", "--x", "model.dims"), "--x model.dims: .*nearest is model.dim"),
                              (("lines", "--x", DIM, "--y", "train_acuracy"), "nearest is train_accuracy"),
                              (("lines",), "lines needs --x"),
                              (("lines", "--x", DIM), "also do in train.learning_rate = 0.3, 0.09: .*--select best-rate"),
                              (("sensitivity", "--col", DIM, "--select", "best-rate"), "cannot be an axis"),
                              (("lines", "--x", DIM, "--where", "seed=7"), "--where seed=7: no trial.* 0, 1"),
                              (("curves", "--col", DIM, "--row", RATE, "--y", "test_accuracy"), "need a measure of each epoch")):
            with self.subTest(options):
                self.assertRegex(self.plot(*options) or "", f"^error: .*{said}")
        self.assertFalse((self.folder / "p.csv").exists())

    def test_pending_trials_need_a_word(self):
        self.write(whole_sweep()[:14])
        plan = {"ids": [t["id"] for t in whole_sweep()]}
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        self.assertRegex(self.plot("heatmap", "--x", DIM), "2 are pending.*--partial")
        self.assertIsNone(self.plot("heatmap", "--x", DIM, "--partial", "--formats", "svg"))

    def test_the_same_results_give_the_same_bytes(self):
        self.write(whole_sweep())
        for out in ("one", "two"):
            self.plot("sensitivity", "--col", DIM, out=out)
        for form in ("pdf", "png", "svg", "csv"):
            self.assertEqual(*((self.folder / f"{out}.{form}").read_bytes() for out in ("one", "two")), form)
        self.assertIn(b"/FontFile2", (self.folder / "one.pdf").read_bytes())


class Bands(InFolder):
    def test_a_band_is_what_its_name_says(self):
        index = pd.MultiIndex.from_tuples([("nap", 8), ("nap", 16)], names=["model.architecture", DIM])
        table = pd.DataFrame({"seeds": 2, "mean": [0.4, 0.5], "min": [0.3, 0.3], "max": [0.6, 0.9], "sd": [0.1, 0.1],
                              "ci95": [0.2, 0.3]}, index=index)
        for band, low, high in (("minmax", 0.3, 0.9), ("sd", 0.3, 0.6), ("ci95", 0.2, 0.8)):
            panels = plots.lines(table, DIM, "", "", band=band)
            self.addCleanup(style.close, panels.page.figure)
            box = panels.axes[0].collections[0].get_paths()[0].get_extents()
            np.testing.assert_allclose([box.ymin, box.ymax], [low, high])
            self.assertIn(plots.BANDS[band], [text.get_text() for legend in panels.page.figure.legends
                                              for text in legend.get_texts()])

    def test_architectures_differ_in_colour_and_mark(self):
        known = [a for a in style.ARCHITECTURES]
        for part in ("marker", "color"):
            self.assertEqual(len({style.look(a, known)[part] for a in known}), len(known))
        six = ("bert", "mte", "nap", "non", "sum", "max")  # which are drawn together, small and without marks, too
        self.assertEqual(len({str(style.look(a, six)["linestyle"]) for a in six}), 6)
        numbers = [style.look(v, [8, 16, 32]) for v in (8, 16, 32)]
        self.assertEqual(len({look["marker"] for look in numbers}), 3)


class OfASweep(InFolder):
    def drawing(self):
        options = sweep.arguments(["x.toml", "--results", str(self.folder), "--out", str(self.folder / "out"),
                                   "--formats", "svg"])
        options.out.mkdir()
        return sweep.Drawing(Sweep(self.folder, SPECIFICATION), options, "architecture", "")

    def draw(self, what):
        with contextlib.redirect_stdout(io.StringIO()):
            what(self.drawing())

    def test_the_test_is_that_of_the_cell_which_validation_chose(self):
        self.write(whole_sweep())
        self.draw(robustness.draw_sorted)
        table = pd.read_csv(self.folder / "out/robustness.csv")
        by_name = table.groupby("model.architecture")["test_of_chosen_mean"].unique()
        self.assertEqual({name: values.tolist() for name, values in by_name.items()}, {"nap": [6.5 / 20], "max": [14.5 / 20]})
        cells = table[table["model.architecture"] == "nap"]["mean"].sort_values()
        np.testing.assert_allclose(cells, np.array([2.5, 4.5, 6.5, 8.5]) / 64, rtol=1e-5)

    def test_sensitivity_tells_the_best_rate(self):
        self.write(whole_sweep())
        self.draw(robustness.draw_sensitivity)
        self.assertEqual(set(pd.read_csv(self.folder / "out/rate-sensitivity.csv")["best_rate"]), {0.09})

    def test_names_of_best_rates_keep_off_other_panels_and_the_pages_end(self):
        self.write(whole_sweep())
        d = self.drawing()
        panels = plots.lines(d.cells, RATE, "", "", col=DIM, more=1)
        self.addCleanup(style.close, panels.page.figure)
        robustness.draw_best_rates(panels, d.rates * 0 + 0.000729, DIM)
        panels.page.figure.draw_without_rendering()
        (name,) = [text.get_window_extent() for text in panels.axes[-1].get_yticklabels()]
        self.assertGreater(name.x0, panels.axes[-2].get_window_extent().x1)
        self.assertLess(name.x1, panels.page.figure.bbox.x1)

    def test_chance_is_drawn_at_the_length_it_is_of_alone(self):
        index = pd.MultiIndex.from_tuples([("nap", 8)], names=["model.architecture", DIM])
        panels = plots.points(pd.DataFrame({"a": [0.5], "b": [0.4]}, index=index), "a", "b", "", "", ("a", "b"), chance=0.2)
        self.addCleanup(style.close, panels.page.figure)
        lines = [line.get_xydata().tolist() for line in panels.axes[0].lines]
        self.assertEqual([line for line in lines if len(line) == 2], [[[0, 0], [1, 1]], [[0.2, 0], [0.2, 1]]])

    def test_length_is_of_the_test_at_both(self):
        self.write(whole_sweep(nap_8_0_1="failed"))
        self.draw(robustness.draw_length)
        table = pd.read_csv(self.folder / "out/length.csv").set_index(["model.architecture", DIM, RATE])
        self.assertEqual(table.loc[("nap", 16, 0.09), ["test_accuracy", "test_accuracy@2", "chosen"]].tolist(),
                         [6.5 / 20, 6.5 / 40, True])
        self.assertFalse(table.loc[("nap", 16, 0.3), "chosen"])

    def test_cases_are_of_the_epoch_with_the_best_mean_of_the_three(self):
        self.write(whole_sweep())
        drawing = self.drawing()
        self.assertIsNone(sweep.case_cells(drawing))
        long = drawing.sweep.epochs
        for case, values in (("argmin", (0.2, 0.9, 0.9)), ("first", (1.0, 0.5, 0.4)), ("argmax", (0.1, 0.2, 0.2))):
            long[f"case_accuracy.{case}"] = long["epoch"].map(dict(zip((1, 2, 3), values)))
        cells = sweep.case_cells(drawing)
        self.assertEqual(len(cells), 8)
        np.testing.assert_allclose(cells.iloc[3][["argmin", "first", "argmax", "epoch"]].astype(float), [0.9, 0.5, 0.2, 2])


class Analytic(InFolder):
    def draw(self, module, name, rows):
        pd.DataFrame(rows).to_csv(self.folder / "in.csv", index=False)
        for out in ("one", "two"):
            with contextlib.redirect_stdout(io.StringIO()):
                module.main(["--results", str(self.folder / "in.csv"), "--out", str(self.folder / out)])
        for form in ("pdf", "png", "svg", "csv"):
            self.assertEqual(*((self.folder / out / f"{name}.{form}").read_bytes() for out in ("one", "two")), form)

    def cage(self):
        square = [(0, 0), (2, 0), (2, 2), (0, 2)]
        rows = [{"kind": kind, "aggregation": "", "x": x, "y": y, "outside": 0} for kind in ("value", "corner") for x, y in square]
        return rows + [{"kind": "output", "aggregation": a, "x": x, "y": 1, "outside": max(0, x - 2)}
                       for a in ("softmax", "nap", "non", "sum", "max") for x in (1, 1 if a == "softmax" else 3)]

    def test_the_cage_counts_what_lies_outside(self):
        self.draw(output_cage, "output-cage", self.cage())
        figure = output_cage.draw(pd.DataFrame(self.cage()))
        self.addCleanup(style.close, figure)
        self.assertEqual([axes.get_title() for axes in figure.axes[:3]],
                         ["softmax: 0% outside", "nap: 50% outside", "non: 50% outside"])
        np.testing.assert_allclose(figure.axes[1].lines[1].get_xydata(), [[1, 1], [3, 1]])

    def test_sizes_at_start_have_their_closed_forms(self):
        rows = [{"aggregation": a, "length": n, "std": n**0.5, "norm": n, "closed_form": f} for a, f in (("sum", 2), ("nap", NAN))
                for n in (1, 4, 16)]
        self.draw(at_start, "at-start", rows)
        figure = at_start.draw(pd.DataFrame(rows))
        self.addCleanup(style.close, figure)
        closed, measured = figure.axes[0].lines[:2]
        np.testing.assert_allclose(closed.get_ydata(), [2, 2, 2])
        np.testing.assert_allclose(measured.get_xydata(), [[1, 1], [4, 2], [16, 4]])

    def test_xor_tells_errors_and_bounds(self):
        row = {"aggregation": "softmax", "query": "own", "mean_squared_error": 1 / 6, "mean_squared_bound": 1 / 6, "exact": 3}
        row |= {f"output_{pattern}": value for pattern, value in zip(xor.PATTERNS, (2 / 3, 2 / 3, 2 / 3, 0))}
        self.draw(xor, "xor", [row])
        figure = xor.draw(pd.DataFrame([row]))
        self.addCleanup(style.close, figure)
        self.assertIn("error 0.167, least 0.167\n3 of 4 right", figure.axes[0].texts[0].get_text())
        np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), [2 / 3, 2 / 3, 2 / 3, 0])

    def test_another_table_is_refused(self):
        (self.folder / "in.csv").write_text("a,b\n1,2\n", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "^error: .*in.csv: must have rows and the columns aggregation"):
            xor.main(["--results", str(self.folder / "in.csv"), "--out", str(self.folder)])

    def test_nothing_runs_off_the_page(self):
        rows = [{"aggregation": a, "length": n, "std": 1, "norm": 1, "closed_form": 1} for a in ("normalised", "nap") for n in (1, 99)]
        for figure in (output_cage.draw(pd.DataFrame(self.cage())), at_start.draw(pd.DataFrame(rows))):
            self.addCleanup(style.close, figure)
            figure.canvas.draw()
            boxes = [axes.yaxis.label.get_window_extent() for axes in figure.axes if axes.get_ylabel()]
            boxes += [text.get_window_extent() for axes in figure.axes for text in axes.texts]
            boxes += [legend.get_window_extent() for legend in figure.legends]
            self.assertGreater(min(box.x0 for box in boxes), 0)
            self.assertLess(max(box.x1 for box in boxes), figure.bbox.width)


if __name__ == "__main__":
    unittest.main()
