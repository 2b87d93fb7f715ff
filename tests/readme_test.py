"""readme_test.py README RESULTS: runs every python block of a README as it stands against a real results.h5.

Each block runs by itself in a folder where every path to a .h5 file that it names is RESULTS. It must end without an
error or a warning and print something, and have at most five lines, as the README says; some block must read with
pandas and some with xarray.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

READERS = {"pandas": r"\bpandas\b|\btrials\(", "xarray": r"\bxarray\b"}


def blocks(text):
    """(line, code) of every block fenced as ```python; other blocks are passed over."""
    found, code, start = [], None, 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.fullmatch(r"\s*(```+|~~~+)\s*(\w*).*", line)
        if fence and code is None:
            code, start, language = [], number + 1, fence[2]
        elif fence and not fence[2]:
            if language == "python":
                found.append((start, "\n".join(code) + "\n"))
            code = None
        elif code is not None:
            code.append(line)
    return found


def run(code, results):
    """What a block prints, standard output and errors."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "analysis", pathlib.Path(folder) / "analysis")
        for name in re.findall(r"""["']([^"'\s]+\.h5)["']""", code):
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                os.symlink(results, path)
        command = ["/usr/bin/python3", "-W", "error::FutureWarning", "-B", "-c", code]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def faults(readme, results):
    found = blocks(readme.read_text(encoding="utf-8"))
    for library, sign in READERS.items():
        if not any(re.search(sign, code) for _, code in found):
            yield f"{readme}: must have a python block that reads results with {library}"
    for line, code in found:
        ended = run(code, results)
        if ended.returncode != 0 or ended.stderr:
            yield f"{readme}:{line}: fails\n{ended.stderr}"
        elif not ended.stdout.strip():
            yield f"{readme}:{line}: prints nothing"
        if len([text for text in code.splitlines() if text.strip()]) > 5:
            yield f"{readme}:{line}: must have five lines at most"


def main():
    readme, results = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    told = list(faults(readme, results))
    sys.exit("\n".join(told) or 0)


if __name__ == "__main__":
    main()
