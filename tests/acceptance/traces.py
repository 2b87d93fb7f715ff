"""traces.py HEADLAB [FOLDER]: makes traces of every architecture, task and switch and holds them against the
PyTorch implementation beside it. Exit status 0 if all agree, 1 if not, 77 (skipped) without torch.
"""

import functools
import itertools
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile

import compare_trace
from compare_trace import torch

ATTENTION, POOLING = ("bert", "mte", "nap", "non"), ("sum", "max")
ARCHITECTURES = ATTENTION + POOLING
SHAPES = (
    {"model.dim": 16, "model.heads": 4, "task.length": 32},
    {"model.dim": 24, "model.heads": 3, "task.length": 20},
)
SMALL, LARGE = {"init.std": 0.02, "steps": 8}, {"init.std": 0.2, "steps": 20}
# A short schedule, so that a warm-up ends within the steps.
SCHEDULE = {"train.batch": 32, "train.epochs": 1, "train.steps_per_epoch": 40}
# What differs from the grid in one switch: few steps, but more than a warm-up has.
VARIED = {"model.dim": 16, "model.heads": 4, "task.length": 20, "steps": 8}

# Where float32 ends, in one step already: nap's heads of width 2, or six layers of width 4, some of whose logits deviate
# by less than its epsilon, and mte's six layers from init.std .2, where gradients of keys are 1e-3 of others. There,
# PyTorch's float32 is up to 5 and 2 times a gradient's bound away. So these traces have wider heads or begin at .3.
LARGER = {"init.std": 0.3, "steps": 8}

# name, architectures, starts, keys
VARIANTS = (
    ("local_global", ARCHITECTURES, (SMALL, LARGE), {"task.name": "local_global"}),
    ("first_token", ARCHITECTURES, (SMALL, LARGE), {"task.readout": "first_token"}),
    ("l2-.01", ARCHITECTURES, (SMALL, LARGE), {"train.l2": 0.01}),
    ("bias-2", ARCHITECTURES, (LARGE,), {"task.case_bias": -2}),
    ("bias2", ARCHITECTURES, (LARGE,), {"task.case_bias": 2}),
    ("local_global-bias-2", ("mte", "max"), (LARGE,), {"task.name": "local_global", "task.case_bias": -2}),
    ("layers1", ARCHITECTURES, (LARGE,), {"model.layers": 1}),
    ("layers6", ("bert", "mte", "non") + POOLING, (LARGER,), {"model.layers": 6, "model.heads": 2}),
    ("layers6", ("nap",), (LARGE,), {"model.layers": 6, "model.dim": 24, "model.heads": 3}),
    ("heads1", ATTENTION, (SMALL, LARGE), {"model.heads": 1}),
    ("heads8", ATTENTION, (SMALL, LARGER), {"model.heads": 8, "model.dim": 24}),
    ("batch5", ARCHITECTURES, (LARGE,), {"train.batch": 5}),
    ("clip-global", ARCHITECTURES, (LARGE,), {"train.clip": 0.05, "train.clip_mode": "global"}),
    ("warmup", ("mte", "nap", "non") + POOLING, (LARGE,), {"train.warmup": 0.1}),
    ("norms-bert", ("mte", "nap", "non") + POOLING, (LARGE,), {"model.norm_placement": "bert"}),
    ("gelu-false", ("mte", "nap", "non"), (LARGE,), {"model.attention_gelu": "false"}),
)
# From bert to mte, each step with those before it.
ABLATION = (
    ("no-warmup", {"train.warmup": 0}),
    ("no-clip", {"train.clip": 0}),
    ("norms", {"model.norm_placement": "mte"}),
    ("gelu", {"model.attention_gelu": "true"}),
)


def start_name(start):
    return f"std{start['init.std']}"


def grid():
    """(name, options): two tasks, two shapes, two starts."""
    for task, architecture in itertools.product(("argmin_first_argmax", "mode"), ARCHITECTURES):
        clips = {"": {}, "-clip.05": {"train.clip": 0.05}} if architecture == "bert" else {"": {}}
        for (clip, extra), shape, start in itertools.product(clips.items(), SHAPES, (SMALL, LARGE)):
            name = f"{task}-{architecture}{clip}-d{shape['model.dim']}-{start_name(start)}"
            yield name, {"task.name": task, "model.architecture": architecture, **shape, **start, **extra}


def variants():
    for variant, architectures, starts, keys in VARIANTS:
        for architecture, start in itertools.product(architectures, starts):
            options = {"model.architecture": architecture, **start, **VARIED, **keys}
            yield f"{variant}-{architecture}-{start_name(start)}", options


def ablation():
    keys = {"model.architecture": "bert"}
    for name, change in ABLATION:
        keys |= change
        for start in (SMALL, LARGE):
            yield f"bert-{name}-{start_name(start)}", {**start, **VARIED, **keys}


def cases():
    """(name, options) of each trace."""
    for name, options in itertools.chain(grid(), variants(), ablation()):
        yield name, {**SCHEDULE, **options}


def compare(case, program, folder):
    """Makes one trace and compares it."""
    name, options = case
    path = folder / f"{name}.h5"
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    made = subprocess.run([program, "trace", *words, "--out", path, "--force"], capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(f"{name}: {made.stderr}")
    return name, compare_trace.compare(path)


def main(program, folder):
    with multiprocessing.Pool(len(os.sched_getaffinity(0)), torch.set_num_threads, (1,)) as pool:
        return compare_trace.summary(pool.imap(functools.partial(compare, program=program, folder=folder), cases()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)))
