"""The figures of shared queries and keys: of made-up results, and of a program that only notes what it is asked."""

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
from analysis import conversions, style  # noqa: E402
from analysis.figures import compression, conversion_cost, query_key_dim, spectra  # noqa: E402
from analysis.reductions import FigureError  # noqa: E402
from tests.support.made_up import made_up_curves, trial  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        style.use()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def drawn(self, figure):
        self.addCleanup(style.close, figure)
        return figure

    def main(self, module, *options):
        with contextlib.redirect_stdout(io.StringIO()):
            module.main([*options, "--out", str(self.folder / "out"), "--formats", "svg"])
        return self.folder / "out"

    def write(self, trials, tests):
        test = np.stack([np.asarray(tests, float)] * 2, axis=-1)
        curves = made_up_curves(trials) | {"test_accuracy": (test, ("trial", "relative_length"))}
        write_results(self.folder / "results.h5", trials, curves)


class Runs(InFolder):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "headlab"
        self.program.write_text("""#!/bin/sh
here=$(dirname "$0"); echo "$@" >> "$here/log"; n=$(wc -l < "$here/log"); command=$1
[ -e "$here/fail" ] && exit 1
while [ $# -gt 0 ]; do case "$1" in --out|--save|--csv) echo "$n" > "$2";; esac; shift; done
[ "$command" = reparametrize ] && echo '{"layers": [{"layer": 0, "error": 0.5}]}' || printf 'trial %016d: done\\n' "$n"
""", encoding="utf-8")
        self.program.chmod(0o755)
        self.runs = self.opened()

    def opened(self):
        with contextlib.redirect_stdout(io.StringIO()):
            return conversions.Runs(str(self.program), self.folder / "runs")

    def calls(self):
        log = self.folder / "log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def use(self, runs):
        with contextlib.redirect_stdout(io.StringIO()):
            runs.train("a", "--seed", "1", save="a.safetensors", method="m", dim=4)
            layers = runs.convert("a.safetensors", "b.safetensors", "--dim", "2")
        self.assertEqual(layers, [{"layer": 0, "error": 0.5}])

    def test_each_runs_once_also_in_a_later_process(self):
        self.use(self.runs)
        self.use(self.runs)
        self.use(self.opened())
        self.assertEqual([call.split()[0] for call in self.calls()], ["train", "reparametrize"])
        self.assertEqual(self.opened().known, {"a": {"id": "0000000000000001", "method": "m", "dim": 4}})

    def test_a_model_that_is_gone_is_made_again(self):
        self.use(self.runs)
        (self.folder / "runs" / "a.safetensors").unlink()
        self.use(self.opened())
        self.assertEqual([call.split()[0] for call in self.calls()], ["train", "reparametrize", "train"])

    def test_a_failure_is_told_and_not_kept(self):
        (self.folder / "fail").touch()
        with self.assertRaisesRegex(FigureError, "headlab train has ended with code 1"):
            self.use(self.runs)
        self.assertEqual(self.opened().known, {})

    def test_compression_trains_converts_and_trains_on(self):
        with contextlib.redirect_stdout(io.StringIO()):
            compression.measure(self.runs, 2, (64, 16))
        words = [call.split()[0] for call in self.calls()]
        rates, more = len(compression.RATES), len(compression.MORE)
        # a seed: itself, trained on; for each width two methods, raw and trained on, and from scratch
        self.assertEqual(words.count("train"), 2 * (1 + more * rates + 2 * (2 * (1 + more * rates) + rates)))
        self.assertEqual((words.count("reparametrize"), words[-1]), (2 * 2 * 2, "merge"))


class QueryKeyDim(InFolder):
    def trials(self):
        """Two relations, two ways, two widths, two rates, two seeds; in this order the accuracy of test rises."""
        return [trial("mte", 64, rate, seed, **{
            "task.relation": relation, "model.query_key": sharing, "model.query_key_dim": width,
            "query_key_parameters": (100 if sharing == "concatenated" else 90) * width, "score_operations": 2 * width,
            "key_cache": width, "parameters": 1000, "operations_per_step": 5000})
            for relation in ("shift", "disjoint") for sharing in ("concatenated", "collaborative") for width in (8, 16)
            for rate in (0.1, 0.01) for seed in (0, 1)]

    def test_each_cell_is_that_of_the_best_rate_with_its_costs(self):
        self.write(self.trials(), np.arange(32) / 32)
        out = self.main(query_key_dim, "a.toml", "--results", str(self.folder))
        table = pd.read_csv(out / "accuracy-parameters.csv").set_index(query_key_dim.CELL)
        self.assertEqual(len(table), 8)
        row = table.loc[("shift", "collaborative", 16)]  # trials 12 to 15, of which the last two have the better rate
        self.assertEqual(row[["min", "mean", "max", "train.learning_rate"]].tolist(), [14 / 32, 14.5 / 32, 15 / 32, 0.01])
        self.assertEqual(row[["query_key_parameters", "score_operations", "key_cache"]].tolist(), [1440, 32, 16])
        self.assertTrue((out / "accuracy-operations.svg").exists())

    def test_lines_are_over_the_costs(self):
        self.write(self.trials(), np.arange(32) / 32)
        table = query_key_dim.statistics(*(read(self.folder) for read in (query_key_dim.headlab.load, query_key_dim.headlab.epochs)))
        figure = self.drawn(query_key_dim.draw(table, "query_key_parameters", "t", "s",
                                               query_key_dim.headlab.load(self.folder)))
        self.assertEqual([axes.get_title() for axes in figure.axes], ["disjoint", "shift"])
        lines = {line.get_color(): list(line.get_xdata()) for line in figure.axes[0].lines if len(line.get_xdata()) == 2}
        self.assertEqual(lines[style.SHARING["concatenated"]], [800, 1600])
        self.assertEqual(lines[style.SHARING["collaborative"]], [720, 1440])

    def test_pending_trials_are_refused(self):
        self.write(self.trials(), np.arange(32) / 32)
        (self.folder / "plan.json").write_text(json.dumps({"ids": ["f" * 16]}), encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "1 are pending"):
            self.main(query_key_dim, "a.toml", "--results", str(self.folder))


