"""Findings of hand-made results: each claim once true, once false, once undecided; what is not run is told."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from analysis import agreement, claims, evidence, findings  # noqa: E402
from tests.support.made_up import DIM, NAN, RATE, trial  # noqa: E402
from tests.support.results_file import write_results  # noqa: E402

ATTENTIONS, SIX = claims.ATTENTIONS, (*claims.ATTENTIONS, *claims.POOLS)
RATES, DIMS, SEEDS = (0.3, 0.09, 0.027, 0.0081), (8, 16), (0, 1, 2)
VALIDATION, TRAINING = "validation_accuracy", "train_accuracy"


def made_up(names, dims=DIMS[:1], **measures):
    """Evidence of trials of 2 epochs; measures: functions of (architecture, d, rate, seed), in epoch 2, half in epoch 1."""
    trials = pd.DataFrame([trial(a, d, r, s) for a in names for d in dims for r in RATES for s in SEEDS]).set_index("id")
    rows = []
    for name, row in trials.iterrows():
        place = (row["model.architecture"], row[DIM], row[RATE], row["seed"])
        values = {measure: f(*place) for measure, f in measures.items()}
        rows += [{"id": name, "epoch": e, **{m.replace("__", "."): v * e / 2 for m, v in values.items()}} for e in (1, 2)]
    epochs = pd.DataFrame(rows).rename(columns=lambda c: c.replace("_at_", "@").replace("_half", "@0.5"))
    return evidence.Evidence(types.SimpleNamespace(trials=trials, epochs=epochs, x=DIM, unnamed=[], finished=trials))


def by_name(seeds=None, **values):
    """A measure by architecture; seeds: architecture to what each seed has more."""
    return lambda a, d, r, s: values.get(a, 0.5) + (seeds or {}).get(a, (0, 0, 0))[s]


def at_rates(**levels):
    """A measure by architecture and place of the learning rate."""
    return lambda a, d, r, s: levels.get(a, (0.9,) * 4)[RATES.index(r)] + 0.001 * s


WIDE = {"nap": (-0.4, 0, 0.4)}  # over seeds
NARROW = (0.125, 0.9, 0.125, 0.125)


def bands(seeds=(0, 0, 0)):
    """bert's band is one of four rates; with seeds, as many more as these are."""
    def accuracy(a, d, r, s):
        if a != "bert":
            return 0.9 if RATES.index(r) < 2 else 0.2
        return 0.9 if RATES.index(r) <= seeds[s] else 0.2
    return {VALIDATION: accuracy}


def cases(*paces, seeds=(0, 0, 0)):
    """The accuracies of the three cases; seeds: what each has more of the second."""
    return {VALIDATION: by_name(), **{f"case_accuracy__{case}": lambda a, d, r, s, p=pace, c=case:
                                      p + (seeds[s] if c == "first" else 0)
                                      for case, pace in zip(evidence.CASES, paces)}}


def argmax_at(greatest, seeds=(0, 0, 0)):
    """mte's argmax case at the greatest rate; 0 at the least one, .8 between."""
    argmax = {RATES[0]: greatest, RATES[-1]: 0}
    return {f"case_accuracy__{case}": lambda a, d, r, s, c=case: argmax.get(r, 0.8) + seeds[s] * (r == RATES[0])
            if c == "argmax" else 0.8 for case in evidence.CASES}


def walk(warmup, clipping, norms, gelu, seeds=(0, 0, 0)):
    """Robustness after each step from .3 on; seeds: what each has more from the norms on."""
    levels = np.cumsum([0.3, warmup, clipping, norms, gelu])
    return {VALIDATION: lambda a, d, r, s: levels[claims.WALK.index(a)] + (seeds[s] if claims.WALK.index(a) > 2 else 0)}


def lost(measure, published, more=0.0, seeds=(0, 0, 0)):
    """What each architecture loses at another length: as published and more; seeds: what each has more of that."""
    theirs = {metric: agreement.published(*published[:1], metric)["best_mean"] for metric in (TRAINING, published[1])}
    difference = (theirs[TRAINING] - theirs[published[1]]).dropna()
    return {TRAINING: lambda a, d, r, s: 0.9,
            measure: lambda a, d, r, s: 0.9 - difference[a, d, RATES.index(r) + 1] - more - seeds[s]}


HALF, TWICE = ("argmin_first_argmax", "accuracy_half_n"), ("mode", "accuracy_2n")


def sizes(exponent, error=1e-4):
    return pd.DataFrame([{"aggregation": a, "length": n, "std": 2 * n**exponent, "std_error": error * n**exponent}
                         for a in ("softmax", "mean") for n in (1, 128, 512, 2048)])


def fits(error, exact):
    return pd.DataFrame({"aggregation": ["softmax", "nap"], "mean_squared_error": [error, 0], "exact": [exact, 4]})


ROBUST = (SIX, {VALIDATION: by_name(nap=0.8, bert=0.2)}, {VALIDATION: by_name(nap=0.4, bert=0.7)},
          {VALIDATION: by_name(WIDE | {"bert": (-0.6, 0, 0.4)}, nap=0.6, bert=0.4)})
