"""analysis/ against hand-made results: reductions by hand, whole figures by their files."""

import contextlib
import csv
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import pandas as pd
import xarray as xr

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import heat_maps, learning_curves, reductions, results, style  # noqa: E402
from analysis.figures import sweep  # noqa: E402
from analysis.selection import Sweep, x_axis  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402

DIM, RATE, NAN = "model.dim", "train.learning_rate", float("nan")
SPECIFICATION = """name = "made-up"
title = "Made up"
[grid]
model.architecture = ["nap", "max"]
model.dim = [8, 16]
train.learning_rate = "powers(0.3, 1, 2)"
seed = [0, 1]
"""


def trial(architecture, dim, rate, seed, status="done", **more):
    name = f"{architecture} {dim} {rate} {seed} {more}"
    return {"id": hashlib.sha256(name.encode()).hexdigest()[:16], "status": status, "model.architecture": architecture,
            DIM: dim, RATE: rate, "seed": seed, "chance_accuracy": 0.125, "provenance.processor": "A chip", **more}


def whole_sweep(**statuses):
    """All 16 trials of SPECIFICATION; statuses by "architecture_dim_rate_seed", for example nap_8_0_1."""
    return [trial(a, d, r, s, statuses.get(f"{a}_{d}_{i}_{s}", "done"))
            for a in ("nap", "max") for d in (8, 16) for i, r in enumerate((0.3, 0.09)) for s in (0, 1)]


def made_up_curves(trials, epochs=3):
    """Of trial i in epoch e: (i + e) / 32 in training, .5 less a little in validation at the task's own length."""
    train = (np.arange(len(trials))[:, None] + np.arange(epochs)) / 32
    train[[t["status"] == "failed" for t in trials]] = NAN
    return {"train_accuracy": train, "validation_accuracy": np.stack([train / 2, train / 4], axis=-1)}


class Reductions(unittest.TestCase):
    def table(self, curves, **statuses):
        trials = pd.DataFrame([trial("nap", 8, 0.3, s, statuses.get(f"s{s}", "done")) for s in range(len(curves))])
        trials = trials.set_index("id")
        data = xr.DataArray(curves, dims=("trial", "epoch"),
                            coords={"trial": trials.index.values, "epoch": np.arange(1, len(curves[0]) + 1)})
        return trials, data

    def test_best_epoch_is_the_greatest_over_epochs_of_the_statistics_over_seeds(self):
        trials, data = self.table([[0.2, 0.8, 0.3], [0.6, 0.4, 0.5]])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, DIM), DIM).loc[("nap", 8, 0.3)]
        self.assertAlmostEqual(best["min"], 0.4)
        self.assertAlmostEqual(best["mean"], 0.6)  # the mean of each seed's best would be .7
        self.assertAlmostEqual(best["max"], 0.8)

    def test_epochs_that_a_diverged_seed_did_not_finish_do_not_count(self):
        trials, data = self.table([[0.2, 0.3, 0.9], [0.1, 0.5, NAN]], s1="diverged")
        curves = reductions.cell_curves(trials, data, DIM).loc[("nap", 8, 0.3)]
        np.testing.assert_allclose(curves["mean"], [0.15, 0.4, NAN])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, DIM), DIM)
        self.assertAlmostEqual(best.loc[("nap", 8, 0.3), "max"], 0.5)

    def test_epochs_without_evaluation_are_skipped(self):
        trials, data = self.table([[NAN, 0.3, NAN, 0.2], [NAN, 0.5, NAN, 0.4]])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, DIM), DIM)
        self.assertAlmostEqual(best.loc[("nap", 8, 0.3), "mean"], 0.4)

    def test_failed_and_pending_seeds_are_left_out_and_counted(self):
        trials, data = self.table([[0.2], [0.9], [0.8], [0.4]], s1="failed", s2="pending")
        self.assertAlmostEqual(reductions.cell_curves(trials, data, DIM)["mean"].iloc[0], 0.3)
        counts = reductions.cell_counts(trials, DIM).iloc[0]
        self.assertEqual(list(counts[["planned", "finished", "diverged", "failed", "pending"]]), [4, 2, 0, 1, 1])
        self.assertEqual(counts["chance_accuracy"], 0.125)

    def test_a_cell_without_finished_seeds_has_no_value(self):
        trials, data = self.table([[0.2], [0.9]], s0="failed", s1="failed")
        best = reductions.best_epoch(reductions.cell_curves(trials, data, DIM), DIM)
        self.assertTrue(best.isna().all(axis=None))

    def test_chosen_rate_is_that_of_the_best_mean_and_of_equal_ones_the_greater(self):
        cells = [("nap", 8, 0.3), ("nap", 8, 0.09), ("nap", 16, 0.3), ("nap", 16, 0.09), ("sum", 8, 0.3)]
        index = pd.MultiIndex.from_tuples(cells, names=reductions.cell_axes(DIM))
        best = pd.DataFrame({"mean": [0.4, 0.6, 0.5, 0.5, NAN]}, index=index)
        self.assertEqual(reductions.chosen_rates(best, DIM).to_dict(), {("nap", 8): 0.09, ("nap", 16): 0.3})

    def test_seeds_are_counted_in_words(self):
        for finished, text in (([5, 5], "5 seeds"), ([2, 0, 3], "2 to 3 seeds"), ([1], "1 seed")):
            self.assertEqual(reductions.seeds_of(pd.DataFrame({"finished": finished})), text)


