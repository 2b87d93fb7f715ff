"""compare_trace.py TRACE.h5...: holds headlab's trace files against the float64 PyTorch implementation beside it.

Exit status 0 if all agree, 1 if not, 77 (skipped) without torch.
"""

import math
import sys

import h5py
import numpy as np

try:
    import torch
except ImportError:
    print("skipped: torch is not there; `make acceptance` installs it into .venv-acceptance and compares")
    sys.exit(77)

import reference

LOGITS, LOSS, GRADIENT, CHANGE, RATE = 2e-5, 1e-5, 2e-4, 2e-3, 1e-12  # logits, gradient, change: of the rms
ZERO = 1e-6  # the rms of a gradient that is exactly zero or nearly so, over the largest tensor's
# A change may lie below the resolution of float32 weights. Where the implementation beside this file, run in
# float32, misses a bound, headlab may be this many times as far away.
ALLOWANCE = 1.5
# nap's first logits lie far below its epsilon at init.std .02: float32 trajectories leave float64's within a few
# steps (single steps do not). Bounds are this many times wider there: of losses after the first step, of changes, of
# changes of nap's biases, where PyTorch's own float32 is up to 42 times the usual bound away.
DRIFT = {"loss": 6, "change": 2, "nap.bias": 30}


def plain(value):
    """An attribute as Python has it."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode()
    return value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value


def tensors(group):
    return {name: torch.tensor(data[()], dtype=torch.float64) for name, data in group.items()}


def rms(x):
    return math.sqrt(float((x**2).mean()))


def zero_gradients(config):
    """Names' endings whose exact gradient is zero: no row of weights changes by a key's bias under softmax or
    nap; nap's rows sum to N b = 0 at the start; a softmax over positions ignores what all logits share."""
    endings, attends = [], config["model.architecture"] in ("bert", "mte", "nap")
    if attends:
        endings.append("key.bias")
    if config["model.architecture"] == "nap":
        endings.append("value.bias")
    if config["task.name"] == "argmin_first_argmax" and config["task.readout"] == "across_tokens":
        endings += ["readout.bias", f"layer.{config['model.layers'] - 1}.output_norm.bias"]
    return tuple(endings)


def nearly_zero(config, name):
    """LN_a takes back the gain of a single head, up to its epsilon: the gradient is a small rest of large sums."""
    return name.endswith("nap.gain") and config["model.heads"] == 1 and config["model.norm_placement"] == "mte"


class Checks:
    """Collects errors as multiples of their bounds and prints the largest of each kind."""

    def __init__(self):
        self.worst, self.allowed = {}, []

    def add(self, kind, name, error, bound, of_float32=0.0):
        """of_float32: the same error of the float32 reference."""
        if not error <= bound and of_float32 > bound:
            self.allowed.append(f"{kind} of {name}: {error / bound:.1f} of its bound, the reference {of_float32 / bound:.1f}")
            bound = ALLOWANCE * of_float32
        share = error / bound if bound > 0 else (0.0 if error == 0 else math.inf)
        if not share <= self.worst.get(kind, (-1.0, ""))[0]:
            self.worst[kind] = (share if share == share else math.inf, name)

    def report(self, title):
        print(title)
        for kind, (share, name) in self.worst.items():
            print(f"  {kind:14} {share:8.3f} of its bound {'' if share <= 1 else 'EXCEEDED '}{name}")
        for line in self.allowed:
            print(f"  beyond float32: {line}")

    def agree(self):
        return bool(self.worst) and all(share <= 1 for share, _ in self.worst.values())


def drift(config, what):
    return DRIFT[what] if config["model.architecture"] == "nap" and config["init.std"] < 0.1 else 1


def largest(x):
    return float(x.detach().abs().max())


def read(path):
    """Configuration, parameters and tables of a trace file."""
    with h5py.File(path) as file:
        config = {key: plain(value) for key, value in file["config"].attrs.items()}
        config.setdefault("train.clip_mode", "per_variable")
        return {
            "config": config,
            "initial": tensors(file["initial"]),
            "final": tensors(file["final"]),
            "gradients": tensors(file["first/gradients"]),
            "logits": torch.tensor(file["first/logits"][()], dtype=torch.float64),
            "steps": {name: torch.tensor(data[()]) for name, data in file["steps"].items()},
            "evaluation": {
                name: {k: torch.tensor(d[()]) for k, d in group.items()} for name, group in file["evaluation"].items()
            },
        }


