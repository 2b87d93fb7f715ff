"""peers_reference.py: the same training by tests/acceptance/reference.py, to which headlab is compared, in float64."""

import pathlib
import sys

import torch

import peers_cell as setting

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "acceptance"))
import reference  # noqa: E402


class Training:
    models = 1

    def __init__(self, cell):
        parameters, tokens, labels = setting.start(cell)
        bert = cell["architecture"] == "bert"
        config = {
            "task.name": "argmin_first_argmax", "task.readout": "across_tokens",
            "model.architecture": cell["architecture"], "model.heads": setting.HEADS, "model.layers": setting.LAYERS,
            "model.norm_placement": "bert" if bert else "mte", "model.attention_gelu": not bert,
            "model.norm_epsilon": setting.NORM_EPSILON, "model.attention_epsilon": setting.ATTENTION_EPSILON,
            "train.learning_rate": setting.RATE, "train.warmup": 0, "train.epochs": 10**9, "train.steps_per_epoch": 1,
            "train.clip": setting.CLIP if bert else 0, "train.l2": 0,
        }
        doubles = {name: torch.from_numpy(value).double() for name, value in parameters.items()}
        self.training = reference.Training(config, doubles)
        self.batch = torch.from_numpy(tokens), torch.from_numpy(labels)

    def run(self, steps):
        return [self.training.step(*self.batch)[0] for _ in range(steps)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    setting.serve(Training)
