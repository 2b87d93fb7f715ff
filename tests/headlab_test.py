"""analysis/headlab.py against hand-made results: tables, data sets and reductions, by hand."""

import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import headlab  # noqa: E402
from tests.support.made_up import DIM, NAN, RATE, made_up_curves, trial, whole_sweep  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402

PLACE = ["model.architecture", DIM]


class Reading(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, trials, **more):
        (self.folder / name).mkdir(exist_ok=True)
        write_results(self.folder / name / "results.h5", trials, made_up_curves(trials) | more)
        return self.folder / name

    def test_a_trial_is_a_row_and_other_lengths_have_their_column(self):
        test = np.stack([np.arange(16.0), -np.arange(16.0)], axis=-1)
        table = headlab.load(self.write("a", whole_sweep(), test_accuracy=(test, ("trial", "relative_length"))))
        self.assertEqual(len(table), 16)
        self.assertEqual(table[["test_accuracy", "test_accuracy@2", DIM]].iloc[5].tolist(), [5, -5, 16])

    def test_a_trial_and_epoch_is_a_row(self):
        long = headlab.epochs(self.write("a", whole_sweep()) / "results.h5")
        self.assertEqual(len(long), 16 * 3)
        row = long[(long["id"] == whole_sweep()[6]["id"]) & (long["epoch"] == 2)].iloc[0]
        self.assertEqual(row["train_accuracy"], 7 / 32)
        self.assertEqual(row[["validation_accuracy", "validation_accuracy@2"]].tolist(), [3.5 / 32, 1.75 / 32])
        self.assertEqual(row[[*PLACE, RATE, "seed"]].tolist(), ["nap", 16, 0.09, 0])

    def test_epochs_that_a_trial_was_not_to_have_are_no_rows(self):
        trials = [trial("nap", 8, 0.3, 0, **{"train.epochs": 2}), trial("nap", 8, 0.3, 1, **{"train.epochs": 3})]
        long = headlab.epochs(self.write("a", trials))
        self.assertEqual(long.groupby("seed").size().to_dict(), {0: 2, 1: 3})

    def test_cases_are_shares_of_their_sequences(self):
        trials = whole_sweep()[:1]
        dims = ("trial", "epoch", "case_length", "case_t")
        total = np.array([[[[4, 8], [4, 0]]] * 2])
        correct = np.array([[[[1, 8], [2, 0]]] * 2])
        path = self.write("a", trials, train_accuracy=np.zeros((1, 2)), validation_accuracy=np.zeros((1, 2, 2)),
                          case_correct_t=(correct, dims), case_total_t=(total, dims))
        row = headlab.epochs(path).iloc[1]
        names = ["case_accuracy.first", "case_accuracy.last", "case_accuracy.first@0.5", "case_accuracy.last@0.5"]
        np.testing.assert_array_equal(row[names].astype(float), [0.25, 1, 0.5, NAN])

    def test_several_folders_are_one_table_with_each_trial_once(self):
        paths = self.write("a", whole_sweep()[:10]), self.write("b", whole_sweep()[8:])
        self.assertEqual(sorted(headlab.load(*paths).index), sorted(t["id"] for t in whole_sweep()))
        self.assertEqual(len(headlab.epochs(*paths)), 48)
        data = headlab.dataset(*paths)
        self.assertEqual(data.sizes["trial"], 16)
        last = data["train_accuracy"].sel(trial=whole_sweep()[15]["id"], epoch=3).item()
        self.assertEqual(last, 9 / 32)  # of the eight in b, this is the last

    def test_what_is_missing_or_pending_is_told(self):
        with self.assertRaisesRegex(headlab.FigureError, "nowhere: must be there"):
            headlab.load(self.folder / "nowhere")
        path = self.write("a", whole_sweep(nap_8_0_1="interrupted")[:15])
        plan = {"trials": [{"id": t["id"]} for t in whole_sweep()]}
        (path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        self.assertEqual(headlab.pending(path), [whole_sweep()[i]["id"] for i in (1, 15)])


class Reductions(unittest.TestCase):
    def table(self, rows):
        columns = ["model.architecture", RATE, "seed", "epoch", "status", "accuracy"]
        return pd.DataFrame(rows, columns=columns)

    def test_statistics_over_seeds(self):
        table = self.table([["nap", 0.3, s, 1, "done", v] for s, v in enumerate((0.1, 0.2, 0.3, 0.8))])
        found = headlab.over_seeds(table, "accuracy", [*headlab.CELL]).loc[("nap", 0.3)]
        self.assertEqual(found["seeds"], 4)
        # Deviations from .35: -.25, -.15, -.05, .45; their squares sum to .29; t of 3 degrees of freedom is 3.182446.
        np.testing.assert_allclose(found[["mean", "min", "max"]], [0.35, 0.1, 0.8])
        np.testing.assert_allclose(found["sd"], np.sqrt(0.29 / 3))
        np.testing.assert_allclose(found["ci95"], 3.182446 * np.sqrt(0.29 / 3) / 2, rtol=1e-6)

    def test_one_seed_has_no_spread(self):
        found = headlab.over_seeds(self.table([["nap", 0.3, 0, 1, "done", 0.5]]), "accuracy", [*headlab.CELL])
        np.testing.assert_array_equal(found.iloc[0], [1, 0.5, 0.5, 0.5, NAN, NAN])

    def test_student_is_that_of_the_tables(self):
        for freedom, t in ((1, 12.7062), (2, 4.30265), (3, 3.18245), (4, 2.77645), (9, 2.26216), (30, 2.04227)):
            self.assertAlmostEqual(headlab.student(freedom), t, delta=1e-4)
        self.assertTrue(np.isnan(headlab.student(0)))

    def test_failed_seeds_do_not_count_and_what_a_diverged_one_lacks_has_no_mean(self):
        table = self.table([["nap", 0.3, 0, 1, "done", 0.5], ["nap", 0.3, 1, 1, "failed", NAN],
                            ["nap", 0.3, 0, 2, "done", 0.9], ["nap", 0.3, 2, 2, "diverged", NAN]])
        found = headlab.over_seeds(table, "accuracy", [*headlab.CELL, "epoch"])
        np.testing.assert_array_equal(found["mean"], [0.5, NAN])
        np.testing.assert_array_equal(found["seeds"], [1, 2])

    def test_more_than_seeds_are_not_averaged(self):
        table = self.table([["nap", rate, 0, 1, "done", 0.5] for rate in (0.3, 0.09)])
        with self.assertRaisesRegex(headlab.FigureError, "also do in train.learning_rate = 0.3, 0.09"):
            headlab.over_seeds(table, "accuracy", ["model.architecture"])

    def test_best_epoch_has_the_spread_of_its_best_mean(self):
        rows = [["nap", 0.3, s, e, "done", v] for e, values in ((1, (0.25, 0.375)), (2, (0.125, 0.75)), (3, (0.25, 0.625)))
                for s, v in enumerate(values)]
        best = headlab.best_epoch(headlab.over_seeds(self.table(rows), "accuracy", [*headlab.CELL, "epoch"])).iloc[0]
        np.testing.assert_allclose(best[["min", "mean", "max"]], [0.25, 0.4375, 0.75])
        np.testing.assert_allclose(best[["epoch", "seeds", "sd"]], [2, 2, 0.625 / np.sqrt(2)])  # of equal means the first

    def test_the_best_rate_is_chosen_by_validation_at_the_own_length(self):
        rows = []
        for rate, own, double, test in ((0.3, 0.5, 0.9, 0.9), (0.09, 0.6, 0.1, 0.2)):
            rows += [{"model.architecture": "nap", DIM: 8, RATE: rate, "seed": s, "epoch": e, "status": "done",
                      "validation_accuracy": own / e, "validation_accuracy@2": double, "test_accuracy": test}
                     for s in (0, 1) for e in (1, 2)]
        long = pd.DataFrame(rows)
        chosen = headlab.at_best_rate(long[long["epoch"] == 1], long, PLACE)
        self.assertEqual(chosen[[RATE, "test_accuracy", "seed"]].values.tolist(), [[0.09, 0.2, 0], [0.09, 0.2, 1]])


if __name__ == "__main__":
    unittest.main()
