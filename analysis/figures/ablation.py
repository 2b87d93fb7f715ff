"""The figures of analysis.figures.sweep for the walk from bert to mte: a panel or line a setting on the way."""

from analysis.figures import sweep

# Each keeps what the one before has changed.
SETTINGS = {
    "+ no warm-up": {"model.architecture": "bert", "train.warmup": 0},
    "+ no clipping": {"model.architecture": "bert", "train.warmup": 0, "train.clip": 0},
    "+ norms of mte": {"model.architecture": "bert", "model.norm_placement": "mte"},
}


def main(words=None):
    sweep.main(words, SETTINGS, "setting", "each + adds to the one before it, mte adds GELU to them all")


if __name__ == "__main__":
    main()
