"""own_question_test.py README HEADLAB [build]: does what the README's section "Your own question" says, as it stands there.

Files and commands run in a new folder. With build, the task and the aggregation are put where they belong, in a copy of the
sources, which is built; then both are trained and the aggregation's tests run: half an hour and more.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "README.md", "cmake", "core", "experiments", "sweeps", "tests", "analysis")
# What a piece that belongs into a file stands before.
BEFORE = {"tests/attention_test.cpp": '    }\n    throw std::logic_error("no such variant");',
          "tests/definitions/model.hpp": "    T total = 0;\n    for (T& s : l) {"}


def section(readme):
    return readme.split("\n## Your own question\n")[1].split("\n## ")[0]


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def shell(command, folder, **more):
    return subprocess.run(command, shell=True, cwd=folder, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def follow(text, headlab):
    """The file, the specification and the commands; every command has its say."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "build").mkdir()
        os.symlink(headlab, folder / "build/headlab")
        os.symlink(ROOT / "analysis", folder / "analysis")
        (script,), (specification,), (commands,) = (blocks(text, kind) for kind in ("py", "toml", "sh"))
        subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=folder, check=True)
        title, content = specification.split("\n", 1)
        (folder / title.removeprefix("# ")).write_text(content, encoding="utf-8")
        said = [shell(command, folder) for command in commands.splitlines()]
        check(all(said), "every command prints something")
        check("argmax" not in said[0] and "position" in said[0], said[0])
        check(said[2].count("\n") == 13, f"a line a trial:\n{said[2]}")
        for kind in ("png", "pdf", "svg", "csv", "json"):
            check((folder / f"figures/own.{kind}").stat().st_size > 100, f"figures/own.{kind}")


def check(holds, said):
    if not holds:
        raise AssertionError(said)


def place(text, root):
    """Puts each piece of C++ where its first line says; the words that it adds into config.hpp."""
    for piece in blocks(text, "cpp"):
        title, content = piece.split("\n", 1)
        path, _, where = title.removeprefix("// ").partition(": ")
        added = re.match(r"(HEADLAB_\w+) \.\.\., (\w+)", where)
        if added:
            (root / path).write_text(content, encoding="utf-8")
            insert(root / "core/config/config.hpp", rf"(#define {added[1]} .*)", rf"\1, {added[2]}")
        else:
            insert(root / path, re.escape(BEFORE[path]), lambda found, content=content: content + found[0])


def insert(path, pattern, by):
    text, count = re.subn(pattern, by, path.read_text(encoding="utf-8"), count=1)
    check(count == 1, f"{path} has no place for it")
    path.write_text(text, encoding="utf-8")


def build(text):
    """The last token is found by attention with the new weights, and these pass the tests of every aggregation."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for source in SOURCES:
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            copy(ROOT / source, root / source)
        place(text, root)
        shell("cmake -S . -B build && cmake --build build -j 2", root, env=os.environ | {"PATH": f"/usr/bin:{os.environ['PATH']}"})
        check("from_the_end" in shell("build/headlab tasks", root), "the task is listed")
        check("relu" in shell("build/headlab models", root), "the aggregation is listed")
        check("2 is not at most" in subprocess.run(
            "build/headlab train --task.name from_the_end --task.back 2 --task.length 1 --eval.relative_lengths 1", shell=True,
            cwd=root, capture_output=True, text=True, check=False).stderr, "its key has its rule")
        told = shell("build/headlab train --task.name from_the_end --task.back 2 --task.length 8 --task.vocabulary 10 "
                     "--model.architecture relu --model.dim 32 --train.epochs 4 --lr 3e-3", root)
        print(told)
        check("chance" in told and ".1000" in told, told)
        shell("build/headlab_tests --gtest_filter='*InEveryShape*relu*:*WholeModel*relu*'", root)


def main():
    readme, headlab, *more = sys.argv[1:]
    text = section(pathlib.Path(readme).read_text(encoding="utf-8"))
    if more == ["build"]:
        build(text)
    else:
        follow(text, pathlib.Path(headlab).resolve())


if __name__ == "__main__":
    main()
