"""file_task_test.py HEADLAB: task.name = file against a reference reader, with files that h5py writes, wrong ones too."""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

HEADLAB = ""
TINY = ("--task.name", "file", "--model.dim", "8", "--model.heads", "2", "--train.batch", "16", "--train.steps_per_epoch", "5",
        "--train.epochs", "1")


class Reference:
    """The file as its documentation says it is read."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.tokens, self.labels = (file[name][()].astype(int) for name in ("tokens", "labels"))
            rows = np.arange(len(self.tokens))
            by_place = np.where(rows % 10 == 8, 1, np.where(rows % 10 == 9, 2, 0))
            split = file["split"][()] if "split" in file else by_place
        self.parts = dict(zip(("train", "validation", "test"), (rows[split == k] for k in range(3))))

    def chance(self, part):
        answers = self.labels[self.parts[part]].reshape(len(self.parts[part]), -1)
        return np.mean([collections.Counter(column).most_common(1)[0][1] / len(column) for column in answers.T])

    def spread(self, part, count):
        """So many rows of a part at even distances."""
        rows = self.parts[part]
        return [rows[b * len(rows) // count] for b in range(count)]


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_headlab(self, *words, code=0):
        ended = subprocess.run([HEADLAB, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, code, ended.stderr)
        return ended.stdout if code == 0 else ended.stderr

    def sample(self, name, part, count, *more):
        return json.loads(self.run_headlab("sample", "--task.name", "file", "--task.file", name, "--set", part, "-n", count, "--json",
                                           *more))["sample"]

    def reference(self, name="a.h5"):
        return Reference(self.folder / name)

    def write(self, name="a.h5", **data):
        """data: datasets, None for none; by default 60 sequences of 8 tokens below 12, labels 0, 1, 2."""
        random = np.random.default_rng(3)
        tokens = random.integers(0, 12, (60, 8))
        data = {"tokens": tokens, "labels": np.sum([tokens[:, 0] > tokens[:, 1], tokens.max(1) > 10], 0)} | data
        with h5py.File(self.folder / name, "w") as file:
            for key, values in data.items():
                if values is not None:
                    file[key] = values
        return name


class Read(Files):
    def check(self, name, *more):
        """Held-back sequences are the reference's, training ones are among its rows, chance is its."""
        reference = self.reference(name)
        for part in ("validation", "test"):
            count = min(5, len(reference.parts[part]))
            shown = self.sample(name, part, count, *more)
            self.assertEqual([s["tokens"] for s in shown["sequences"]], reference.tokens[reference.spread(part, count)].tolist())
            labels = [np.squeeze(s["labels"]).tolist() for s in shown["sequences"]]
            self.assertEqual(labels, reference.labels[reference.spread(part, count)].tolist())
            self.assertAlmostEqual(shown["chance_accuracy"], reference.chance("validation"))
        shown = self.sample(name, "train", 400, *more)
        rows = {(tuple(reference.tokens[r]), tuple(np.atleast_1d(reference.labels[r]))) for r in reference.parts["train"]}
        drawn = {(tuple(s["tokens"]), tuple(s["labels"])) for s in shown["sequences"]}
        self.assertEqual(drawn - rows, set())
        self.assertGreater(len(drawn), 0.9 * len(rows))  # 400 uniform draws leave out a row of 48 with e^-8.3
        self.assertAlmostEqual(shown["chance_accuracy"], reference.chance("train"))
        self.assertEqual((shown["task.length"], shown["task.vocabulary"]),
                         (reference.tokens.shape[1], max(2, reference.tokens.max() + 1)))

    def test_one_label_a_sequence(self):
        self.check(self.write())

    def test_a_label_a_token(self):
        tokens = np.random.default_rng(4).integers(0, 7, (50, 5))
        self.check(self.write(tokens=tokens, labels=(tokens + tokens[:, :1]) % 7))

    def test_positions_as_labels(self):
        self.write()
        self.check(self.write(labels=self.reference().tokens.argmax(1)), "--task.readout", "across_tokens")

    def test_a_split_of_ones_own(self):
        self.check(self.write(split=np.repeat([2, 0, 1], [7, 45, 8])))

    def test_all_integer_types_and_filters(self):
        for kind in ("u1", "i1", "<u2", ">i4", "<u4", "i8", ">u8"):
            tokens = np.random.default_rng(5).integers(0, 100 if kind == "i1" else 250, (40, 6)).astype(kind)
            labels = tokens[:, 0].astype(kind)
            self.write("b.h5", tokens=None, labels=None)
            with h5py.File(self.folder / "b.h5", "w") as file:
                file.create_dataset("tokens", data=tokens, chunks=(7, 6), compression="gzip", shuffle=True)
                file["labels"] = labels
                file["something else"] = "a text"
            with self.subTest(kind):
                self.check("b.h5")

    def test_fewer_rows_than_are_asked_for_are_all(self):
        self.write()
        shown, reference = self.sample("a.h5", "validation", 50), self.reference()
        self.assertEqual([s["tokens"] for s in shown["sequences"]], reference.tokens[reference.parts["validation"]].tolist())