class Looks(unittest.TestCase):
    def test_architectures_have_one_order(self):
        ordered = style.in_order(["zeta", "max", "bert", "alpha", "sum"])
        self.assertEqual(ordered, ["bert", "sum", "max", "alpha", "zeta"])

    def test_numbers_are_short(self):
        for value, text in ((0.3, "0.3"), (1024.0, "1024"), (0.0002187, "0.000219"), (1.9683e-5, "2.0e-5"), (-3, "-3")):
            self.assertEqual(style.number(value), text)

    def test_names_at_line_ends_keep_apart_in_order_and_close(self):
        for wanted, places in (([0.9, 0.1], [0.9, 0.1]), ([0.5, 0.5, 0.1], [0.45, 0.55, 0.1]), ([], []),
                               ([1.0, 1.0, 0.99], [0.9, 1.0, 0.8]), ([0.5, 0.52, 0.63], [0.45, 0.55, 0.65])):
            np.testing.assert_allclose(learning_curves.spread(wanted, 0.1, 0, 1), places)

    def test_lightness_of_the_single_hue_falls_evenly(self):
        red, green, blue, _ = style.ACCURACY(np.linspace(0, 1, 11)).T
        lightness = np.cbrt(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2)
        self.assertTrue((np.diff(lightness) < -0.03).all(), lightness)


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "results.h5"

    def write(self, trials):
        write_results(self.path, trials, made_up_curves(trials))

    def test_integers_stay_whole_and_missing_ones_are_nan(self):
        self.write([trial("nap", 8, 0.3, 0, heads=4), trial("sum", 8, 0.3, 0)])
        table = results.trials(self.path)
        self.assertEqual(table[DIM].dtype, np.int64)
        np.testing.assert_array_equal(table["heads"].astype(float), [4, NAN])

    def test_curves_carry_id_configuration_and_status(self):
        trials = whole_sweep(nap_16_0_1="diverged")
        self.write(trials)
        curve = results.curves(self.path, "train_accuracy")
        self.assertEqual(list(curve["trial"].values), [t["id"] for t in trials])
        self.assertEqual(curve[curve[DIM] == 16].sizes["trial"], 8)
        self.assertEqual(curve[curve["status"] == "diverged"]["trial"].item(), trials[5]["id"])
        self.assertNotIn("provenance.processor", curve.coords)

    def test_the_axis_is_what_else_the_grid_varies(self):
        self.assertEqual(x_axis({"name": "a", "grid": {"model": {"dim": [1], "architecture": []}, "seed": [0]}}), DIM)
        self.assertEqual(x_axis({"name": "a", "grid": {}, "zip": {"train": {"batch": [1], "steps_per_epoch": [2]}}}),
                         "train.batch")
        with self.assertRaisesRegex(reductions.FigureError, "the grid has model.dim, model.heads"):
            x_axis({"name": "a", "grid": {"model": {"dim": [1], "heads": [1]}}})

    def plan(self, **content):
        self.path.with_name("plan.json").write_text(json.dumps({"version": 1, **content}), encoding="utf-8")

    def test_a_plan_chooses_trials_and_names_what_is_pending(self):
        trials = whole_sweep()
        self.write(trials[:-1])
        axes = ("model.architecture", DIM, RATE, "seed")
        self.plan(trials=[{"id": t["id"], "axes": {k: t[k] for k in axes}} for t in trials[8:]])
        selected = Sweep(self.path.parent, SPECIFICATION)
        self.assertEqual(selected.trials["status"].tolist(), ["done"] * 7 + ["pending"])
        self.assertEqual(selected.pending_cells(), ["max, model.dim 16, train.learning_rate 0.09: seed 1"])
        self.assertEqual(selected.trials[DIM].dtype, np.int64)
        self.assertEqual(selected.trials.index.tolist(), [t["id"] for t in trials[8:]])

    def test_pending_trials_of_a_plan_of_ids_are_named_by_id(self):
        trials = whole_sweep()
        self.write(trials[:-1])
        self.plan(ids=[t["id"] for t in trials])
        selected = Sweep(self.path.parent, SPECIFICATION)
        self.assertEqual(selected.pending_cells(), [f"trial {trials[-1]['id']}"])
        self.assertEqual(len(selected.trials), 15)

    def test_two_budgets_in_one_file_are_told_apart_or_refused(self):
        both = [trial("nap", 8, 0.3, 0, **{"train.epochs": 4}), trial("nap", 8, 0.3, 0, **{"train.epochs": 32})]
        self.write(both)
        with self.assertRaisesRegex(reductions.FigureError, "train.epochs = 4, 32$"):
            Sweep(self.path.parent, SPECIFICATION)