# By claim: architectures, and measures that make it true, false and undecided.
EVIDENCE = {
    "nap-robust-mode": ROBUST, "nap-robust-cases": ROBUST, "nap-robust-first-token": ROBUST,
    "bert-least-mode": ROBUST, "bert-least-cases": ROBUST, "bert-least-first-token": ROBUST,
    "sum-best-mode": (SIX, {VALIDATION: by_name(sum=0.9)}, {VALIDATION: by_name(max=0.9)},
                      {VALIDATION: by_name({"sum": (-0.3, 0, 0.3)}, sum=0.55)}),
    "max-chance-mode": (SIX, {TRAINING: by_name(max=0.13)}, {TRAINING: by_name(max=0.3)},
                        {TRAINING: by_name({"max": (0, 0.1, 0)}, max=0.15)}),
    "max-nap-first-token": (SIX, {VALIDATION: by_name(max=0.8, nap=0.7)}, {VALIDATION: by_name(max=0.8, sum=0.9, nap=0.7)},
                            {VALIDATION: by_name(WIDE, max=0.8, nap=0.55)}),
    "cases-by-frequency": (SIX, cases(0.9, 0.6, 0.3), cases(0.9, 0.3, 0.6), cases(0.9, 0.5, 0.45, seeds=(-0.2, 0, 0.2))),
    "bert-band-mode": (SIX, bands(), bands((3, 3, 3)), bands((0, 3, 0))),
    "bert-band-cases": (SIX, bands(), bands((3, 3, 3)), bands((0, 3, 0))),
    "mte-loses-argmax": (SIX, argmax_at(0.1), argmax_at(0.8), argmax_at(0.7, (-0.3, 0, 0.1))),
    "ablation": (claims.WALK, walk(0.05, 0.02, 0.4, -0.03), walk(0.05, 0.02, 0.2, -0.4),
                 walk(0.05, 0.02, 0.07, 0.0, (-0.2, 0, 0.2))),
    "mode-2n": (SIX, lost("validation_accuracy_at_2", TWICE), lost("validation_accuracy_at_2", TWICE, 0.2),
                lost("validation_accuracy_at_2", TWICE, 0.0, (0, 0.2, 0))),
    "cases-half-n": (["bert"], lost("validation_accuracy_half", HALF), lost("validation_accuracy_half", HALF, 0.2),
                     lost("validation_accuracy_half", HALF, 0.0, (0, 0.2, 0))),
}
TABLES = {
    "size-softmax": (sizes(-0.5), sizes(-0.2), sizes(-0.46, 0.3)), "size-mean": (sizes(-0.5), sizes(-0.2), sizes(-0.46, 0.3)),
    "xor": (fits(1 / 6, 3), fits(0.0, 4), None),  # which is exact, so never undecided
}