class Run:
    """The reference's own first steps in one precision; everything is given back in float64."""

    def __init__(self, trace, dtype):
        config, steps = trace["config"], trace["steps"]
        training = reference.Training(config, {name: t.to(dtype) for name, t in trace["initial"].items()})
        self.logits = reference.logits(config, training.p, steps["tokens"][0].long()).detach().double()
        made = [training.step(t.long(), l.long()) for t, l in zip(steps["tokens"], steps["labels"])]
        self.loss, _, self.norm, self.rate = zip(*made)
        self.gradients = {name: g.double() for name, g in made[0][1].items()}
        self.final = {name: t.detach().double() for name, t in training.p.items()}
        # With the trace's final parameters, so that this does not depend on the way there.
        theirs = {name: t.to(dtype) for name, t in trace["final"].items()}
        self.evaluation = {
            relative: reference.logits(config, theirs, e["tokens"].long()).double()
            for relative, e in trace["evaluation"].items()
        }


def compare_labels(checks, trace):
    for k, (tokens, labels) in enumerate(zip(trace["steps"]["tokens"], trace["steps"]["labels"])):
        wrong = reference.labels(trace["config"], tokens) != labels
        checks.add("labels", f"step {k}", float(wrong.sum()), 0)
    for relative, e in trace["evaluation"].items():
        checks.add("labels", relative, float((reference.labels(trace["config"], e["tokens"]) != e["labels"]).sum()), 0)


def compare_steps(checks, trace, exact, single):
    steps = trace["steps"]
    checks.add("first logits", "", largest(trace["logits"] - exact.logits), LOGITS * rms(exact.logits))
    checks.add("gradient norm", "", abs(float(steps["gradient_norm"][0]) - exact.norm[0]), GRADIENT * exact.norm[0])
    for k, (loss, rate) in enumerate(zip(exact.loss, exact.rate)):
        of_float32 = abs(single.loss[k] - loss)
        bound = LOSS * (drift(trace["config"], "loss") if k > 0 else 1)
        checks.add("loss", f"step {k}", abs(float(steps["loss"][k]) - loss), bound, of_float32)
        checks.add("learning rate", f"step {k}", abs(float(steps["learning_rate"][k]) - rate), RATE * rate)


def compare_parameters(checks, trace, exact, single):
    zero = zero_gradients(trace["config"])
    scale = max(rms(g) for g in exact.gradients.values())
    names = set(trace["initial"])
    checks.add("names", "", float(names != set(trace["gradients"]) or names != set(trace["final"])), 0)
    for name, gradient in exact.gradients.items():
        if name.endswith(zero):
            of_float32 = rms(single.gradients[name])
            checks.add("zero gradient", name, rms(trace["gradients"][name]), ZERO * scale, of_float32)
            continue
        bound = GRADIENT * rms(gradient) + (ZERO * scale if nearly_zero(trace["config"], name) else 0)
        checks.add("gradient", name, largest(trace["gradients"][name] - gradient), bound)
        wider = drift(trace["config"], "nap.bias" if name.endswith("nap.bias") else "change")
        bound = CHANGE * wider * rms(exact.final[name] - trace["initial"][name])
        error, of_float32 = (rms(final[name] - exact.final[name]) for final in (trace["final"], single.final))
        checks.add("change", name, error, bound, of_float32)


def compare_evaluation(checks, trace, exact, single):
    for relative, e in trace["evaluation"].items():
        want = exact.evaluation[relative]
        error, of_float32 = (rms(z - want) for z in (e["logits"].double(), single.evaluation[relative]))
        checks.add("final logits", relative, error, LOGITS * rms(want), of_float32)


def compare(path):
    checks, trace = Checks(), read(path)
    exact, single = Run(trace, torch.float64), Run(trace, torch.float32)
    compare_labels(checks, trace)
    compare_steps(checks, trace, exact, single)
    compare_parameters(checks, trace, exact, single)
    compare_evaluation(checks, trace, exact, single)
    return checks


def summary(compared):
    """Prints the checks of (name, checks) and the largest of each kind; the exit status."""
    largest_of_all, agree = Checks(), []
    for path, checks in compared:
        checks.report(path)
        agree.append(checks.agree())
        for kind, (share, name) in checks.worst.items():
            largest_of_all.add(kind, f"{name} of {path}", share, 1)
    largest_of_all.report("largest of all")
    print(f"{sum(agree)} of {len(agree)} traces agree")
    return 0 if agree and all(agree) else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(summary((path, compare(path)) for path in sys.argv[1:]))
