"""Made-up sweeps: trials as results.h5 has them, and their curves."""

import hashlib

import numpy as np
import pandas as pd

DIM, RATE, NAN = "model.dim", "train.learning_rate", float("nan")
SPECIFICATION = """name = "made-up"
title = "Made up"
[grid]
model.architecture = ["nap", "max"]
model.dim = [8, 16]
train.learning_rate = "powers(0.3, 1, 2)"
seed = [0, 1]
"""


def trial(architecture, dim, rate, seed, status="done", **more):
    name = f"{architecture} {dim} {rate} {seed} {more}"
    return {"id": hashlib.sha256(name.encode()).hexdigest()[:16], "status": status, "model.architecture": architecture,
            DIM: dim, RATE: rate, "seed": seed, "chance_accuracy": 0.125, "provenance.processor": "A chip", **more}


def whole_sweep(**statuses):
    """All 16 trials of SPECIFICATION; statuses by "architecture_dim_rate_seed", for example nap_8_0_1."""
    return [trial(a, d, r, s, statuses.get(f"{a}_{d}_{i}_{s}", "done"))
            for a in ("nap", "max") for d in (8, 16) for i, r in enumerate((0.3, 0.09)) for s in (0, 1)]


def made_up_curves(trials, epochs=3):
    """Of trial i in epoch e: (i + e) / 32 in training, .5 less a little in validation at the task's own length."""
    train = (np.arange(len(trials))[:, None] + np.arange(epochs)) / 32
    train[[t["status"] == "failed" for t in trials]] = NAN
    return {"train_accuracy": train, "validation_accuracy": np.stack([train / 2, train / 4], axis=-1)}


def long_of(trials, curves):
    """As headlab.epochs has them: a row a trial and epoch, from a table indexed by id and curves (trial, epoch)."""
    curves = np.asarray(curves, float)
    index = pd.MultiIndex.from_product([trials.index, range(1, curves.shape[1] + 1)], names=["id", "epoch"])
    return pd.DataFrame({"accuracy": curves.ravel()}, index=index).reset_index()