class Claims(unittest.TestCase):
    def verdict(self, claim, content):
        text, margins, *error = claim.judge(content)
        self.assertTrue(text)
        return findings.verdict(*findings.interval(margins, *error)[:2])

    def test_each_is_once_true_once_false_once_undecided(self):
        self.assertEqual([c.name for c in claims.CLAIMS if c.name not in EVIDENCE and c.name not in TABLES], [])
        for claim in claims.CLAIMS:
            if claim.name in EVIDENCE:
                names, *kinds = EVIDENCE[claim.name]
                contents = [made_up(names, **measures) for measures in kinds]
            else:
                contents = TABLES[claim.name]
            for wanted, content in zip(("agrees", "disagrees", "undecided"), contents):
                if content is not None:
                    with self.subTest(claim.name, wanted=wanted):
                        self.assertEqual(self.verdict(claim, content), wanted)

    def test_an_architecture_that_is_missing_is_told(self):
        claim = next(c for c in claims.CLAIMS if c.name == "nap-robust-mode")
        with self.assertRaisesRegex(claims.FigureError, "^the sweep has no nap, non$"):
            claim.judge(made_up(("bert", "mte"), **{VALIDATION: by_name()}))

    def test_margins_are_worked_out_by_hand(self):
        # nap .8, mte and non .5 in each seed, bert's seeds .1, .2, .3: nap leads by .3, bert is behind by .4, .3, .2.
        content = made_up(ATTENTIONS, DIMS, **{VALIDATION: by_name({"bert": (-0.1, 0, 0.1)}, nap=0.8, bert=0.2)})
        text, margins = claims.most_robust(content)
        np.testing.assert_allclose(margins, [0.3] * 3)
        self.assertEqual(text.split(";")[0], "nap 0.800, mte 0.500, non 0.500, bert 0.200")
        np.testing.assert_allclose(claims.least_robust(content)[1], [0.4, 0.3, 0.2])
        margin, half, seeds = findings.interval(claims.least_robust(content)[1])
        self.assertAlmostEqual(margin, 0.3)
        self.assertAlmostEqual(half, 4.302653 * 0.1 / 3**0.5, places=5)  # Student's t of two degrees of freedom
        self.assertEqual(seeds, 3)

    def test_one_seed_decides_nothing(self):
        self.assertEqual(findings.verdict(*findings.interval([0.3])[:2]), "undecided")

    def test_a_band_is_where_half_of_the_best_above_chance_is_reached(self):
        rates = (0.125, 0.3, 0.5, 0.9)  # half of the way from .125 to .9 is .5125
        content = made_up(ATTENTIONS, **{VALIDATION: at_rates(bert=rates, nap=(0.6, 0.6, 0.5, 0.9), mte=(0.15,) * 4)})
        table = evidence.bands(content, ATTENTIONS).mean()
        self.assertEqual(table[["bert", "nap", "mte", "non"]].tolist(), [0.25, 0.75, 0, 1])

    def test_a_trial_that_finished_no_epoch_is_at_chance(self):
        content = made_up(["nap"], **{VALIDATION: lambda a, d, r, s: NAN if r == 0.3 else 0.525})
        self.assertAlmostEqual(evidence.robustness(content, ["nap"]).loc[0, "nap"], (0.125 + 3 * 0.525) / 4)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, budget="small", unfinished=()):
        """A sweep mode-model-dim of four attentions, of which nap is .8 and the others .5, with its plan."""
        trials = [trial(a, d, r, s) for s in (0, 1) for a in ATTENTIONS for d in DIMS for r in RATES]
        there = [t for t in trials if t["seed"] not in unfinished] + [t for t in trials if t["seed"] in unfinished][:5]
        level = np.array([0.8 if t["model.architecture"] == "nap" else 0.5 for t in there])
        curve = level[:, None] * np.ones(2) + np.array([t["seed"] for t in there])[:, None] * 0.001
        path = self.folder / "mode-model-dim"
        path.mkdir(exist_ok=True)
        write_results(path / "results.h5", there, {TRAINING: curve, VALIDATION: np.stack([curve, curve], axis=-1)})
        axes = ("model.architecture", DIM, RATE, "seed")
        plan = {"budget": budget, "trials": [{"id": t["id"], "axes": {k: t[k] for k in axes}} for t in trials]}
        (path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    def run_findings(self, *more):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            findings.main(["--results", str(self.folder), "--out", str(self.folder / "out"),
                           "--specs", str(ROOT / "sweeps/specs"), *more])
        content = json.loads((self.folder / "out/findings.json").read_text(encoding="utf-8"))
        return printed.getvalue().splitlines(), {row["name"]: row for row in content["findings"]}

    def test_what_is_not_run_names_its_sweep(self):
        lines, rows = self.run_findings("--budget", "paper")
        self.assertEqual({row["verdict"] for row in rows.values()}, {"not run"})
        self.assertEqual(rows["ablation"]["measured"], "no sweep ablation: make sweep-ablation BUDGET=paper")
        self.assertEqual(len([line for line in lines if line.startswith("not run ")]), len(claims.CLAIMS))
        self.assertEqual(lines[-2], f"{len(claims.CLAIMS)} findings: {len(claims.CLAIMS)} not run")

    def test_a_whole_sweep_is_judged(self):
        self.write()
        lines, rows = self.run_findings("--budget", "small")
        row = rows["nap-robust-mode"]
        self.assertEqual((row["verdict"], row["seeds"], row["finished"], row["planned"]), ("agrees", 2, 64, 64))
        self.assertAlmostEqual(row["margin"], 0.3)
        self.assertEqual(len(row["results"]["sha256"]), 64)
        self.assertTrue(lines[0].startswith("agrees     nap is the most robust attention over rate x d, mode ["), lines[0])
        self.assertTrue(lines[0].endswith("lead over bert 0.3 ± 0 (2 seeds, 64 of 64 trials, budget small)"), lines[0])
        self.assertEqual(rows["sum-best-mode"]["measured"], "the sweep has no sum, max")
        table = pd.read_csv(self.folder / "out/findings.csv", index_col="name")
        self.assertEqual(table.loc["nap-robust-mode", "verdict"], "agrees")

    def test_smoke_is_never_called_agreement(self):
        self.write("smoke")
        _, rows = self.run_findings()
        self.assertEqual(rows["nap-robust-mode"]["verdict"], "smoke")
        self.assertAlmostEqual(rows["nap-robust-mode"]["margin"], 0.3)

    def test_another_budgets_results_are_refused(self):
        self.write("smoke")
        _, rows = self.run_findings("--budget", "small")
        self.assertEqual(rows["nap-robust-mode"]["verdict"], "not run")
        self.assertIn("must be of budget small, is of smoke", rows["nap-robust-mode"]["measured"])

    def test_only_whole_seeds_count(self):
        self.write(unfinished=(1,))
        lines, rows = self.run_findings()
        self.assertEqual((rows["nap-robust-mode"]["verdict"], rows["nap-robust-mode"]["seeds"]), ("undecided", 1))
        self.assertTrue(lines[0].endswith("0.3 ± ? (1 seed, 37 of 64 trials, budget small)"), lines[0])
        self.write(unfinished=(0, 1))
        _, rows = self.run_findings()
        self.assertEqual(rows["nap-robust-mode"]["measured"],
                         "sweep mode-model-dim: no seed has all its trials, 5 of 64 are there")


if __name__ == "__main__":
    unittest.main()
