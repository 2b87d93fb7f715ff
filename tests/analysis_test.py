"""analysis/ against hand-made results: reductions, looks and reading, by hand."""

import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import reductions, results, style  # noqa: E402
from analysis.figures import ablation  # noqa: E402
from analysis.selection import Sweep, x_axis  # noqa: E402
from tests.support.made_up import DIM, NAN, RATE, SPECIFICATION, long_of, made_up_curves, trial, whole_sweep  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402


class Reductions(unittest.TestCase):
    def table(self, curves, **statuses):
        trials = pd.DataFrame([trial("nap", 8, 0.3, s, statuses.get(f"s{s}", "done")) for s in range(len(curves))])
        trials = trials.set_index("id")
        return trials, long_of(trials, curves)

    def test_best_epoch_is_the_greatest_over_epochs_of_the_statistics_over_seeds(self):
        trials, data = self.table([[0.2, 0.8, 0.3], [0.6, 0.4, 0.5]])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, "accuracy", DIM)).loc[("nap", 8, 0.3)]
        self.assertAlmostEqual(best["min"], 0.4)
        self.assertAlmostEqual(best["mean"], 0.6)  # the mean of each seed's best would be .7
        self.assertAlmostEqual(best["max"], 0.8)

    def test_epochs_that_a_diverged_seed_did_not_finish_do_not_count(self):
        trials, data = self.table([[0.2, 0.3, 0.9], [0.1, 0.5, NAN]], s1="diverged")
        curves = reductions.cell_curves(trials, data, "accuracy", DIM).loc[("nap", 8, 0.3)]
        np.testing.assert_allclose(curves["mean"], [0.15, 0.4, NAN])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, "accuracy", DIM))
        self.assertAlmostEqual(best.loc[("nap", 8, 0.3), "max"], 0.5)

    def test_epochs_without_evaluation_are_skipped(self):
        trials, data = self.table([[NAN, 0.3, NAN, 0.2], [NAN, 0.5, NAN, 0.4]])
        best = reductions.best_epoch(reductions.cell_curves(trials, data, "accuracy", DIM))
        self.assertAlmostEqual(best.loc[("nap", 8, 0.3), "mean"], 0.4)

    def test_failed_and_pending_seeds_are_left_out_and_counted(self):
        trials, data = self.table([[0.2], [0.9], [0.8], [0.4]], s1="failed", s2="pending")
        self.assertAlmostEqual(reductions.cell_curves(trials, data, "accuracy", DIM)["mean"].iloc[0], 0.3)
        counts = reductions.cell_counts(trials, DIM).iloc[0]
        self.assertEqual(list(counts[["planned", "finished", "diverged", "failed", "pending"]]), [4, 2, 0, 1, 1])
        self.assertEqual(counts["chance_accuracy"], 0.125)

    def test_the_chance_of_training_is_told_where_it_is_known(self):
        def chances(*trials):
            counts = reductions.cell_counts(pd.DataFrame(trials).set_index("id"), DIM)
            return counts[["chance_accuracy", "chance_accuracy_training"]].iloc[0].tolist()

        biased, name = {"task.case_bias": -3}, "chance_accuracy_training"
        self.assertEqual(chances(trial("nap", 8, 0.3, 0, **biased, **{name: 0.75})), [0.125, 0.75])
        self.assertEqual(chances(trial("nap", 8, 0.3, 0)), [0.125, 0.125])
        self.assertEqual(chances(trial("nap", 8, 0.3, 0, **{"task.case_bias": 0, name: NAN})), [0.125, 0.125])
        np.testing.assert_array_equal(chances(trial("nap", 8, 0.3, 0, **biased)), [0.125, NAN])

    def test_a_cell_without_finished_seeds_has_no_value(self):
        trials, data = self.table([[0.2], [0.9]], s0="failed", s1="failed")
        best = reductions.best_epoch(reductions.cell_curves(trials, data, "accuracy", DIM))
        self.assertTrue(best.isna().all(axis=None))

    def test_chosen_rate_is_that_of_the_best_mean_and_of_equal_ones_the_greater(self):
        cells = [("nap", 8, 0.3), ("nap", 8, 0.09), ("nap", 16, 0.3), ("nap", 16, 0.09), ("sum", 8, 0.3)]
        index = pd.MultiIndex.from_tuples(cells, names=reductions.cell_axes(DIM))
        best = pd.DataFrame({"mean": [0.4, 0.6, 0.5, 0.5, NAN]}, index=index)
        self.assertEqual(reductions.chosen_rates(best).to_dict(), {("nap", 8): 0.09, ("nap", 16): 0.3})

    def test_seeds_are_counted_in_words(self):
        for finished, text in (([5, 5], "5 seeds"), ([2, 0, 3], "2 to 3 seeds"), ([1], "1 seed")):
            self.assertEqual(reductions.seeds_of(pd.DataFrame({"finished": finished})), text)


