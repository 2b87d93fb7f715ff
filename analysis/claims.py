"""The findings of "Normalized Attention Without Probability Cage" (arXiv 2005.09561): one entry each, by what it is judged.

A claim's judge gives what was measured, in words, and margins, a value a seed, positive where the claim holds.
"""

import dataclasses
import typing

import numpy as np
import pandas as pd

from analysis import evidence as ev
from analysis.reductions import FigureError

ATTENTIONS = ("bert", "mte", "nap", "non")
POOLS = ("sum", "max")
WALK = ("bert", "+ no warm-up", "+ no clipping", "+ norms of mte", "mte")
EXPONENT_TOLERANCE = 0.01  # of a power of N, which is exact for long sequences alone
TOLERANCE = 0.05  # of what should be equal, as in the agreement with the published numbers
LONG = 128  # from this length on a size's limit for long sequences is looked at
MODE, CASES, FIRST_TOKEN = "mode-model-dim", "cases-model-dim", "cases-first-token-model-dim"


@dataclasses.dataclass(frozen=True)
class Claim:
    name: str
    expected: str
    place: str  # where the paper says so
    source: str  # a sweep, or a CSV of headlab analytic
    judge: typing.Callable  # of evidence.Evidence, or of the CSV's table: text, margins[, their standard error]


def leads(table, ours, others, sign=1):
    """By how much the least of ours is above the greatest of the others; with sign -1 the other way round."""
    table = table * sign
    next_one = table[list(others)].mean().idxmax()
    margins = table[list(ours)].min(axis=1) - table[list(others)].max(axis=1)
    return f"{shown(table.mean() * sign)}; {'lead over' if sign > 0 else 'behind'} {next_one}", margins


def shown(means):
    """nap .71, bert .32: from the greatest."""
    return ", ".join(f"{name} {value:.3f}" for name, value in means.sort_values(ascending=False).items())


def most_robust(evidence):
    table = ev.robustness(evidence, ATTENTIONS)
    return leads(table, ["nap"], [name for name in ATTENTIONS if name != "nap"])


def least_robust(evidence):
    table = ev.robustness(evidence, ATTENTIONS)
    return leads(table, ["bert"], [name for name in ATTENTIONS if name != "bert"], sign=-1)


def sum_is_best(evidence):
    table = ev.at_best_rates(evidence, (*ATTENTIONS, *POOLS))
    return leads(table, ["sum"], [name for name in table if name != "sum"])


def max_at_chance(evidence):
    excess = ev.above_chance(evidence, "max")
    return f"at most {excess.max():.3f} above chance in any cell and epoch; below {TOLERANCE} by", TOLERANCE - excess


def max_and_nap_lead(evidence):
    table = ev.robustness(evidence, (*ATTENTIONS, *POOLS))
    return leads(table, ["max", "nap"], [name for name in table if name not in ("max", "nap")])


def order_of_frequency(evidence):
    """Cases are most frequent in the order of evidence.CASES while case_bias is 0."""
    pace = ev.pace_of_cases(evidence)
    steps = pd.concat([pace[a] - pace[b] for a, b in zip(ev.CASES, ev.CASES[1:])], axis=1)
    return f"mean over epochs of the accuracy: {shown(pace.mean())}; smallest step", steps.min(axis=1)


def narrow_band(evidence):
    table = ev.bands(evidence, ATTENTIONS)
    text, margins = leads(table, ["bert"], [name for name in ATTENTIONS if name != "bert"], sign=-1)
    return f"share of rates with half of the best: {text}", margins


def loses_argmax(evidence):
    lost = {case: ev.case_at_greatest_rate(evidence, "mte", case) for case in ev.CASES}
    means = pd.Series({case: values.mean() for case, values in lost.items()})
    return f"lost at the greatest rate: {shown(means)}; argmax above {TOLERANCE} by", lost["argmax"] - TOLERANCE


def norms_matter_most(evidence):
    """The change of robustness by each step of the walk."""
    table = ev.robustness(evidence, WALK)
    steps = table.diff(axis=1).iloc[:, 1:]
    norms = steps["+ norms of mte"]
    rest = steps.drop(columns="+ norms of mte").abs().max(axis=1)
    named = ", ".join(f"{name.removeprefix('+ ') if name != 'mte' else 'GELU'} {value:+.3f}"
                      for name, value in steps.mean().items())
    return f"change of the mean accuracy by {named}; norms beyond the others by", norms - rest


