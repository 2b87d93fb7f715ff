"""The table of peers.json: the fastest peer, how many times faster headlab is, and whether that meets its target.

A cell holds "architecture", "dim", "length" and "milliseconds", a list of rounds by name, headlab's among them:
processor time of a step of one model.
"""

import statistics

ARCHITECTURES = ("bert", "mte", "nap", "non", "sum", "max")
GROUPS = (("bert", "mte"), ("nap", "non"), ("sum", "max"))
SHAPES = ((8, 128), (16, 128), (32, 128), (64, 128), (128, 128), (128, 32), (128, 8))
TARGETS = dict(zip(GROUPS, (  # fastest peer / headlab, in the order of SHAPES
    (12, 7, 4.5, 2.4, 1.7, 1.6, 1.9),
    (35, 18, 8, 3.5, 2, 1.7, 1.8),
    (6, 5, 4, 2.5, 1.8, 1.7, 2),
)))
HEADLAB = "headlab"
SUMMARIES = {"best": min, "median": statistics.median}


def target(architecture, shape):
    """None where none is set."""
    group = next(group for group in GROUPS if architecture in group)
    return TARGETS[group][SHAPES.index(shape)] if shape in SHAPES else None


def in_order(cells):
    """By architecture, then by shape; shapes without a target last."""
    def place(cell):
        shape = (cell["dim"], cell["length"])
        position = SHAPES.index(shape) if shape in SHAPES else len(SHAPES)
        return ARCHITECTURES.index(cell["architecture"]), position, shape

    return sorted(cells, key=place)


def ratios(cell, summary):
    """Of each peer's summary ("best" or "median" of rounds) to headlab's, by name."""
    of = {name: SUMMARIES[summary](rounds) for name, rounds in cell["milliseconds"].items()}
    return {name: value / of[HEADLAB] for name, value in of.items() if name != HEADLAB}


def fastest(cell, summary):
    """(name, ratio) of the peer with the smallest ratio: headlab is that many times faster than all."""
    found = ratios(cell, summary)
    name = min(found, key=found.get)
    return name, found[name]


def met(cell, summary):
    """None where there is no target."""
    wanted = target(cell["architecture"], (cell["dim"], cell["length"]))
    return None if wanted is None else fastest(cell, summary)[1] >= wanted


def row(cell, peers):
    rounds, wanted = cell["milliseconds"], target(cell["architecture"], (cell["dim"], cell["length"]))
    times = [f"{short(min(rounds[name]))} ({short(statistics.median(rounds[name]))})" if name in rounds else ""
             for name in (HEADLAB, *peers)]
    marks = {True: " ✓", False: " ✗", None: ""}
    reached = [short(fastest(cell, summary)[1]) + marks[met(cell, summary)] for summary in SUMMARIES]
    words = [cell["architecture"], cell["dim"], cell["length"], *times, fastest(cell, "best")[0],
             "" if wanted is None else f"{wanted:g}", *reached]
    return "| " + " | ".join(map(str, words)) + " |"


def short(value):
    """Three significant digits, whole from 100."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def table(cells):
    """Markdown: a row a cell, then how many targets are met."""
    cells = in_order(cells)
    peers = list(dict.fromkeys(name for cell in cells for name in cell["milliseconds"] if name != HEADLAB))
    heads = ["model", "d", "N", *(f"{name}, ms" for name in (HEADLAB, *peers)), "fastest peer", "target",
             "fastest / headlab", "of medians"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *(row(cell, peers) for cell in cells)]
    with_target = [cell for cell in cells if met(cell, "best") is not None]
    counts = [f"{sum(met(cell, summary) for cell in with_target)} by {summary}" for summary in SUMMARIES]
    return "\n".join([*lines, "", f"Of {len(with_target)} targets are met: {', '.join(counts)}.", ""])
