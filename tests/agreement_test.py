"""analysis/agreement.py by hand-made cells, and its figure from a hand-made sweep."""

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
from analysis import agreement, learning_curves, reductions, style  # noqa: E402
from analysis.figures import agreement as figure  # noqa: E402
from tests.support.made_up import DIM, NAN, trial  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402

SPECIFICATION = """name = "agreement"
[grid]
model.architecture = ["nap", "sum"]
model.dim = [8]
train.learning_rate = [0.3, 0.00243]
seed = [0, 1]
"""


def cells(means, finished=2):
    """nap, d 8, rates .3, .09, ..."""
    index = pd.MultiIndex.from_tuples([("nap", 8, 0.3**(k + 1)) for k in range(len(means))],
                                      names=reductions.cell_axes(DIM))
    return pd.DataFrame({"mean": means, "finished": finished}, index=index)


def published(*ranges):
    index = pd.MultiIndex.from_tuples([("nap", 8, k + 1) for k in range(len(ranges))],
                                      names=["model.architecture", DIM, "k"])
    return pd.DataFrame(ranges, index=index, columns=["best_min", "best_mean", "best_max"])


class Rule(unittest.TestCase):
    def test_a_cell_agrees_within_a_twentieth_of_the_runs_range(self):
        means, theirs = [0.46, 0.44, 0.74, 0.76], [(0.5, 0.6, 0.7)] * 4
        table = agreement.compared(cells(means), published(*theirs))
        self.assertEqual(table["agrees"].tolist(), [True, False, True, False])
        np.testing.assert_allclose(table["outside"], [0, 0.01, 0, 0.01], atol=1e-12)
        np.testing.assert_allclose(table["difference"], [-0.14, -0.16, 0.14, 0.16])

    def test_cells_without_a_value_or_a_second_seed_are_not_compared(self):
        some = cells([0.6, NAN, 0.6], finished=[2, 2, 1])
        table = agreement.compared(some, published(*[(0.5, 0.6, 0.7)] * 3))
        self.assertEqual(table.index.get_level_values("train.learning_rate").tolist(), [0.3])

    def test_shares_are_of_each_architecture_and_of_all(self):
        table = agreement.compared(cells([0.6, 0.1]), published((0.5, 0.6, 0.7), (0.5, 0.6, 0.7)))
        self.assertEqual(agreement.shares(table).loc["nap"].tolist(), [2, 1, 0.5])
        self.assertEqual(agreement.shares(table).loc["all"].tolist(), [2, 1, 0.5])

    def test_rates_are_joined_by_their_power_however_they_are_rounded(self):
        self.assertEqual(agreement.exponent(np.array([0.3, 0.00243, 0.0002187, 5.9049e-06])).tolist(), [1, 5, 7, 10])
        with self.assertRaisesRegex(reductions.FigureError, "must be a power of 0.3, is 0.001"):
            agreement.exponent(np.array([0.3, 0.001]))

    def test_the_published_numbers_are_of_whole_grids(self):
        self.assertEqual(len(agreement.published("argmin_first_argmax")), 8 * 10)
        mode = agreement.published("mode")
        self.assertEqual(len(mode), 6 * 8 * 10)
        self.assertEqual(mode.loc[("bert", 8, 1)].tolist(), [0.1122, 0.1233, 0.1394])
        with self.assertRaisesRegex(reductions.FigureError, "published for mode, argmin_first_argmax, not for local_global"):
            agreement.published("local_global")