def falls_as_root(aggregation):
    """The exponent between the first length of at least LONG and the last, of the standard deviation."""

    def judge(table):
        own = table[(table["aggregation"] == aggregation) & (table["length"] >= LONG)].sort_values("length")
        if len(own) < 2:
            raise FigureError(f"no two lengths of {LONG} and more for {aggregation}")
        first, last = own.iloc[0], own.iloc[-1]
        over = np.log(last["length"] / first["length"])
        exponent = np.log(last["std"] / first["std"]) / over
        error = np.hypot(last["std_error"] / last["std"], first["std_error"] / first["std"]) / over
        text = (f"exponent {exponent:.4f} ± {2 * error:.4f} from N = {first['length']} to {last['length']}; "
                f"within {EXPONENT_TOLERANCE} of -1/2 by")
        return text, [EXPONENT_TOLERANCE - abs(exponent + 0.5)], error

    return judge


def no_convex_combination(table):
    """By algebra the least mean squared error of weights that sum to one is 1/6."""
    own = table[table["aggregation"] == "softmax"]
    if own.empty:
        raise FigureError("the table has no softmax")
    error, exact = own["mean_squared_error"].min(), own["exact"].max()
    others = table[table["exact"] == 4]["aggregation"].unique()
    text = f"softmax {exact} of 4 right; exact are {', '.join(others) or 'none'}; softmax's least mean squared error"
    return text, [error if exact < 4 else -1.0], 0


def as_published_at(measure, task, metric):
    """The greatest difference of an architecture's loss from the published one."""

    def judge(evidence):
        theirs = ev.published_loss(evidence, task, metric)
        if theirs.empty:
            raise FigureError("no cell of it is among the published ones")
        ours = ev.lost_at(evidence, measure, theirs.index)
        named = ", ".join(f"{name} {ours[name].mean():.3f} ({theirs[name]:.3f})" for name in theirs.index)
        return (f"training accuracy less that: {named}, in brackets as published; all within {TOLERANCE} by",
                TOLERANCE - (ours - theirs).abs().max(axis=1))

    return judge


ROBUST = "abstract: a hyperparameter robust architecture; heat maps over learning rate and d"
CLAIMS = (
    Claim("nap-robust-mode", "nap is the most robust attention over rate x d, mode", ROBUST, MODE, most_robust),
    Claim("nap-robust-cases", "nap is the most robust attention over rate x d, cases", ROBUST, CASES, most_robust),
    Claim("nap-robust-first-token", "nap is the most robust attention over rate x d, cases from the first token", ROBUST,
          FIRST_TOKEN, most_robust),
    Claim("bert-least-mode", "bert is the least robust attention over rate x d, mode", ROBUST, MODE, least_robust),
    Claim("bert-least-cases", "bert is the least robust attention over rate x d, cases", ROBUST, CASES, least_robust),
    Claim("bert-least-first-token", "bert is the least robust attention over rate x d, cases from the first token", ROBUST,
          FIRST_TOKEN, least_robust),
    Claim("sum-best-mode", "sum is best on mode finding, each at its best rate",
          "abstract: pooling, a strong baseline; heat map of mode finding", MODE, sum_is_best),
    Claim("max-chance-mode", "max never leaves chance on mode finding", "heat map of mode finding", MODE, max_at_chance),
    Claim("max-nap-first-token", "max and nap lead where the first token is read out", "heat maps of the first-token readout",
          FIRST_TOKEN, max_and_nap_lead),
    Claim("cases-by-frequency", "cases are learnt in the order of their frequency: argmin, first, argmax",
          "heat maps of the cases", CASES, order_of_frequency),
    Claim("bert-band-mode", "bert needs a narrower band of rates than the other attentions, mode",
          "heat map of mode finding", MODE, narrow_band),
    Claim("bert-band-cases", "bert needs a narrower band of rates than the other attentions, cases",
          "heat maps of the cases", CASES, narrow_band),
    Claim("mte-loses-argmax", "mte loses the argmax case at high rates", "heat maps of the cases", CASES, loses_argmax),
    Claim("ablation", "from bert to mte, the placement of norms makes most of the difference", "ablation from BERT to MTE",
          "ablation", norms_matter_most),
    Claim("size-softmax", "context at the start falls as 1/sqrt(N): softmax",
          "abstract: biased towards token isolation at initialization", "at-start", falls_as_root("softmax")),
    Claim("size-mean", "context at the start falls as 1/sqrt(N): mean",
          "abstract: biased towards token isolation at initialization", "at-start", falls_as_root("mean")),
    Claim("xor", "no convex combination computes XOR of two tokens", "abstract: limits of the probability simplex", "xor",
          no_convex_combination),
    Claim("mode-2n", "accuracy lost at twice the length is as published, mode", "published results, accuracy at 2N", MODE,
          as_published_at("validation_accuracy@2", "mode", "accuracy_2n")),
    Claim("cases-half-n", "accuracy lost at half the length is as published, cases, bert",
          "published results, accuracy at N/2", CASES,
          as_published_at("validation_accuracy@0.5", "argmin_first_argmax", "accuracy_half_n")),
)