class Identity(Files):
    def configuration(self, *more):
        return self.run_headlab("keys", "--print", "--task.name", "file", *more).splitlines()

    def test_the_id_is_of_the_content_not_of_the_place(self):
        self.write("a.h5")
        first = self.configuration("--task.file", "a.h5")
        (self.folder / "sub").mkdir()
        (self.folder / "a.h5").rename(self.folder / 'sub/o "dd" \\.h5')
        moved = self.configuration("--task.file", 'sub/o "dd" \\.h5')
        self.assertEqual(first[-1], moved[-1])
        self.assertNotIn("task.file=a.h5", first)
        self.write("a.h5", labels=np.arange(60) % 3)
        self.assertNotEqual(self.configuration("--task.file", "a.h5")[-1], first[-1])

    def test_the_hash_is_that_of_the_bytes(self):
        self.write()
        told = subprocess.run(["sha256sum", self.folder / "a.h5"], capture_output=True, text=True, check=True).stdout.split()[0]
        self.assertIn(f"task.file_sha256={told}", self.configuration("--task.file", "a.h5"))
        other = self.run_headlab("keys", "--print", "--task.name", "file", "--task.file", "a.h5", "--task.file_sha256", "0" * 64,
                                 code=2)
        self.assertEqual(other, f"error: task.file_sha256: {'0' * 64} is not that of task.file = a.h5\n")

    def test_defaults_are_the_files(self):
        self.write()
        told = self.configuration("--task.file", "a.h5")
        for line in ("task.length = 8", "task.vocabulary = 12", 'task.readout = "first_token"', "eval.relative_lengths = [1.0]"):
            self.assertIn(line, told)
        written = (self.folder / "again.toml")
        written.write_text("\n".join(told[:told.index("headlab") - 1]), encoding="utf-8")
        again = self.run_headlab("keys", "--print", "again.toml").splitlines()
        self.assertEqual(again[-1], told[-1])