class Looks(unittest.TestCase):
    def test_architectures_have_one_order(self):
        ordered = style.in_order(["zeta", "max", "bert", "alpha", "sum"])
        self.assertEqual(ordered, ["bert", "sum", "max", "alpha", "zeta"])
        self.assertEqual(style.in_order(["bert", "mte", *ablation.SETTINGS]), ["bert", *ablation.SETTINGS, "mte"])

    def test_numbers_are_short(self):
        for value, text in ((0.3, "0.3"), (1024.0, "1024"), (0.0002187, "0.000219"), (1.9683e-5, "2.0e-5"), (-3, "-3"),
                            (1e30, "1.0e30"), (999999, "999999"), (-2.5e6, "-2.5e6"), (0.0, "0")):
            self.assertEqual(style.number(value), text)

    def test_names_at_line_ends_keep_apart_in_order_and_close(self):
        for wanted, places in (([0.9, 0.1], [0.9, 0.1]), ([0.5, 0.5, 0.1], [0.45, 0.55, 0.1]), ([], []),
                               ([1.0, 1.0, 0.99], [0.9, 1.0, 0.8]), ([0.5, 0.52, 0.63], [0.45, 0.55, 0.65])):
            np.testing.assert_allclose(style.spread(wanted, 0.1, 0, 1), places)

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

    def test_every_reader_verifies_the_seal(self):
        self.write(whole_sweep())
        sound, readers = self.path.read_bytes(), {
            "trials": results.trials, "attributes": results.attributes, "config_keys": results.config_keys,
            "curves": lambda path: results.curves(path, "train_accuracy")}
        flipped = bytearray(sound)
        flipped[len(sound) // 2] ^= 1
        faults = {"damaged: its bytes do not match its seal": bytes(flipped),
                  "has no seal: ": sound[:-results.SEAL_LENGTH], "not an HDF5 file": b"\0" + sound[1:]}
        for name, read in readers.items():
            for fault, data in faults.items():
                self.path.write_bytes(sound)
                read(self.path)
                self.path.write_bytes(data)
                with self.subTest(name, fault=fault), self.assertRaises(results.DamagedError) as raised:
                    read(self.path)
                self.assertTrue(str(raised.exception).startswith(f"{self.path}: {fault}"), raised.exception)
                self.assertIn("run its sweep again", str(raised.exception))

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

    def test_a_folder_without_results_is_named(self):
        with self.assertRaisesRegex(reductions.FigureError, "^none/results.h5: must be there: run the sweep first"):
            Sweep("none", SPECIFICATION)

    def test_a_plan_that_is_none_is_named(self):
        self.write(whole_sweep())
        for text in ("", '{"ids": [', "{}", "3", "\xff"):
            self.path.with_name("plan.json").write_bytes(text.encode("latin-1"))
            with self.assertRaisesRegex(reductions.FigureError, "plan.json: not a plan as headlab writes it; start"):
                Sweep(self.path.parent, SPECIFICATION)

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

    def test_settings_go_by_their_names_the_last_that_fits(self):
        walk = [trial("bert", 8, 0.3, 0, **{"train.warmup": warmup, "train.clip": clip})
                for warmup, clip in ((0.1, 1.0), (0.0, 1.0), (0.0, 0.0))]
        self.write(walk)
        settings = {"no warm-up": {"train.warmup": 0}, "no clipping": {"train.warmup": 0, "train.clip": 0}}
        sweep = Sweep(self.path.parent, SPECIFICATION, settings)
        self.assertEqual(sweep.trials["model.architecture"].tolist(), ["bert", "no warm-up", "no clipping"])

    def test_the_budget_is_that_of_the_plan(self):
        self.write(whole_sweep())
        ids = [t["id"] for t in whole_sweep()]
        self.assertIsNone(Sweep(self.path.parent, SPECIFICATION).budget)
        for content in ({"budget": "smoke"}, {"command_line": "headlab sweep a.toml --budget smoke -j 2"},
                        {"command_line": "headlab sweep 'a b.toml' --budget=smoke"}):
            self.plan(ids=ids, **content)
            swept = Sweep(self.path.parent, SPECIFICATION)
            self.assertEqual(swept.budget, "smoke", content)
            swept.require_budget("smoke")
            swept.require_budget(None)
            with self.assertRaisesRegex(reductions.FigureError, "must be of budget paper, is of smoke: run .*BUDGET=smoke"):
                swept.require_budget("paper")

    def test_two_budgets_in_one_file_are_told_apart_or_refused(self):
        both = [trial("nap", 8, 0.3, 0, **{"train.epochs": 4}), trial("nap", 8, 0.3, 0, **{"train.epochs": 32})]
        self.write(both)
        with self.assertRaisesRegex(reductions.FigureError, "train.epochs = 4, 32$"):
            Sweep(self.path.parent, SPECIFICATION)


if __name__ == "__main__":
    unittest.main()
