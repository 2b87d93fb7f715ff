"""Which folder may include which, and which outside library; core prints nothing. Tests itself first."""

import pathlib
import re
import sys

# Each folder may include itself, these and all that these may include.
FOLDERS = {
    "core/base": [],
    "core/config": ["core/base"],
    "core/memory": ["core/config"],
    "core/dnn": ["core/memory"],
    "core/kernels": ["core/memory"],
    "core/products": ["core/dnn", "core/kernels"],
    "core/layers": ["core/products"],
    "core/attention": ["core/layers"],
    "core/model": ["core/attention"],
    "core/analytic": ["core/model"],
    "core/tasks": ["core/config"],
    "core/train": ["core/model", "core/tasks"],
    "core/bench": ["core/train"],
    "core/log": ["core/train"],
    "core/collaborative": ["core/log"],
    "sweeps": ["core/collaborative"],
    "experiments": ["sweeps", "core/analytic", "core/bench"],
}
LIBRARIES = {  # what an include begins with: the only folders that may have it
    "dnnl": ["core/dnn"],
    "omp.h": ["core/dnn"],
    "hdf5": ["core/log"],
    "H5": ["core/log"],
    "boost/program_options": ["experiments"],
    "toml++/": ["core/config", "sweeps"],
    "Random123/": ["core/base"],
    "nlohmann/": ["core/log", "sweeps", "experiments"],
    "Eigen/": ["core/collaborative"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONSOLE = re.compile(r"std::(cout|cerr|clog|puts|print)\b|\b(f|v|vf)?printf\s*\(|fmt::(v?print|println)\b|<iostream>")


def folder_of(path):
    return max((f for f in FOLDERS if path.startswith(f + "/")), key=len, default=None)


def reachable(folder):
    below = {folder}
    for other in FOLDERS[folder]:
        below |= reachable(other)
    return below


def faults(path, text):
    folder = folder_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        here = f"{path}:{number}: "
        code = line.split("//")[0] if "include" not in line else line
        if path.startswith("core/") and CONSOLE.search(code):
            yield here + "core does not use the console"
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match[1] == '"', match[2]
        for library, allowed in LIBRARIES.items():
            if not quoted and name.startswith(library) and folder not in allowed:
                yield here + f"<{name}> belongs in {' and '.join(allowed)} only"
        if quoted and folder_of(name) not in reachable(folder):
            yield here + f"{folder} may not include {name}"


def self_test():
    bad = {
        "core/layers/x.hpp": "#include <dnnl.hpp>",
        "core/train/x.cpp": "#include <hdf5.h>",
        "core/log/x.cpp": "  # include <toml++/toml.h>",
        "sweeps/x.cpp": "#include <boost/program_options.hpp>",
        "experiments/x.cpp": "#include <toml++/toml.h>",
        "core/base/x.hpp": '#include "core/config/config.hpp"',
        "core/tasks/x.cpp": '#include "core/model/plan.hpp"',
        "core/model/x.cpp": '#include "sweeps/plan.hpp"',
        "core/config/x.cpp": '#include "tests/support/record.hpp"',
        "core/memory/x.hpp": 'std::cout << "here";',
        "core/log/y.cpp": '  printf("here");',
        "core/dnn/x.cpp": 'fmt::print(stderr, "here");',
    }
    good = {
        "core/dnn/x.cpp": "#include <dnnl.hpp>\n#include <omp.h>\n",
        "core/train/x.cpp": '#include "core/base/error.hpp"\nstd::snprintf(a, 1, "");\n// as printf( does\n',
        "experiments/x.cpp": '#include "core/log/hdf5.hpp"\nfmt::print("here");\n',
    }
    for path, text in bad.items():
        assert len(list(faults(path, text))) == 1, f"{path} passes: {text}"
    for path, text in good.items():
        assert not list(faults(path, text)), list(faults(path, text))


def main():
    self_test()
    files = [p for top in ("core", "sweeps", "experiments") for p in pathlib.Path(top).rglob("*.[ch]pp")]
    assert files, "run it at the top of the project"
    found = [fault for path in sorted(files) for fault in faults(path.as_posix(), path.read_text())]
    print("\n".join(found) or f"{len(files)} files include what they may")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
