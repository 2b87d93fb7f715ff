"""traces.py HEADLAB [FOLDER]: makes traces of every architecture and task and holds them against the PyTorch
implementation beside it. Exit status 0 if all agree, 1 if not, 77 (skipped) without torch.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import compare_trace

ARCHITECTURES = ("bert", "mte", "nap", "non", "sum", "max")
SHAPES = ({"model.dim": 16, "model.heads": 4, "task.length": 32}, {"model.dim": 24, "model.heads": 3, "task.length": 20})
STARTS = ({"init.std": 0.02, "steps": 8}, {"init.std": 0.2, "steps": 20})
# A short schedule, so that a warm-up ends within the steps.
SCHEDULE = {"train.batch": 32, "train.epochs": 1, "train.steps_per_epoch": 40}


def cases():
    """(name, options) of each trace."""
    for task, architecture in itertools.product(("argmin_first_argmax", "mode"), ARCHITECTURES):
        variants = {"": {}, "-clip.05": {"train.clip": 0.05}} if architecture == "bert" else {"": {}}
        for (variant, extra), shape, start in itertools.product(variants.items(), SHAPES, STARTS):
            name = f"{task}-{architecture}{variant}-d{shape['model.dim']}-std{start['init.std']}"
            yield name, {"task.name": task, "model.architecture": architecture, **shape, **SCHEDULE, **start, **extra}


def make(program, folder):
    paths = []
    for name, options in cases():
        paths.append(folder / f"{name}.h5")
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        subprocess.run([program, "trace", *words, "--out", paths[-1], "--force"], check=True, stdout=subprocess.DEVNULL)
    return paths


def main(program, folder):
    agree = [compare_trace.compare(path) for path in make(program, folder)]
    print(f"{sum(agree)} of {len(agree)} traces agree")
    return 0 if agree and all(agree) else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)))