class Curves(unittest.TestCase):
    def curves(self, *rates):
        index = pd.MultiIndex.from_tuples([("bert", 32, rate, epoch) for rate in rates for epoch in (1, 2)],
                                          names=[*reductions.cell_axes(DIM), "epoch"])
        return pd.DataFrame({"min": 0.1, "mean": 0.2, "max": 0.3}, index=index)

    def test_published_ones_are_indexed_by_cell_and_epoch(self):
        theirs = agreement.published_curves("mode")
        self.assertEqual(theirs.loc[("bert", 32, 5, 1)].tolist(), [0.1047, 0.1129, 0.1175])
        self.assertEqual(len(theirs), 6 * 2 * 2 * 32)
        self.assertIsNone(agreement.published_curves("argmin_first_argmax"))

    def test_cells_of_both_are_kept_with_our_rates(self):
        ours = self.curves(0.0024300001, 0.0002187)
        ours.loc[("bert", 32, 0.0002187)] = NAN
        both = agreement.curves_of_both(ours, agreement.published_curves("mode"))
        self.assertEqual(both.index.droplevel("epoch").unique().tolist(), [("bert", 32, 0.0024300001)])
        self.assertEqual(both.loc[("bert", 32, 0.0024300001, 2)].tolist(), [0.1356, 0.1446, 0.155])
        self.assertTrue(agreement.curves_of_both(self.curves(0.09), agreement.published_curves("mode")).empty)

    def test_both_are_drawn_in_the_architectures_panel(self):
        style.use()
        ours = self.curves(0.00243)
        counts = pd.DataFrame({"finished": 2, "diverged": 0, "chance_accuracy_training": 0.12},
                              index=ours.index.droplevel("epoch").unique())
        both = agreement.curves_of_both(ours, agreement.published_curves("mode"))
        figure = learning_curves.beside(ours, both, counts, DIM, "", "")
        self.addCleanup(style.close, figure)
        (axes,) = figure.axes
        published, own, chance = axes.lines
        self.assertEqual(axes.get_title(), "bert")
        np.testing.assert_array_equal(published.get_ydata()[:2], [0.1129, 0.1446])
        np.testing.assert_array_equal(own.get_xydata(), [[1, 0.2], [2, 0.2]])
        self.assertEqual(chance.get_ydata()[0], 0.12)


class Figure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "made.toml").write_text(SPECIFICATION)

    def draw(self, task, dim=8):
        trials = [trial(a, dim, r, s, **{"task.name": task}) for a in ("nap", "sum") for r in (0.3, 0.00243)
                  for s in (0, 1)]
        # The published runs at d = 8: nap .13 to .29, then .27 to .46; sum .42 to .54, then .72 to .75.
        values = np.repeat([[0.2], [0.99], [0.5], [0.5]], 2, axis=0)
        write_results(self.folder / "results.h5", trials,
                      {"train_accuracy": values, "validation_accuracy": np.stack([values, values], axis=-1)})
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            figure.main([str(self.folder / "made.toml"), "--results", str(self.folder), "--out", str(self.folder),
                         "--formats", "svg"])
        return printed.getvalue()

    def test_it_tells_and_writes_what_agrees(self):
        printed = self.draw("mode")
        origin = json.loads((self.folder / "agreement.json").read_text())
        table = pd.read_csv(self.folder / "agreement.csv")
        self.assertEqual(table["agrees"].tolist(), [False, True, False, True])  # rates rise
        self.assertEqual([origin["agree"], origin["compared"]], [2, 4])
        self.assertIn("sum   d    8 rate 0.00243  ours 0.500 0.500 0.500", printed)
        self.assertTrue((self.folder / "agreement.svg").stat().st_size)
        self.assertFalse((self.folder / "published-curves.svg").exists())  # none is published for d = 8

    def test_curves_are_beside_the_published_ones(self):
        self.draw("mode", 32)
        table = pd.read_csv(self.folder / "published-curves.csv")
        self.assertEqual(table["model.architecture"].unique().tolist(), ["nap", "sum"])
        self.assertEqual(table["mean"].tolist(), [0.99, 0.5])  # nap's and sum's one epoch at the rate of both
        self.assertEqual(table["mean_published"].notna().sum(), 2)
        self.assertTrue((self.folder / "published-curves.svg").stat().st_size)

    def test_a_task_without_published_numbers_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "error: .agreement. numbers are published for"):
            self.draw("local_global")


if __name__ == "__main__":
    unittest.main()