class Compression(InFolder):
    def test_the_rate_is_that_of_the_better_validation(self):
        trials = [trial("mte", 64, rate, seed, more=more) for more in (0, 1) for rate in (0.1, 0.01) for seed in (0, 1)]
        for i, t in enumerate(trials):
            t["last_validation_accuracy"] = (8 - i) / 8  # falling: of each cell the first rate is the better
        for t in trials:
            del t["more"]
        self.write(trials, np.arange(8) / 8)
        runs = {str(i): {"id": t["id"], "method": "collaborative", "dim": 16, "more": i // 4} for i, t in enumerate(trials)}
        (self.folder / "runs.json").write_text(json.dumps({"version": 1, "runs": runs}), encoding="utf-8")
        table, _ = compression.read(self.folder)
        self.assertEqual(table["mean"].tolist(), [0.5 / 8, 4.5 / 8])

    def test_without_runs_it_says_so(self):
        with self.assertRaisesRegex(FigureError, "must hold runs.json"):
            compression.read(self.folder)

    def test_baselines_are_drawn_in_every_panel(self):
        index = pd.MultiIndex.from_tuples(
            [("collaborative", d, m) for d in (8, 64) for m in (0, 1, 4)] + [("continued", 64, m) for m in (0, 1, 4)]
            + [("from scratch", d, 4) for d in (8, 64)], names=compression.CELL)
        table = pd.DataFrame({"seeds": 3, "mean": 0.5, "min": 0.4, "max": 0.6, "sd": 0.1, "ci95": 0.1}, index=index)
        figure = self.drawn(compression.draw(table))
        self.assertEqual(len(figure.axes), 3)
        for axes in figure.axes:
            self.assertEqual(len([line for line in axes.lines if line.get_linewidth() == 1.4]), 3)


class Spectra(InFolder):
    def test_a_panel_a_kind_with_means_and_the_random_band(self):
        for stage, energy in zip(spectra.LOOKS, (0.2, 0.5, 0.8)):
            rows = [{"layer": 0, "kind": kind, "head": head, "dimensions": j, "share": j / 2,
                     "energy": energy + 0.1 * head if j == 1 else 1, "random_low": 0.4 * j, "random_high": 0.5 * j}
                    for kind in spectra.KINDS for head in (0, 1) for j in (1, 2)]
            pd.DataFrame(rows).to_csv(self.folder / f"{stage}.csv", index=False)
        self.main(spectra, "--results", str(self.folder))
        figure = self.drawn(spectra.draw(spectra.read(self.folder)))
        self.assertEqual(len(figure.axes), len(spectra.KINDS))
        bold = [line.get_ydata()[1] for line in figure.axes[0].lines if line.get_linewidth() == 1.6]
        np.testing.assert_allclose(bold, [0.25, 0.55, 0.85])

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(FigureError, "start.csv: must be there"):
            spectra.read(self.folder)


class ConversionCost(InFolder):
    def test_errors_lie_over_the_share_of_the_width(self):
        for model, width in conversion_cost.MODELS.values():
            for name, method, dim in conversion_cost.conversions_of(model, width):
                layer = {"layer": 0, "dim": dim, "error": 1 - dim / width, "floor": 0.1, "seconds": 0.5}
                (self.folder / name).with_suffix(".json").write_text(json.dumps({"layers": [layer]}), encoding="utf-8")
        self.main(conversion_cost, "--results", str(self.folder))
        figure = self.drawn(conversion_cost.draw(conversion_cost.read(self.folder)))
        line = figure.axes[0].lines[0]
        np.testing.assert_allclose(line.get_xdata() + line.get_ydata(), 1)
        self.assertEqual(len(figure.axes), 4)


if __name__ == "__main__":
    unittest.main()
