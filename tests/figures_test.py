"""Figures of hand-made results: what is in their axes, whole figures by their files."""

import contextlib
import csv
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import heat_maps, learning_curves, reductions, style  # noqa: E402
from analysis.figures import ablation, sweep  # noqa: E402
from tests.support.made_up import DIM, NAN, RATE, SPECIFICATION, long_of, made_up_curves, whole_sweep  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402


class Panels(unittest.TestCase):
    """What is in the figures' axes."""

    def setUp(self):
        style.use()
        trials = pd.DataFrame(whole_sweep(nap_8_0_1="pending", nap_16_0_0="failed", max_16_1_1="diverged"))
        self.trials = trials.set_index("id")
        values = made_up_curves(trials.to_dict("records"))["train_accuracy"]
        values[-1, 2] = NAN  # max_16_1_1 in its last epoch
        data = long_of(self.trials, values)
        self.counts = reductions.cell_counts(self.trials, DIM)
        self.curves = reductions.cell_curves(self.trials, data, "accuracy", DIM)
        self.cells = reductions.best_epoch(self.curves).join(self.counts)

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

    def test_names_of_columns_do_not_touch(self):
        names = {8: 0.0003125, 16: 0.00125}
        wide = self.cells.rename(index=names, level=DIM)
        figure = heat_maps.plain(wide, DIM, "", "")
        self.addCleanup(style.close, figure)
        for axes in figure.axes[:2]:
            first, second = (text.get_window_extent() for text in axes.get_xticklabels())
            self.assertLess(first.x1, second.x0)

    def test_a_long_title_fits_the_page(self):
        page = style.Page(1, 1, (3, 1), (0, 0), (0.5, 0.5, 1, 0.5))
        self.addCleanup(style.close, page.figure)
        page.heading("A title " + "of many words " * 8, "short")
        title, subtitle = page.figure.texts
        self.assertLess(title.get_window_extent().x1, page.width * page.figure.dpi)
        self.assertEqual(subtitle.get_fontsize(), 8)

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

    def biased(self):
        chances = self.cells.index.get_level_values(DIM).map({8: 0.6615, 16: 0.12})
        return self.cells.assign(chance_accuracy_training=chances)

    def test_a_chance_that_differs_is_written_below_each_column(self):
        for draw in (heat_maps.plain, heat_maps.in_colours):
            figure = draw(self.biased(), DIM, "", "")
            self.addCleanup(style.close, figure)
            for axes in figure.axes[:2]:
                below = [(text.xy[0], text.get_text()) for text in axes.texts if hasattr(text, "xy")]
                self.assertEqual(below, [(0, ".66"), (1, ".12")])

    def test_the_chance_of_training_is_drawn_in_each_panel(self):
        counts = self.counts.assign(chance_accuracy_training=self.biased()["chance_accuracy_training"])
        figure = learning_curves.every_cell(self.curves, counts, DIM, "", "")
        self.addCleanup(style.close, figure)
        np.testing.assert_allclose([axes.lines[-1].get_ydata()[0] for axes in figure.axes], [0.6615, 0.12] * 2)

    def test_nothing_runs_off_a_narrow_page(self):
        one = self.cells.xs(16, level=DIM, drop_level=False)
        curves, counts = (t[t.index.get_level_values(DIM) == 16] for t in (self.curves, self.counts))
        rates = pd.Series({("nap", 16): 0.3, ("max", 16): 0.09})
        huge = one.rename(index={0.3: 1e30}, level=RATE)
        for figure in (heat_maps.plain(huge, DIM, "", ""), heat_maps.in_colours(one, DIM, "", "", key=heat_maps.SEEDS_KEY),
                       learning_curves.chosen(curves, counts, rates, DIM, "", ""),
                       learning_curves.every_cell(curves, counts, DIM, "", "")):
            self.addCleanup(style.close, figure)
            figure.canvas.draw()
            width = figure.bbox.width
            boxes = [legend.get_window_extent() for legend in figure.legends]
            boxes += [text.get_window_extent() for axes in figure.axes for text in axes.get_yticklabels()]
            self.assertLess(max(box.x1 for box in boxes), width)
            self.assertGreater(min(box.x0 for box in boxes), 0)


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
        names = ("heat-map", "heat-map-seeds", "learning-curves", "learning-curves-all", "robustness", "rate-sensitivity")
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
        self.assertIn("figures_test.py", origin["command"])

    def test_the_subtitle_tells_dropout_and_budget(self):
        trials = [dict(t, **{"model.dropout": 0.0}) for t in whole_sweep()]
        (self.folder / "plan.json").write_text(json.dumps({"ids": [t["id"] for t in trials], "budget": "smoke"}))
        for rate, said in ((0.0, "not seen before)"), (0.1, "not seen before, with dropout on)")):
            trials[3]["model.dropout"] = rate
            with unittest.mock.patch.object(style.Page, "heading") as heading:
                self.assertEqual(self.draw(trials, "--formats", "svg", "--budget", "smoke"), (0, ""))
            subtitles = [call.args[1] for call in heading.call_args_list]
            for subtitle in subtitles:
                self.assertIn("budget: smoke", subtitle)
            trained = [subtitle for subtitle in subtitles if subtitle.startswith("Training accuracy")]
            self.assertEqual(len(trained), 5)  # heat maps, learning curves, rate sensitivity
            for subtitle in trained:
                self.assertIn(said, subtitle)
            origin = json.loads((self.folder / "out/heat-map.json").read_text(encoding="utf-8"))
            self.assertEqual((origin["budget"], origin["dropout"]), ("smoke", rate > 0))
        code, errors = self.draw(trials, "--budget", "paper")
        self.assertEqual(code, 1)
        self.assertIn("must be of budget paper, is of smoke", errors)

    def test_lines_of_the_ablation_are_settings(self):
        walk = [dict(t, **{"train.warmup": 0.1, "train.clip": 1.0, "model.norm_placement": "mte"}) for t in whole_sweep()]
        write_results(self.folder / "results.h5", walk, made_up_curves(walk))
        with unittest.mock.patch.object(style.Page, "heading") as heading, contextlib.redirect_stdout(io.StringIO()):
            ablation.main([str(self.folder / "made-up.toml"), "--results", str(self.folder), "--formats", "svg",
                           "--out", str(self.folder / "out")])
        subtitles = [call.args[1] for call in heading.call_args_list]
        self.assertIn("each setting's best learning rate", subtitles[2])
        for subtitle in subtitles:
            self.assertIn("each + adds to the one before it", subtitle)

    def test_a_damaged_file_is_refused(self):
        write_results(self.folder / "results.h5", whole_sweep(), made_up_curves(whole_sweep()))
        with open(self.folder / "results.h5", "r+b") as file:
            file.truncate(5000)
        with self.assertRaisesRegex(SystemExit, "^error: .*results.h5: has no seal"):
            sweep.main([str(self.folder / "made-up.toml"), "--results", str(self.folder), "--out", str(self.folder)])

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
