"""Times headlab's training step and its peers', PyTorch and JAX, taking turns on one core; writes peers.json, table.md.

Every peer is a process of its own that answers lines (peers_cell.serve) and makes the same model with the same start;
before it is timed its losses over four steps must be those of tests/acceptance/reference.py in float64, to which
headlab is compared by `make acceptance`. Making, compiling and the check are not timed. All processes stay on one
core, where no two run at once; the time is the processor's, of all of a process's threads, which on an idle machine is
the wall's (kept beside it) and counts no other program. A cell is written as soon as it is measured, and not measured
again at the same commit on the same processor, unless forced.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from analysis import peers_table  # noqa: E402

PEERS = {  # as in --peers: name, script, its argument
    "eager": ("PyTorch eager", "peers_torch.py", "eager"),
    "compiled": ("PyTorch compiled", "peers_torch.py", "compiled"),
    "jit": ("JAX jit", "peers_jax.py", "jit"),
    "vmap": ("JAX vmap, a model", "peers_jax.py", "vmap"),
}
# Freed memory is kept: else PyTorch and JAX map and clear pages anew every step and are up to 1.7 times as slow.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**33), "MALLOC_TRIM_THRESHOLD_": str(2**34)}
TOLERANCE = 1e-4  # of a loss, in units of it
LEAST_CHANGE = 10 * TOLERANCE  # that three updates must make to be seen at all


class Failed(Exception):
    pass


class Peer:
    """A process that answers a line by a line."""

    def __init__(self, name, command, log):
        self.name, self.log = name, log
        with open(log, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [str(word) for word in command], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, env=os.environ | KEEP_MEMORY,
            )

    def tell(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise Failed(f"[{self.name}] must answer, has ended with {self.process.wait()}; see {self.log}")
        return json.loads(answer) if answer[0] in "[{" else [float(word) for word in answer.split()]

    def ask(self):
        """Milliseconds of a step in this round, of the wall clock and of the processor."""
        self.tell()
        return self.answer()

    def close(self):
        self.process.communicate()


def start_headlab(options, cell):
    words = [f"model.{key}={cell[key]}" for key in ("architecture", "dim")] + [f"task.length={cell['length']}"]
    return Peer("headlab", [options.program, *words], options.results / "headlab.log")


def start_peers(options):
    scripts = {"reference": ("reference", "peers_reference.py", "")} | {key: PEERS[key] for key in options.peers}
    return {
        name: Peer(name, [options.python, HERE / script, word], options.results / f"{key}.log")
        for key, (name, script, word) in scripts.items()
    }


def require_equal(name, cell, losses, wanted):
    change = abs(wanted[-1] - wanted[0]) / abs(wanted[0])
    if not change >= LEAST_CHANGE:
        raise Failed(f"[{cell}] updates must change the loss to be compared, it changes by {change:g} of it")
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, wanted, strict=True))
    if not worst <= TOLERANCE:
        raise Failed(f"[{name}, {cell}] losses must be {wanted}, are {losses}")
    return worst


def measure(options, peers, cell):
    """The cell with its rounds, first those of headlab."""
    for peer in peers.values():
        peer.tell(json.dumps(cell))
    made = {name: peer.answer() for name, peer in peers.items()}
    wanted = made.pop("reference")["losses"]
    differences = {name: require_equal(name, cell, answer["losses"], wanted) for name, answer in made.items()}
    with contextlib.closing(start_headlab(options, cell)) as headlab:
        turns = {"headlab": headlab, **{name: peers[name] for name in made}}
        rounds = [{name: peer.ask() for name, peer in turns.items()} for _ in range(options.rounds)]
    wall, processor = ({name: [round(times[name][i], 4) for times in rounds] for name in turns} for i in (0, 1))
    return {
        **cell, "milliseconds": processor, "milliseconds on the wall": wall, "difference of losses": differences,
        "seconds to make, compile and step": {name: answer["seconds"] for name, answer in made.items()},
        "steps": {name: answer["steps"] for name, answer in made.items()},
        "date": datetime.datetime.now().isoformat(timespec="seconds"),
    }


def processor_name():
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {name.strip(): value.strip() for name, value in found.items()}
    return f"{found['model name']} (family {found['cpu family']}, model {found['model']})"


def git(*words):
    done = subprocess.run(["git", *words], cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def origin():
    """Cells of another one are not this run's. The commit is the last that touched what is timed."""
    timed = ("--", "CMakeLists.txt", "core", "tests/bench")
    commit = git("log", "-1", "--format=%h", "--abbrev=12", *timed) or "unknown"
    commit += "-dirty" if git("status", "--porcelain", *timed) else ""
    requirements = (HERE / "peers_requirements.txt").read_text(encoding="utf-8").split()
    return {"commit": commit, "processor": processor_name(), "requirements": requirements}


def load(path, wanted):
    """What is there of this origin; a file of another one is kept beside."""
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))
        if all(found.get(key) == value for key, value in wanted.items()):
            return found
        path.rename(path.with_name(f"peers-{found['commit']}-{int(path.stat().st_mtime)}.json"))
    return {**wanted, "cells": []}


def write(folder, found):
    texts = {"peers.json": json.dumps(found, indent=1) + "\n", "table.md": peers_table.table(found["cells"])}
    for name, text in texts.items():
        temporary = folder / f"{name}.tmp"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(folder / name)


def key_of(cell):
    return cell["architecture"], cell["dim"], cell["length"]


def run(options):
    found = load(options.results / "peers.json", origin())
    names = {PEERS[key][0] for key in options.peers}
    have = {key_of(c) for c in found["cells"] if names <= set(c["milliseconds"])} if not options.force else set()
    cells = [dict(zip(("architecture", "dim", "length"), (a, *shape)))
             for a in options.architectures for shape in options.shapes]
    cells = [cell for cell in cells if key_of(cell) not in have]
    with contextlib.ExitStack() as stack:
        peers = start_peers(options) if cells else {}
        for peer in peers.values():
            stack.callback(peer.close)
        for number, cell in enumerate(cells, 1):
            begin = time.monotonic()
            measured = measure(options, peers, cell)
            found["cells"] = [c for c in found["cells"] if key_of(c) != key_of(cell)] + [measured]
            write(options.results, found)
            name, ratio = peers_table.fastest(measured, "best")
            print(f"{number}/{len(cells)} {cell['architecture']:4} d {cell['dim']:3} N {cell['length']:3}:"
                  f" {ratio:.2f} times as fast as {name} ({time.monotonic() - begin:.0f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("program", type=pathlib.Path, help="headlab_step_bench")
    parser.add_argument("--results", type=pathlib.Path, required=True, help="folder of peers.json and table.md")
    parser.add_argument("--python", default=sys.executable, help="one that has torch and jax")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--architectures", nargs="+", choices=peers_table.ARCHITECTURES,
                        default=peers_table.ARCHITECTURES)
    parser.add_argument("--shapes", nargs="+", metavar="d,N", default=peers_table.SHAPES,
                        type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--force", action="store_true", help="measure again what is there")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        run(options)
    except Failed as error:
        sys.exit(f"error: {error}")
    print(f"\n{(options.results / 'table.md').read_text(encoding='utf-8')}", end="")


if __name__ == "__main__":
    main()