class Wrong(Files):
    def fault(self, *words):
        """The only line that is told; with exit code 2 and nothing written."""
        before = sorted(self.folder.rglob("*"))
        told = self.run_headlab("train", *TINY, "--out", "run.h5", *words, code=2).splitlines()
        self.assertEqual(len(told), 1, told)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return told[0]

    def test_each_fault_is_a_line_with_file_and_dataset(self):
        self.write()
        tokens = self.reference().tokens
        for data, said in (
                ({"tokens": None}, "tokens: must be there, a dataset of shape (sequences, tokens)"),
                ({"labels": None}, "labels: must be there, a dataset of shape (60) or (60, 8), as tokens"),
                ({"tokens": tokens[0]}, "tokens: must have the shape (sequences, tokens), has (8)"),
                ({"tokens": tokens[:0]}, "tokens: must have the shape (sequences, tokens), has (0, 8)"),
                ({"labels": np.zeros(59, int)}, "labels: must have the shape (60) or (60, 8), as tokens, has (59)"),
                ({"tokens": tokens.astype(float)}, "tokens: must hold integers"),
                ({"labels": ["a"] * 60}, "labels: must hold integers"),
                ({"tokens": np.where(tokens == tokens[41, 3], -1, 0)}, "tokens: must be in 0 .. 16777215, holds -1 in row "),
                ({"labels": np.full(60, 2**40)}, "labels: must be in 0 .. 16777215, holds 1099511627776 in row 0"),
                ({"split": np.full(60, 3)}, "split: must be in 0 .. 2, holds 3 in row 0"),
                ({"split": np.ones(60, int)}, "split: must have rows of training, which are 0"),
                ({"split": np.zeros((60, 1), int)}, "split: must have the shape (60), as tokens, has (60, 1)")):
            with self.subTest(said):
                self.write(**data)
                told = self.fault("--task.file", "a.h5")
                self.assertTrue(told.startswith(f"error: task.file: a.h5: {said}"), told)

    def test_files_that_are_none(self):
        self.write()
        sound = (self.folder / "a.h5").read_bytes()
        for content in (b"", b"text", sound[:len(sound) // 2]):
            (self.folder / "b.h5").write_bytes(content)
            told = self.fault("--task.file", "b.h5")
            self.assertTrue(told.startswith("error: task.file: b.h5: not an HDF5 file that can be read: "), told)
        for name in ("nowhere.h5", "."):
            self.assertEqual(self.fault("--task.file", name), f"error: task.file: {name}: not a file that can be read")

    def test_settings_that_do_not_fit_the_file(self):
        self.write()
        for words, said in ((("--task.length", "16"), "a.h5 is not a file of sequences as long as task.length = 16"),
                            (("--task.vocabulary", "11"), "a.h5 is not a file with tokens below task.vocabulary = 11"),
                            (("--eval.relative_lengths", "1,0.5"),
                             "a.h5 is not a file of sequences of several lengths, as is needed with eval.relative_lengths = 1,0.5")):
            self.assertEqual(self.fault("--task.file", "a.h5", *words), f"error: task.file: {said}")
        self.write(labels=np.arange(60))
        self.assertEqual(self.fault("--task.file", "a.h5", "--task.readout", "across_tokens"),
                         "error: task.file: a.h5 is not a file of labels that are positions, as is needed with task.readout = "
                         "across_tokens")
        self.assertEqual(self.fault(), "error: task.file: none is not a file, as is needed with task.name = file")


class Sweeps(Files):
    SPECIFICATION = """name = "own"
[base]
task.name = "file"
task.file = "a.h5"
model.dim = 8
model.heads = 2
train.batch = 8
train.steps_per_epoch = 4
train.epochs = 2
[grid]
model.architecture = ["bert", "nap", "max"]
seed = [0, 1]
"""

    def setUp(self):
        super().setUp()
        self.write()
        (self.folder / "own.toml").write_text(self.SPECIFICATION, encoding="utf-8")

    def results(self, folder):
        with h5py.File(self.folder / folder / "results.h5") as file:
            curves = {name: dict(zip(file["id"].asstr()[()], file[name][()].tolist()))
                      for name in ("train_loss", "validation_accuracy", "chance_accuracy")}
            keys = {name: sorted(set(file[name].asstr()[()])) for name in ("task.name", "task.file", "task.file_sha256", "status")}
        return curves, keys

    def test_workers_and_shards_give_the_same(self):
        self.run_headlab("sweep", "own.toml", "--out", "one", "-j", 1)
        self.run_headlab("sweep", "own.toml", "--out", "two", "-j", 2)
        for i in range(2):
            self.run_headlab("sweep", "own.toml", "--out", "parts", "--shard", f"{i}/2", "-j", 1)
        self.run_headlab("merge", "parts")
        curves, keys = self.results("one")
        self.assertEqual(len(curves["train_loss"]), 6)
        self.assertEqual((keys["task.name"], keys["task.file"], keys["status"]), (["file"], ["a.h5"], ["done"]))
        self.assertAlmostEqual(next(iter(curves["chance_accuracy"].values())), self.reference().chance("validation"))
        for other in ("two", "parts"):
            self.assertEqual(self.results(other)[0], curves)
        told = self.run_headlab("list", "one", "--columns", "id,task.file,task.file_sha256")
        self.assertEqual(told.count(keys["task.file_sha256"][0]), 6)
        self.assertIn(f'task.file_sha256 = "{keys["task.file_sha256"][0]}"',
                      self.run_headlab("show", "one", next(iter(curves["train_loss"]))))

    def test_a_changed_file_makes_new_trials(self):
        self.run_headlab("sweep", "own.toml", "--out", "one", "--seed", "0", "-j", 1)
        self.assertIn("3 there, 0 new", self.run_headlab("sweep", "own.toml", "--out", "one", "--seed", "0", "--dry-run"))
        self.write(labels=np.arange(60) % 3)
        self.assertIn("0 there, 3 new", self.run_headlab("sweep", "own.toml", "--out", "one", "--seed", "0", "--dry-run"))

    def test_a_wrong_file_stops_before_anything_runs(self):
        self.write(labels=None)
        told = self.run_headlab("sweep", "own.toml", "--out", "one", code=2).splitlines()
        self.assertEqual(told, ["error: own.toml:4:6: task.file: a.h5: labels: must be there, a dataset of shape (60) or (60, 8), "
                                "as tokens"])
        self.assertFalse((self.folder / "one").exists())


class Trained(Files):
    def test_a_model_learns_what_the_file_says(self):
        tokens = np.random.default_rng(6).integers(0, 4, (400, 4))
        self.write(tokens=tokens, labels=tokens)  # each token answers itself
        told = self.run_headlab("train", "--task.name", "file", "--task.file", "a.h5", "--model.dim", 16, "--train.epochs", 3, "--lr",
                                "1e-2", "--out", "run.h5")
        self.assertTrue(told)
        with h5py.File(self.folder / "run.h5") as file:
            self.assertEqual(file.attrs["config.task.file"], "a.h5")
            self.assertGreater(file["validation_accuracy"][-1, 0], 0.99)
            self.assertGreater(file["test_accuracy"][0], 0.99)
            self.assertLess(file.attrs["chance_accuracy"], 0.4)

    def test_a_trace_has_the_training_rows(self):
        self.write()
        reference = self.reference()
        self.run_headlab("trace", *TINY, "--task.file", "a.h5", "--steps", 3, "--out", "t.h5")
        rows = {(tuple(reference.tokens[r]), reference.labels[r]) for r in reference.parts["train"]}
        with h5py.File(self.folder / "t.h5") as file:
            tokens, labels = file["steps/tokens"][()], file["steps/labels"][()]
            held_back = file["evaluation/1/tokens"][()]
        self.assertEqual(tokens.shape, (3, 16, 8))
        self.assertEqual({(tuple(t), y) for t, y in zip(tokens.reshape(-1, 8), labels.ravel())} - rows, set())
        self.assertEqual(len({tuple(step.ravel()) for step in tokens}), 3)
        self.assertEqual(held_back.tolist(), reference.tokens[reference.parts["validation"]].tolist())


if __name__ == "__main__":
    HEADLAB = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
