"""Runs of headlab that follow from each other: a model is trained, converted, tested, trained on. Each runs once."""

import argparse
import json
import pathlib
import re
import subprocess

from analysis import sidecars
from analysis.figures.sweep import formats
from analysis.reductions import FigureError

TRIAL = re.compile(r"^trial ([0-9a-f]{16}): ", re.MULTILINE)


def arguments(words, description, budgets):
    """Of a figure that makes what it draws."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--results", type=pathlib.Path, required=True, help="a folder of models, trials and conversions")
    parser.add_argument("--headlab", help="the program that makes what is missing there")
    parser.add_argument("--budget", choices=tuple(budgets), default="small")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="a folder for the figure")
    parser.add_argument("--formats", type=formats, default=formats("pdf,png,svg"))
    parser.add_argument("--style", help="a matplotlib style file, applied on top")
    return parser.parse_args(words)


class Runs:
    """A folder of models and trials; what a file is there for is not run again.

    known: a row a trial, in runs.json: its id and what the caller says of it.
    """

    def __init__(self, headlab, folder):
        self.headlab, self.folder, self.known = headlab, pathlib.Path(folder), {}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._index = self.folder / "runs.json"
        if self._index.exists():
            self.known = json.loads(self._index.read_text(encoding="utf-8"))["runs"]

    def path(self, name):
        return self.folder / name

    def train(self, name, *words, save=None, **facts):
        """Trains NAME.h5; the id and facts are kept. save: the name of its model."""
        models = ["--save", str(self.path(save))] if save else []
        if name not in self.known or (save and not self.path(save).exists()):
            text = self.run("train", *words, "--out", str(self.path(f"{name}.h5")), *models, "--force")
            self.known[name] = {"id": TRIAL.search(text)[1], **facts}
            part = self._index.with_suffix(".part")
            sidecars.write_json(part, {"version": 1, "runs": self.known})
            part.replace(self._index)

    def convert(self, model, to, *words):
        """Keeps what `headlab reparametrize --json` says in TO.json."""
        said = self.path(to).with_suffix(".json")
        if not said.exists():
            text = self.run("reparametrize", str(self.path(model)), "--out", str(self.path(to)), "--json", "--force", *words)
            said.write_text(text, encoding="utf-8")
        return json.loads(said.read_text(encoding="utf-8"))["layers"]

    def merge(self):
        """All trials in results.h5."""
        self.run("merge", str(self.folder), *(str(self.path(f"{name}.h5")) for name in self.known))

    def run(self, *words):
        print(" ".join(["headlab", *words]), flush=True)
        done = subprocess.run([self.headlab, *words], check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise FigureError(f"headlab {words[0]} has ended with code {done.returncode}")
        return done.stdout
