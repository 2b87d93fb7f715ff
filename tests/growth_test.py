"""The figure of a step's growth, from made-up measurements."""

import contextlib
import csv
import io
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import style  # noqa: E402
from analysis.figures import growth  # noqa: E402


def entry(architecture, dim, length, ms=1.0, operations=4e9, **more):
    """A tenth of a millisecond is the limit of 4 GFLOP at 40 TFLOP/s."""
    return {"configuration": {"model.architecture": architecture, "model.dim": dim, "task.length": length,
                              "train.batch": 5},
            "processor": "A chip", "instructions": "x86-64-v3", "peak_gflops": 40000.0, "rounds": 3,
            "step": {"best_ms": ms, "median_ms": 2 * ms, "operations": operations}, **more}


MEASURED = [entry(a, d, n, ms=d * n / 10) for a in ("nap", "mte") for d in (8, 16, 32) for n in (4, 20)]
LEFT_OUT = [{k: v for k, v in entry("mte", 64, 20, left_out="too long").items() if k != "step"}]


class Growth(unittest.TestCase):
    def setUp(self):
        style.use()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def draw(self, *options, out="out"):
        with contextlib.redirect_stdout(io.StringIO()):
            growth.main(["--results", str(self.folder / "bench.json"), "--out", str(self.folder / out), *options])
        return self.folder / out

    def write(self, entries):
        (self.folder / "bench.json").write_text(json.dumps({"version": 1, "bench": entries}), encoding="utf-8")

    def test_times_and_limits_are_for_a_token(self):
        steps = growth.table(MEASURED + LEFT_OUT)
        self.assertEqual(len(steps), 12)
        row = steps.loc["nap", 16, 20]  # 32 ms, 100 tokens
        self.assertAlmostEqual(row[growth.MEASURED], 320)
        self.assertAlmostEqual(row[growth.LIMIT], 1)

    def test_there_is_a_line_and_a_limit_for_each_length_and_each_width(self):
        figure = growth.draw(growth.table(MEASURED), [], "A chip")
        self.addCleanup(style.close, figure)
        over_d, over_n = figure.axes[0], figure.axes[1]
        self.assertEqual([axes.get_title() for axes in figure.axes], ["mte", "", "nap", ""])
        lines = {line.get_label(): line for line in over_d.lines if line.get_label().startswith("$")}
        self.assertEqual(list(lines), ["$N$ = 4", "$N$ = 20"])
        np.testing.assert_allclose(lines["$N$ = 20"].get_xydata(), [[8, 160], [16, 320], [32, 640]])
        limit = over_d.lines[2]  # before the line that it belongs to
        np.testing.assert_allclose(limit.get_ydata(), [1, 1, 1])
        self.assertEqual(limit.get_color(), lines["$N$ = 20"].get_color())
        names = [text.get_text() for text in over_n.texts]
        self.assertEqual(names, ["$d$ = 8", "$d$ = 16", "$d$ = 32"])

    def test_nothing_runs_off_the_page(self):
        figure = growth.draw(growth.table(MEASURED), growth.names_left_out(LEFT_OUT), "A chip")
        self.addCleanup(style.close, figure)
        figure.canvas.draw()
        boxes = [text.get_window_extent() for axes in figure.axes for text in axes.texts]
        boxes += [legend.get_window_extent() for legend in figure.legends]
        boxes += [text.get_window_extent() for text in figure.texts]
        self.assertLess(max(box.x1 for box in boxes), figure.bbox.width)

    def test_beside_the_figure_lie_its_numbers_and_what_was_left_out(self):
        self.write(MEASURED + LEFT_OUT)
        out = self.draw("--formats", "svg")
        with open(out / "growth.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 12)
        self.assertEqual(rows[0]["microseconds_a_token"], "160")
        origin = json.loads((out / "growth.json").read_text(encoding="utf-8"))
        self.assertEqual(origin["left_out"], ["mte $d$ = 64, $N$ = 20"])
        self.assertEqual(origin["processors"], ["A chip, x86-64-v3"])

    def test_the_same_measurements_give_the_same_bytes(self):
        self.write(MEASURED)
        one, two = self.draw(out="one"), self.draw(out="two")
        for name in ("growth.svg", "growth.png", "growth.pdf", "growth.csv"):
            self.assertEqual((one / name).read_bytes(), (two / name).read_bytes(), name)

    def test_what_is_missing_is_measured_once_at_each_length(self):
        self.program()
        self.draw("--headlab", str(self.folder / "headlab"), "--formats", "svg")
        kept = (self.folder / "bench.json").read_bytes()
        keys = [one["configuration"] for one in json.loads(kept)["bench"]]
        self.assertEqual(len(keys), 6 * 2 * 8)
        self.assertEqual([(key["task.length"], key["train.batch"]) for key in keys[::16]],
                         [(4, 32), (16, 32), (64, 32), (256, 8), (1024, 2), (4096, 1)])
        (self.folder / "headlab").unlink()
        self.draw("--headlab", str(self.folder / "headlab"), "--formats", "svg")
        self.assertEqual((self.folder / "bench.json").read_bytes(), kept)

    def test_what_was_measured_before_an_interruption_is_kept(self):
        self.program(fails_at=20)
        with self.assertRaisesRegex(SystemExit, "headlab bench has ended with code 9"):
            self.draw("--headlab", str(self.folder / "headlab"), "--formats", "svg")
        before = json.loads((self.folder / "bench.json").read_text(encoding="utf-8"))["bench"]
        self.assertEqual(len(before), 19)
        self.program()
        self.draw("--headlab", str(self.folder / "headlab"), "--formats", "svg")
        after = json.loads((self.folder / "bench.json").read_text(encoding="utf-8"))["bench"]
        self.assertEqual((after[:19], len(after)), (before, 96))
        self.assertEqual((self.folder / "calls").read_text().count("x"), 20 + 77)

    def program(self, fails_at=0):
        """A bench that measures a millisecond, but at its call of that number fails; it counts its calls."""
        program, calls = self.folder / "headlab", self.folder / "calls"
        one = json.dumps({"version": 1, "bench": [entry("A", 1, 2)]})
        for key, value in (("architecture", '"A"'), ("dim", "1"), ("length", "2"), ("batch", "5")):
            one = one.replace(f'{key}": {value}', f'{key}": \'"${key}"\'')
        program.write_text(f"""#!/bin/sh
            while [ $# -gt 0 ]; do
              case $1 in --model.architecture) architecture=\\"$2\\";; --model.dim) dim=$2;;
                --task.length) length=$2;; --train.batch) batch=$2;; esac; shift
            done
            printf x >> '{calls}'
            [ "$(wc -c < '{calls}')" != {fails_at} ] || exit 9
            echo '{one}'
            """, encoding="utf-8")
        program.chmod(0o755)

    def test_the_limit_is_at_the_largest_peak(self):
        slower = entry("nap", 64, 4)
        slower["peak_gflops"] = 20000.0
        steps = growth.table(MEASURED + [slower])
        self.assertEqual(set(steps["peak_gflops"]), {40000.0})
        self.assertAlmostEqual(steps.loc["nap", 64, 4][growth.LIMIT], 4e9 * 1e-3 / 20 / 40000)

    def test_lines_differ_in_their_marks(self):
        figure = growth.draw(growth.table(MEASURED), [], "A chip")
        self.addCleanup(style.close, figure)
        marks = [line.get_marker() for line in figure.axes[1].lines if line.get_label().startswith("$")]
        self.assertEqual(len(set(marks)), 3)

    def test_without_measurements_it_says_so(self):
        with self.assertRaisesRegex(SystemExit, "^error: .*bench.json: No such file"):
            self.draw()
        self.write([])
        with self.assertRaisesRegex(SystemExit, "^error: .*bench.json: holds no measured step"):
            self.draw()
        (self.folder / "bench.json").write_text("{", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "^error: .*bench.json: is not JSON"):
            self.draw()


if __name__ == "__main__":
    unittest.main()
