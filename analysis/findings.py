"""Each finding of the paper beside what was measured: one line each, with its uncertainty over seeds.

agrees      the margin by which it holds is positive, its 95 % confidence interval over seeds too
disagrees   it is negative with all its interval
undecided   the interval holds zero, or there is one seed
smoke       whatever was measured: that budget proves the path only
not run     why
Writes OUT/findings.csv and .json.
"""

import argparse
import pathlib
import sys

import pandas as pd

from analysis import analytic, claims, sidecars
from analysis.evidence import Evidence
from analysis.figures import ablation
from analysis.reductions import SEED, FigureError, over_seeds
from analysis.results import DamagedError
from analysis.selection import Sweep

ANALYTIC = {"at-start": ("aggregation", "length", "std", "std_error"),
            "xor": ("aggregation", "mean_squared_error", "exact")}
SETTINGS = {"ablation": ablation.SETTINGS}
COLUMNS = ("name", "verdict", "expected", "place", "source", "measured", "margin", "uncertainty", "seeds", "finished", "planned",
           "budget")


def main(words=None):
    options = arguments(words)
    try:
        rows = all_findings(options)
    except (FigureError, DamagedError, OSError) as error:
        sys.exit(f"error: {error}")
    for row in rows:
        print(line(row))
    print(summary(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(rows, columns=COLUMNS)
    sidecars.write_table(options.out / "findings.csv", table.set_index("name"))
    sidecars.write_json(options.out / "findings.json", {"findings": rows, "budget": options.budget, **sidecars.drawing()})
    print(f"{options.out / 'findings'}.{{csv,json}}")


def arguments(words):
    parser = argparse.ArgumentParser(prog="python3 -m analysis.findings", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"),
                        help="folder of the sweeps' folders and of analytic/; sweeps may be unfinished (results)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("figures/findings"), help="folder of what is written")
    parser.add_argument("--specs", type=pathlib.Path, default=pathlib.Path("sweeps/specs"), help=argparse.SUPPRESS)
    parser.add_argument("--budget", choices=("smoke", "small", "paper"), help="only results of this budget's plan")
    return parser.parse_args(words)


def all_findings(options):
    """A dictionary a claim, with the keys COLUMNS and the results' hash."""
    sources = {}
    rows = []
    for claim in claims.CLAIMS:
        if claim.source not in sources:
            sources[claim.source] = opened(claim.source, options)
        rows.append({"name": claim.name, "expected": claim.expected, "place": claim.place, "source": claim.source,
                     **judged(claim, sources[claim.source])})
    return rows


class Source:
    """What a claim is judged by; `missing` says why there is nothing."""

    def __init__(self, path, content=None, missing="", budget=None, there=(None, None)):
        self.path, self.content, self.missing, self.budget, self.there = path, content, missing, budget, there


def opened(name, options):
    if name in ANALYTIC:
        path = options.results / "analytic" / f"{name}.csv"
        if not path.is_file():
            return Source(path, missing=f"no {path}: headlab analytic {name} --out {path}")
        return Source(path, analytic.read(path, ANALYTIC[name]))
    path = options.results / name / "results.h5"
    try:
        sweep = Sweep(path.parent, (options.specs / f"{name}.toml").read_text(encoding="utf-8"), SETTINGS.get(name))
        sweep.require_budget(options.budget)
    except FigureError as error:
        run = f"make sweep-{name} BUDGET={options.budget or 'small'}"
        return Source(path, missing=f"no sweep {name}: {run}" if not path.is_file() else str(error))
    found = Evidence(sweep)
    missing = ""
    if not found.seeds:
        failed = int((sweep.trials["status"] == "failed").sum())
        missing = f"sweep {name}: no seed has all its trials, {found.there[0]} of {found.there[1]} are there" + (
            f", {failed} failed" if failed else "")
    return Source(path, found, missing, sweep.budget, found.there)


def judged(claim, source):
    """What is told of a claim: verdict, measured, margin and so on."""
    told = {"measured": source.missing, "verdict": "not run", "margin": None, "uncertainty": None, "seeds": 0,
            "finished": source.there[0], "planned": source.there[1], "budget": source.budget,
            "results": sidecars.origin_of(source.path) if source.path.is_file() else None}
    if source.missing:
        return told
    try:
        text, margins, *error = claim.judge(source.content)
    except FigureError as fault:
        return told | {"measured": str(fault)}
    margin, half, seeds = interval(margins, *error)
    return told | {"measured": text, "margin": margin, "uncertainty": half, "seeds": seeds,
                   "verdict": "smoke" if source.budget == "smoke" else verdict(margin, half)}


def interval(margins, error=None):
    """The mean of margins, half its 95 % interval, and how many seeds: all over seeds, or by a standard error of one value.

    None for a half that one seed does not tell.
    """
    if error is not None:
        return float(margins[0]), 2 * float(error), None
    table = pd.DataFrame({"margin": list(margins), SEED: range(len(margins)), "status": "done", "all": 0})
    found = over_seeds(table, "margin", ["all"]).iloc[0]
    half = found["ci95"]
    return float(found["mean"]), None if pd.isna(half) else float(half), len(margins)


def verdict(margin, half):
    if half is None or abs(margin) <= half:
        return "undecided"
    return "agrees" if margin > 0 else "disagrees"


def line(row):
    """agrees     EXPECTED [PLACE]: MEASURED MARGIN ± HALF (2 seeds, 96 of 96 trials, small)"""
    measured = row["measured"]
    if row["margin"] is not None:
        half = "?" if row["uncertainty"] is None else f"{row['uncertainty']:.3g}"
        measured += f" {row['margin']:.3g} ± {half}"
    counted = [f"{row['seeds']} seed{'s' * (row['seeds'] != 1)}"] if row["seeds"] else []
    counted += [f"{row['finished']} of {row['planned']} trials"] if row["planned"] else []
    counted += [f"budget {row['budget']}"] if row["budget"] else []
    return f"{row['verdict']:10} {row['expected']} [{row['place']}]: {measured}" + (f" ({', '.join(counted)})" if counted else "")


def summary(rows):
    counts = pd.Series([row["verdict"] for row in rows]).value_counts()
    order = ("agrees", "disagrees", "undecided", "smoke", "not run")
    return f"{len(rows)} findings: " + ", ".join(f"{counts[name]} {name}" for name in order if name in counts)


if __name__ == "__main__":
    main()
