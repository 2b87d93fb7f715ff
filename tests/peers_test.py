"""Tables and figures of hand-made timings of headlab and its peers."""

import contextlib
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/bench")]
import peers as timing  # noqa: E402
import peers_cell  # noqa: E402
from analysis import peers_table, style  # noqa: E402
from analysis.figures import peers  # noqa: E402


def cell(architecture="mte", dim=128, length=128, **milliseconds):
    return {"architecture": architecture, "dim": dim, "length": length, "milliseconds": milliseconds}


class Table(unittest.TestCase):
    def test_the_fastest_peer_is_chosen_by_best_and_by_median_apart(self):
        c = cell(headlab=[10, 20, 12], eager=[30, 31, 20], jit=[25, 26, 27])
        self.assertEqual(peers_table.fastest(c, "best"), ("eager", 2.0))
        self.assertEqual(peers_table.fastest(c, "median"), ("jit", 26 / 12))
        self.assertEqual(peers_table.ratios(c, "best"), {"eager": 2.0, "jit": 2.5})

    def test_a_target_is_met_at_it_and_missed_below(self):
        self.assertTrue(peers_table.met(cell(headlab=[10], eager=[17], jit=[20]), "best"))
        self.assertFalse(peers_table.met(cell(headlab=[10], eager=[20], jit=[16.9]), "best"))

    def test_each_group_and_shape_has_the_target_set_for_it(self):
        self.assertEqual(peers_table.target("bert", (8, 128)), 12)
        self.assertEqual(peers_table.target("non", (16, 128)), 18)
        self.assertEqual(peers_table.target("max", (128, 8)), 2)
        self.assertEqual(peers_table.target("nap", (128, 32)), 1.7)
        self.assertIsNone(peers_table.target("nap", (8, 32)))

    def test_rows_are_in_order_with_times_ratios_and_marks(self):
        cells = [cell("max", 128, 8, headlab=[10, 10], eager=[30, 30]),
                 cell("bert", 16, 128, headlab=[1, 1.25], eager=[7, 7.5], jit=[8, 7.75]),
                 cell("bert", 8, 128, headlab=[2, 2], eager=[150, 150])]
        self.assertEqual(peers_table.table(cells).splitlines(), [
            "| model | d | N | headlab, ms | eager, ms | jit, ms | fastest peer | target | fastest / headlab"
            " | of medians |",
            "|---|---|---|---|---|---|---|---|---|---|",
            "| bert | 8 | 128 | 2.00 (2.00) | 150 (150) |  | eager | 12 | 75.0 ✓ | 75.0 ✓ |",
            "| bert | 16 | 128 | 1.00 (1.12) | 7.00 (7.25) | 7.75 (7.88) | eager | 7 | 7.00 ✓ | 6.44 ✗ |",
            "| max | 128 | 8 | 10.0 (10.0) | 30.0 (30.0) |  | eager | 2 | 3.00 ✓ | 3.00 ✓ |",
            "", "Of 3 targets are met: 3 by best, 2 by median."])

    def test_a_shape_without_a_target_has_no_mark(self):
        row = peers_table.table([cell("nap", 24, 128, headlab=[1], eager=[3])]).splitlines()[2]
        self.assertEqual(row, "| nap | 24 | 128 | 1.00 (1.00) | 3.00 (3.00) | eager |  | 3.00 | 3.00 |")


class Timing(unittest.TestCase):
    def test_parameters_of_a_layer_are_as_many_as_in_the_paper(self):
        wanted = {"bert": 198272, "mte": 199552, "nap": 199560, "non": 199296, "sum": 199811, "max": 199811}
        found = {a: sum(math.prod(shape) for name, shape in peers_cell.shapes(cell(a)).items() if "layer.1." in name)
                 for a in wanted}
        self.assertEqual(found, wanted)

    def test_a_peer_that_trains_another_model_is_not_timed(self):
        wanted = [4.0, 3.9, 3.8, 3.7]
        self.assertLess(timing.require_equal("jit", cell(), [4.0, 3.9, 3.8, 3.7001], wanted), 3e-5)
        for other in ([4.0, 3.9, 3.8, 3.701], [4.001, 3.9, 3.8, 3.7], [float("nan")] * 4):
            with self.assertRaisesRegex(timing.Failed, "jit"):
                timing.require_equal("jit", cell(), other, wanted)

    def test_updates_that_would_not_be_seen_are_not_compared(self):
        with self.assertRaisesRegex(timing.Failed, "updates must change the loss"):
            timing.require_equal("jit", cell(), [4.0] * 4, [4.0, 4.0, 4.0, 4.001])

    def test_only_cells_of_the_same_origin_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path, own = pathlib.Path(folder) / "peers.json", {"commit": "a", "processor": "p"}
            timing.write(path.parent, {**own, "cells": [cell(headlab=[1], eager=[2])]})
            self.assertEqual(len(timing.load(path, own)["cells"]), 1)
            self.assertEqual(timing.load(path, {**own, "commit": "b"}), {"commit": "b", "processor": "p", "cells": []})
            aside = list(path.parent.glob("peers-a-*.json"))
            self.assertEqual(len(json.loads(aside[0].read_text(encoding="utf-8"))["cells"]), 1)


class Figure(unittest.TestCase):
    def setUp(self):
        style.use()

    def drawn(self, cells):
        figure = peers.figure(cells, "", "")
        self.addCleanup(style.close, figure)
        return figure.axes

    def test_lines_are_ratios_of_the_best_over_widths_and_lengths(self):
        cells = [cell("nap", d, n, headlab=[2, 3], jit=[d + n, 999])
                 for d, n in ((128, 8), (16, 128), (128, 128))]
        widths, lengths = self.drawn(cells)[1], self.drawn(cells)[4]
        self.assertEqual([line.get_xydata().tolist() for line in lines_of(widths, "jit")], [[[16, 72], [128, 128]]])
        self.assertEqual([line.get_xydata().tolist() for line in lines_of(lengths, "jit")], [[[8, 68], [128, 128]]])

    def test_each_peer_has_a_line_an_architecture_in_its_groups_panel(self):
        cells = [cell(a, headlab=[1], eager=[2], jit=[3]) for a in peers_table.ARCHITECTURES]
        for axes in self.drawn(cells):
            self.assertEqual(sorted(line.get_gid() for line in axes.lines if line.get_gid()),
                             ["eager", "eager", "jit", "jit"])

    def test_targets_are_drawn_where_they_are(self):
        axes = self.drawn([cell("sum", headlab=[1], eager=[2])])[2]
        targets = next(c for c in axes.collections if c.get_gid() == "target")
        self.assertEqual(targets.get_offsets().tolist(), [[8, 6], [16, 5], [32, 4], [64, 2.5], [128, 1.8]])

    def test_files_are_written_for_a_file_of_timings(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            timings, out = pathlib.Path(folder) / "peers.json", pathlib.Path(folder) / "out"
            found = {"commit": "c0ffee", "processor": "p", "requirements": ["torch==1"],
                     "cells": [cell(headlab=[1], eager=[2])]}
            timings.write_text(json.dumps(found), encoding="utf-8")
            peers.main([str(timings), "--out", str(out), "--formats", "png"])
            self.assertEqual(sorted(p.name for p in out.iterdir()), ["peers.csv", "peers.json", "peers.png"])
            self.assertEqual((out / "peers.csv").read_text(encoding="utf-8").splitlines()[1],
                             "mte,128,128,eager,1,2,2,1,2,2,1.7")


def lines_of(axes, peer):
    return [line for line in axes.lines if line.get_gid() == peer]


if __name__ == "__main__":
    unittest.main()
