"""step_against_torch.py STEP_BENCH [ROUNDS]: a training step of headlab and of PyTorch eager, float32, one thread,
taking turns in one run; prints best and median milliseconds and their ratio. Needs torch.
"""

import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu, softmax

torch.set_num_threads(1)
torch.set_flush_denormal(True)
BATCH, LAYERS, HEADS, VOCABULARY = 32, 2, 4, 100


class Layer(nn.Module):
    """mte or nap as one writes them in PyTorch."""

    def __init__(self, d, architecture):
        super().__init__()
        self.qkv, self.mix = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.hidden, self.output = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norms = nn.ModuleList(nn.LayerNorm(n, eps=1e-3) for n in (d, d, 4 * d, d))
        self.gain, self.bias = nn.Parameter(torch.ones(HEADS, 1, 1)), nn.Parameter(torch.zeros(HEADS, 1, 1))
        self.nap = architecture == "nap"

    def forward(self, x):
        batch, n, d = x.shape
        q, k, v = self.qkv(x).view(batch, n, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2)
        if self.nap:
            deviation = scores.std(-1, unbiased=False, keepdim=True)
            weights = self.gain * (scores - scores.mean(-1, keepdim=True)) / (deviation + 1e-3) + self.bias
        else:
            weights = softmax(scores * (d // HEADS) ** -0.5, -1)
        o = (weights @ v).transpose(1, 2).reshape(batch, n, d)
        e = x + self.norms[1](self.mix(gelu(self.norms[0](o), approximate="tanh")))
        return e + self.norms[3](self.output(gelu(self.norms[2](self.hidden(e)), approximate="tanh")))


class Model(nn.Module):
    def __init__(self, d, n, architecture):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, d), nn.Parameter(0.02 * torch.randn(n, d))
        self.layers = nn.Sequential(*(Layer(d, architecture) for _ in range(LAYERS)))
        self.readout = nn.Linear(d, 1)

    def forward(self, tokens):
        return self.readout(self.layers(self.token(tokens) + self.position)).squeeze(-1)


class Torch:
    def __init__(self, d, n, architecture):
        self.model = Model(d, n, architecture)
        self.optimiser = torch.optim.Adam(self.model.parameters(), 2.187e-4, eps=1e-7, foreach=True)
        self.tokens = torch.randint(VOCABULARY, (BATCH, n))
        self.labels = torch.randint(n, (BATCH,))
        self.steps = max(1, int(0.2 / self.seconds(3)))

    def seconds(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.optimiser.zero_grad(set_to_none=True)
            cross_entropy(self.model(self.tokens), self.labels).backward()
            self.optimiser.step()
        return (time.perf_counter() - start) / steps

    def milliseconds(self):
        return 1e3 * self.seconds(self.steps)


class Headlab:
    def __init__(self, program, d, n, architecture):
        settings = [f"model.dim={d}", f"task.length={n}", f"model.architecture={architecture}"]
        self.process = subprocess.Popen([program, *settings], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def milliseconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main(program, rounds):
    print("architecture  d    N    headlab ms (median)    PyTorch ms (median)   PyTorch / headlab, best (median)")
    for architecture, d, n in [(a, d, n) for a in ("mte", "nap") for d, n in [(128, 128), (16, 128), (128, 8)]]:
        ours, theirs = Headlab(program, d, n, architecture), Torch(d, n, architecture)
        pairs = [(ours.milliseconds(), theirs.milliseconds()) for _ in range(rounds)]
        (a, b), (am, bm) = map(min, zip(*pairs)), map(statistics.median, zip(*pairs))
        print(
            f"{architecture:12} {d:4} {n:4} {a:10.2f} ({am:7.2f}) {b:14.2f} ({bm:7.2f}) {b / a:18.2f} ({bm / am:.2f})",
            flush=True,
        )
        ours.process.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9)