class Panels(unittest.TestCase):
    """What is in the figures' axes."""

    def setUp(self):
        style.use()
        trials = pd.DataFrame(whole_sweep(nap_8_0_1="pending", nap_16_0_0="failed", max_16_1_1="diverged"))
        self.trials = trials.set_index("id")
        values = made_up_curves(trials.to_dict("records"))["train_accuracy"]
        values[-1, 2] = NAN  # max_16_1_1 in its last epoch
        data = xr.DataArray(values, {"trial": self.trials.index.values, "epoch": [1, 2, 3]}, ("trial", "epoch"))
        self.counts = reductions.cell_counts(self.trials, DIM)
        self.curves = reductions.cell_curves(self.trials, data, DIM)
        self.cells = reductions.best_epoch(self.curves, DIM).join(self.counts)

    def heat_map(self, draw):
        figure = draw(self.cells, DIM, "", "")
        self.addCleanup(style.close, figure)
        nap, most = figure.axes[:2]
        self.assertEqual([axes.get_title() for axes in (nap, most)], ["nap", "max"])
        return nap, most

    def test_heat_map_has_learning_rates_falling_and_the_axis_to_the_right(self):
        nap, most = self.heat_map(heat_maps.plain)
        self.assertEqual([text.get_text() for text in nap.get_yticklabels()], ["0.3", "0.09"])
        self.assertEqual([text.get_text() for text in most.get_xticklabels()], ["8", "16"])
        # Trial i has (i + 2) / 32 in its best epoch; trial 15 diverged in it, trial 1 is pending, trial 4 failed.
        np.testing.assert_allclose(nap.images[0].get_array() * 32, [[2, 7], [4.5, 8.5]])
        np.testing.assert_allclose(most.images[0].get_array() * 32, [[10.5, 14.5], [12.5, 15.5]])

    def test_heat_map_in_colours_has_minimum_mean_and_maximum(self):
        _, most = self.heat_map(heat_maps.in_colours)
        np.testing.assert_allclose(most.images[0].get_array()[0, 1] * 32, [14, 14.5, 15])

    def test_heat_map_hatches_pending_and_failed_and_marks_diverged(self):
        for draw in (heat_maps.plain, heat_maps.in_colours):
            nap, most = self.heat_map(draw)
            places = {patch.get_hatch(): patch.get_xy() for patch in nap.patches}
            self.assertEqual(places, {"////": (-0.5, -0.5), "xxxx": (0.5, -0.5)})
            self.assertEqual([patch.get_xy()[0].tolist() for patch in most.patches], [[1.5, 0.5]])

    def test_lines_and_bands_are_over_seeds_and_end_where_one_diverged(self):
        rates = pd.Series({("nap", 8): 0.3, ("max", 16): 0.09})
        figure = learning_curves.chosen(self.curves, self.counts, rates, DIM, "", "")
        self.addCleanup(style.close, figure)
        self.assertEqual([axes.get_title()[-4:] for axes in figure.axes], [" = 8", "= 16"])
        nap, most = (axes.lines[0] for axes in figure.axes)
        np.testing.assert_allclose(nap.get_xydata(), [[1, 0], [2, 1 / 32], [3, 2 / 32]])
        np.testing.assert_allclose(most.get_xydata(), [[1, 14.5 / 32], [2, 15.5 / 32]])
        band = figure.axes[1].collections[0].get_paths()[0].get_extents()
        np.testing.assert_allclose([band.ymin, band.ymax], [14 / 32, 16 / 32])
        self.assertIn("chance", [text.get_text() for text in figure.axes[0].texts])

    def test_every_cell_has_its_panel(self):
        figure = learning_curves.every_cell(self.curves, self.counts, DIM, "", "")
        self.addCleanup(style.close, figure)
        self.assertEqual(len(figure.axes), 4)
        lines = figure.axes[2].lines  # learning rate 0.09, d = 8: nap, max, chance
        np.testing.assert_allclose([line.get_ydata()[0] for line in lines], [2.5 / 32, 10.5 / 32, 0.125])


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "made-up.toml").write_text(SPECIFICATION, encoding="utf-8")

    def draw(self, trials, *options, out="out"):
        """Exit code and standard error."""
        write_results(self.folder / "results.h5", trials, made_up_curves(trials))
        errors = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            try:
                sweep.main([str(self.folder / "made-up.toml"), "--results", str(self.folder),
                            "--out", str(self.folder / out), *options])
            except SystemExit as end:
                text = end.code if isinstance(end.code, str) else ""
                return 1 if text else end.code, errors.getvalue() + text
        return 0, errors.getvalue()

    def test_the_same_results_give_the_same_bytes(self):
        for out in ("one", "two"):
            self.assertEqual(self.draw(whole_sweep(), out=out), (0, ""))
        files = sorted(path.name for path in (self.folder / "one").iterdir())
        names = ("heat-map", "heat-map-seeds", "learning-curves", "learning-curves-all")
        self.assertEqual(files, sorted(f"{n}.{e}" for n in names for e in ("csv", "json", "pdf", "png", "svg")))
        for name in files:
            if not name.endswith(".json"):  # it holds the command
                self.assertEqual(*((self.folder / out / name).read_bytes() for out in ("one", "two")), name)
        self.assertIn(b"/FontFile2", (self.folder / "one/heat-map.pdf").read_bytes())

    def test_beside_the_figure_lie_its_numbers_and_their_origin(self):
        self.draw(whole_sweep(max_8_0_0="failed"), "--formats", "svg")
        with open(self.folder / "out/heat-map.csv", encoding="utf-8", newline="") as file:
            rows = {(r["model.architecture"], r[DIM], r[RATE]): r for r in csv.DictReader(file)}
        self.assertEqual(len(rows), 8)
        cell = rows["nap", "16", "0.09"]  # trials 6 and 7, best in epoch 3
        self.assertEqual([cell[k] for k in ("min", "mean", "max", "finished")], ["0.25", "0.265625", "0.28125", "2"])
        self.assertEqual([rows["max", "8", "0.3"][k] for k in ("mean", "finished", "failed")], ["0.34375", "1", "1"])
        origin = json.loads((self.folder / "out/heat-map.json").read_text(encoding="utf-8"))
        digest = hashlib.sha256((self.folder / "results.h5").read_bytes()).hexdigest()
        self.assertEqual(origin["results"]["sha256"], digest)
        self.assertEqual(origin["trials"], {"planned": 16, "done": 15, "failed": 1})
        self.assertEqual((origin["seeds"], origin["processors"]), ([0, 1], ["A chip"]))
        self.assertIn("analysis_test.py", origin["command"])

    def test_curves_are_drawn_at_the_rate_of_the_best_validation(self):
        self.draw(whole_sweep(), "--formats", "svg")
        table = pd.read_csv(self.folder / "out/learning-curves.csv")
        self.assertEqual(set(table[RATE]), {0.09})  # later trials are better
        self.assertEqual(len(table), 2 * 2 * 3)
        self.assertEqual(len(pd.read_csv(self.folder / "out/learning-curves-all.csv")), 2 * 2 * 2 * 3)

    def test_pending_trials_are_named_and_refused_or_hatched(self):
        trials = whole_sweep(nap_8_0_1="interrupted", max_16_1_0="interrupted", max_16_1_1="interrupted")
        code, errors = self.draw(trials)
        self.assertEqual(code, 1)
        self.assertIn("3 are pending", errors)
        self.assertIn("\n  nap, model.dim 8, train.learning_rate 0.3: seed 1\n", errors)
        self.assertTrue(errors.endswith("\n  max, model.dim 16, train.learning_rate 0.09: seed 0, 1"), errors)
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(self.draw(trials, "--partial", "--formats", "svg"), (0, ""))
        self.assertIn("<pattern", (self.folder / "out/heat-map.svg").read_text(encoding="utf-8"))
        self.assertEqual(self.draw(whole_sweep(), "--formats", "svg"), (0, ""))
        self.assertNotIn("<pattern", (self.folder / "out/heat-map.svg").read_text(encoding="utf-8"))

    def test_planned_trials_that_are_not_there_are_pending(self):
        (self.folder / "plan.json").write_text(json.dumps({"ids": [t["id"] for t in whole_sweep()]}))
        code, errors = self.draw(whole_sweep()[:12])
        self.assertEqual(code, 1)
        self.assertIn("4 are pending", errors)

    def test_diverged_and_failed_cells_are_drawn(self):
        trials = whole_sweep(nap_8_0_1="diverged", max_8_0_0="failed", max_8_0_1="failed")
        self.assertEqual(self.draw(trials, "--formats", "svg"), (0, ""))
        self.assertIn("#d55e00", (self.folder / "out/heat-map-seeds.svg").read_text(encoding="utf-8"))

    def test_a_style_file_comes_on_top(self):
        (self.folder / "a.mplstyle").write_text("savefig.facecolor: ff00aa\n", encoding="utf-8")
        self.draw(whole_sweep(), "--formats", "svg", "--style", str(self.folder / "a.mplstyle"))
        self.assertIn("#ff00aa", (self.folder / "out/heat-map.svg").read_text(encoding="utf-8"))

    def test_unknown_formats_and_missing_styles_are_told(self):
        self.assertEqual(self.draw(whole_sweep(), "--style", "nowhere.mplstyle")[0], 1)
        code, errors = self.draw(whole_sweep(), "--formats", "svg,gif")
        self.assertEqual(code, 2)
        self.assertIn("must be of pdf, png, svg; not gif", errors)


if __name__ == "__main__":
    unittest.main()
