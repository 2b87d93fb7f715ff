"""Runs clang-tidy over all of our sources, in parallel; a source that passed is skipped until it, a header of
ours that it includes, its compile command, a .clang-tidy or clang-tidy itself changes.

clang may refuse libstdc++'s AVX-512 simd, so of sources compiled for several instruction sets only the AVX2
compilation is checked.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGURATION = [ROOT / ".clang-tidy", ROOT / "tests/.clang-tidy"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def closure(path, seen):
    """All of our files that a source is made of."""
    if path not in seen and path.is_file():
        seen.add(path)
        for name in INCLUDE.findall(path.read_text()):
            closure(ROOT / name, seen)
    return seen


def fingerprint(entry, tidy, extra):
    digest = hashlib.sha256("\0".join([entry["command"], tidy, *extra]).encode())
    for path in [*CONFIGURATION, *sorted(closure(pathlib.Path(entry["file"]), set()))]:
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def compilations(build):
    """Those of our sources; what a build makes itself, and perhaps later, is not one."""
    entries = json.loads((build / "compile_commands.json").read_text())
    ours = [e for e in entries if build.resolve() not in pathlib.Path(e["file"]).parents]
    return [e for e in ours if "HEADLAB_ISA=v4" not in e["command"] and ROOT in pathlib.Path(e["file"]).parents]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang-tidy", default="clang-tidy")
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("-j", type=int, default=1)
    args = parser.parse_args()
    version = subprocess.run([args.clang_tidy, "--version"], check=True, capture_output=True, text=True).stdout
    # GCC's own headers come last, for its omp.h, less an attribute that clang lacks; -Wconversion as in GCC.
    gcc = subprocess.run(["g++", "-print-file-name=include"], check=True, capture_output=True, text=True).stdout.strip()
    flags = (f"-idirafter{gcc}", "-D__malloc__(x)=", "-Wno-unknown-warning-option", "-Wno-deprecated-declarations",
             "-Wno-sign-conversion")
    extra = [f"--extra-arg={flag}" for flag in flags]
    passed = args.build / "tidy"
    passed.mkdir(parents=True, exist_ok=True)
    entries = compilations(args.build)
    (passed / "compile_commands.json").write_text(json.dumps(entries))
    todo = {entry["file"]: fingerprint(entry, version, extra) for entry in entries}
    todo = {file: mark for file, mark in todo.items() if not (passed / mark).exists()}

    def check(file):
        command = [args.clang_tidy, "--quiet", "-p", str(passed), *extra, file]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        if done.returncode == 0:
            (passed / todo[file]).touch()
        else:
            print(done.stdout + done.stderr, flush=True)
        return done.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        good = sum(pool.map(check, todo))
    print(f"clang-tidy: {good} of {len(todo)} changed sources pass")
    return good != len(todo)


if __name__ == "__main__":
    sys.exit(main())
