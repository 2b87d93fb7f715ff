"""What all peers share: a cell's settings, one start for all of them, and how they are asked for steps and times.

A cell is an architecture, a width d and a length N; all else is headlab's default of argmin_first_argmax. Parameters
are named as headlab names them (weights (in, out), biases and gains (1, out)), so that tests/acceptance/reference.py
can train them, too. They start with standard deviation 0.2, where float32 and float64 runs stay together; time does
not depend on it.
"""

import contextlib
import json
import os
import sys
import time

import numpy

BATCH, LAYERS, HEADS, VOCABULARY, NORM_EPSILON, ATTENTION_EPSILON = 32, 2, 4, 100, 1e-3, 1e-3
RATE, BETAS, ADAM_EPSILON, CLIP = 2.187e-4, (0.9, 0.999), 1e-7, 1.0
POOLING = ("sum", "max")
CHECKED_STEPS = 4  # losses before the first update and after each of three
ROUND_SECONDS = 0.2


def hidden_units(architecture, d):
    return 6 * d + 1 if architecture in POOLING else 4 * d


def shapes(cell):
    """Of all parameters, by name."""
    architecture, d, n = cell["architecture"], cell["dim"], cell["length"]
    found = {"embedding.token": (VOCABULARY, d), "embedding.position": (n, d)}

    def dense(name, rows, columns):
        found[f"{name}.weight"], found[f"{name}.bias"] = (rows, columns), (1, columns)

    def norm(name, features):
        found[f"{name}.gain"], found[f"{name}.bias"] = (1, features), (1, features)

    for layer in (f"layer.{k}" for k in range(LAYERS)):
        if architecture not in POOLING:
            for part in ("query", "key", "value", "mix"):
                dense(f"{layer}.{part}", d, d)
        if architecture == "nap":
            found[f"{layer}.nap.gain"] = found[f"{layer}.nap.bias"] = (HEADS,)
        if architecture in ("mte", "nap"):
            norm(f"{layer}.attention_norm", d)
        norm(f"{layer}.mix_norm", d)
        dense(f"{layer}.hidden", d, hidden_units(architecture, d))
        if architecture != "bert":
            norm(f"{layer}.hidden_norm", hidden_units(architecture, d))
        dense(f"{layer}.output", hidden_units(architecture, d), d)
        norm(f"{layer}.output_norm", d)
    dense("readout", d, 1)
    return found


def start(cell):
    """Parameters by name, tokens (B, N), labels (B): the same in every process."""
    random = numpy.random.default_rng(1)
    parameters = {
        name: (0.2 * random.standard_normal(shape) + name.endswith(".gain")).astype(numpy.float32)
        for name, shape in shapes(cell).items()
    }
    tokens = random.integers(VOCABULARY, size=(BATCH, cell["length"]))
    return parameters, tokens, random.integers(cell["length"], size=BATCH)


def serve(make, making=contextlib.nullcontext):
    """Answers lines by lines of JSON: a cell makes a training of it, an empty line gives a step's milliseconds.

    These are of the wall clock and of the processor. make(cell) gives an object with `models`, the number it trains at
    once, and `run(steps)`, which returns losses when all is computed. Making it and its first step go on within
    making().
    """
    training, steps = None, 1
    for line in sys.stdin:
        if line.strip():
            training = None
            begin = time.perf_counter()
            with making():
                training = make(json.loads(line))
                losses = training.run(1)
            seconds = time.perf_counter() - begin
            losses += training.run(CHECKED_STEPS - 1)
            steps = max(1, int(ROUND_SECONDS / _measured(training, 2)[1]))
            answer = {"losses": [float(loss) for loss in losses], "seconds": seconds, "steps": steps}
        else:
            wall, processor = _measured(training, steps)
            answer = [1e3 * seconds / training.models for seconds in (wall, processor)]
        print(json.dumps(answer), flush=True)


def _measured(training, steps):
    """Wall and processor seconds a step, the latter of all threads."""
    wall, processor = time.perf_counter(), time.process_time()
    training.run(steps)
    return (time.perf_counter() - wall) / steps, (time.process_time() - processor) / steps


@contextlib.contextmanager
def on_every_core():
    """All threads of this process within, and processes that it starts; then back to where they were."""
    before = os.sched_getaffinity(0)
    _pin(range(os.cpu_count()))
    yield
    _pin(before)


def _pin(cores):
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)
