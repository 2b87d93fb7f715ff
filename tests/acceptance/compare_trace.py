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

LOGITS, LOSS, GRADIENT, CHANGE, RATE = 2e-5, 1e-5, 2e-4, 2e-3, 1e-12
ZERO = 1e-6  # of the largest tensor's rms, for gradients that are exactly zero


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


class Checks:
    """Collects errors as multiples of their bounds and prints the largest of each kind."""

    def __init__(self):
        self.worst = {}

    def add(self, kind, name, error, bound):
        share = error / bound if bound > 0 else (0.0 if error == 0 else math.inf)
        if not share <= self.worst.get(kind, (-1.0, ""))[0]:
            self.worst[kind] = (share if share == share else math.inf, name)

    def report(self, path):
        print(path)
        for kind, (share, name) in self.worst.items():
            print(f"  {kind:14} {share:8.3f} of its bound {'' if share <= 1 else 'EXCEEDED '}{name}")
        return all(share <= 1 for share, _ in self.worst.values())


def largest(x):
    return float(x.abs().max())


def compare(path):
    checks = Checks()
    with h5py.File(path) as file:
        config = {key: plain(value) for key, value in file["config"].attrs.items()}
        initial, final = tensors(file["initial"]), tensors(file["final"])
        first = tensors(file["first/gradients"])
        steps = {name: data[()] for name, data in file["steps"].items()}
        first_logits = torch.tensor(file["first/logits"][()], dtype=torch.float64)
        evaluations = {name: {k: d[()] for k, d in group.items()} for name, group in file["evaluation"].items()}
    config.setdefault("train.clip_mode", "per_variable")
    zero = zero_gradients(config)

    training = reference.Training(config, initial)
    for k, (tokens, labels) in enumerate(zip(steps["tokens"], steps["labels"])):
        tokens, labels = torch.tensor(tokens, dtype=torch.int64), torch.tensor(labels, dtype=torch.int64)
        checks.add("labels", f"step {k}", float((reference.labels(config, tokens) != labels).sum()), 0)
        if k == 0:
            want = reference.logits(config, training.p, tokens).detach()
            checks.add("first logits", "", largest(first_logits - want), LOGITS * max(rms(want), 1e-3))
        loss, gradients, norm, rate = training.step(tokens, labels)
        checks.add("loss", f"step {k}", abs(steps["loss"][k] - loss), LOSS)
        checks.add("learning rate", f"step {k}", abs(steps["learning_rate"][k] - rate), RATE * max(rate, 1e-12))
        if k == 0:
            checks.add("gradient norm", "", abs(steps["gradient_norm"][k] - norm), GRADIENT * norm)
            scale = max(rms(g) for g in gradients.values())
            for name, g in gradients.items():
                if name.endswith(zero):
                    checks.add("zero gradient", name, largest(first[name]), ZERO * scale)
                else:
                    checks.add("gradient", name, largest(first[name] - g), GRADIENT * rms(g))
    for name, end in training.p.items():
        if not name.endswith(zero):
            change = end.detach() - initial[name]
            checks.add("change", name, largest(final[name] - initial[name] - change), CHANGE * rms(change))
    for relative, evaluation in evaluations.items():
        tokens = torch.tensor(evaluation["tokens"], dtype=torch.int64)
        want = reference.logits(config, final, tokens)
        checks.add("final logits", relative, largest(torch.tensor(evaluation["logits"]) - want), LOGITS * rms(want))
        wrong = reference.labels(config, tokens) != torch.tensor(evaluation["labels"])
        checks.add("labels", relative, float(wrong.sum()), 0)
    if set(initial) != set(first) or set(initial) != set(final):
        checks.add("names", "initial, final and gradients differ", 1, 0)
    return checks.report(path)


if __name__ == "__main__":
    torch.set_num_threads(1)
    agree = [compare(path) for path in sys.argv[1:]]
    print(f"{sum(agree)} of {len(agree)} traces agree")
    sys.exit(0 if agree and all(agree) else 1)
