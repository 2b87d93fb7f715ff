"""peers_torch.py eager|compiled: headlab's models and training step in PyTorch, float32, one thread. See serve().

Eager is measured at its faster: scaled_dot_product_attention (1.1 to 2 times as fast as softmax of products; the same
where compiled), vector_norm for the standard deviation (1.1 to 1.5 times as fast as std), max rather than amax, one
product for query, key and value, fused Adam. Compiled is the forward pass, the loss and their gradient, and the
clipping; Adam is fused already. It takes amax, the same without ties: max compiled by torch 2.13 has a wrong gradient
at N = 8 (the check of losses fails). nap and non are the paper's equations over N x N weights; their form linear in N
is headlab's own and no peer's.
"""

import os
import sys

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(os.cpu_count()))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention  # noqa: E402

import peers_cell as setting  # noqa: E402


class Attention(nn.Module):
    """(B, N, d) to (B, N, d): bert, mte, nap and non, heads side by side."""

    def __init__(self, architecture, d):
        super().__init__()
        self.architecture, self.qkv = architecture, nn.Linear(d, 3 * d)
        if architecture == "nap":
            self.gain, self.bias = nn.Parameter(torch.ones(setting.HEADS)), nn.Parameter(torch.zeros(setting.HEADS))

    def forward(self, x):
        batch, n, d = x.shape
        width = d // setting.HEADS
        q, k, v = self.qkv(x).view(batch, n, 3, setting.HEADS, width).permute(2, 0, 3, 1, 4)
        if self.architecture == "nap":
            heads = self.normalised(q @ k.transpose(-1, -2)) @ v
        elif self.architecture == "non":
            heads = (q * (n * width) ** -0.5) @ k.transpose(-1, -2) @ v
        else:
            heads = scaled_dot_product_attention(q, k, v)
        return heads.transpose(1, 2).reshape(batch, n, d)

    def normalised(self, logits):
        centred = logits - logits.mean(-1, keepdim=True)
        deviation = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) * logits.shape[-1] ** -0.5
        scale = self.gain.view(-1, 1, 1) / (deviation + setting.ATTENTION_EPSILON)
        return torch.addcmul(self.bias.view(-1, 1, 1), centred, scale)


class Layer(nn.Module):
    def __init__(self, architecture, d):
        super().__init__()
        hidden = setting.hidden_units(architecture, d)
        self.architecture = architecture
        if architecture not in setting.POOLING:
            self.attention, self.mix = Attention(architecture, d), nn.Linear(d, d)
        if architecture in ("mte", "nap"):
            self.attention_norm = norm(d)
        self.mix_norm, self.output_norm = norm(d), norm(d)
        self.hidden, self.output = nn.Linear(d, hidden), nn.Linear(hidden, d)
        if architecture != "bert":
            self.hidden_norm = norm(hidden)

    def forward(self, x):
        if self.architecture == "bert":
            e = self.mix_norm(x + self.mix(self.attention(x)))
            return self.output_norm(e + self.output(gelu(self.hidden(e), approximate="tanh")))
        e = x + self.mix_norm(self.seen(x))
        return e + self.output_norm(self.output(gelu(self.hidden_norm(self.hidden(e)), approximate="tanh")))

    def seen(self, x):
        if self.architecture == "sum":
            return x.sum(1, keepdim=True)
        if self.architecture == "max":
            return x.amax(1, keepdim=True) if torch.compiler.is_compiling() else x.max(1, keepdim=True).values
        heads = self.attention(x)
        if self.architecture != "non":
            heads = self.attention_norm(heads)
        return self.mix(gelu(heads, approximate="tanh"))


class Model(nn.Module):
    """Logits (B, N) of tokens (B, N)."""

    def __init__(self, architecture, d, n):
        super().__init__()
        self.token, self.position = nn.Embedding(setting.VOCABULARY, d), nn.Parameter(torch.zeros(n, d))
        self.layers = nn.Sequential(*(Layer(architecture, d) for _ in range(setting.LAYERS)))
        self.readout = nn.Linear(d, 1)

    def forward(self, tokens):
        return self.readout(self.layers(self.token(tokens) + self.position)).squeeze(-1)


def norm(features):
    return nn.LayerNorm(features, eps=setting.NORM_EPSILON)


OUR_NAMES = (  # of parameters: a part of PyTorch's, of headlab's
    ("layers.", "layer."), ("token.weight", "embedding.token"), ("position", "embedding.position"),
    ("attention.gain", "nap.gain"), ("attention.bias", "nap.bias"), ("attention.qkv", "qkv"),
    ("norm.weight", "norm.gain"),
)


def load(model, values):
    """Copies parameters by headlab's names; PyTorch's weights are (out, in), and query, key and value one matrix."""

    def value_of(name):
        if ".qkv." in name:
            parts = [value_of(name.replace("qkv", part)) for part in ("query", "key", "value")]
            return torch.cat(parts, 0 if name.endswith(".weight") else -1)
        value = torch.from_numpy(values[name])
        return value.T if name.endswith(".weight") else value

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            for theirs, ours in OUR_NAMES:
                name = name.replace(theirs, ours)
            parameter.copy_(value_of(name).reshape(parameter.shape))


def clip(parameters):
    """Each variable's gradient to norm 1; query, key and value are variables of their own."""
    gradients = [part for name, p in parameters for part in (p.grad.chunk(3) if ".qkv." in name else [p.grad])]
    factors = (setting.CLIP / torch.stack(torch._foreach_norm(gradients))).clamp(max=1)
    torch._foreach_mul_(gradients, list(factors.unbind()))


class Training:
    models = 1

    def __init__(self, cell, compiled):
        torch._dynamo.reset()
        values, tokens, labels = setting.start(cell)
        model = Model(cell["architecture"], cell["dim"], cell["length"])
        load(model, values)
        self.clipped = cell["architecture"] == "bert" and list(model.named_parameters())
        self.optimiser = torch.optim.Adam(
            model.parameters(), setting.RATE, setting.BETAS, setting.ADAM_EPSILON, fused=True
        )
        self.steps = 0
        self.tokens, self.labels = torch.from_numpy(tokens), torch.from_numpy(labels)

        def loss(tokens, labels):
            return cross_entropy(model(tokens), labels)

        self.loss = torch.compile(loss, dynamic=False) if compiled else loss
        self.clip = torch.compile(clip, dynamic=False) if compiled else clip

    def run(self, steps):
        losses = []
        for _ in range(steps):
            self.optimiser.zero_grad(set_to_none=True)
            loss = self.loss(self.tokens, self.labels)
            loss.backward()
            if self.clipped:
                self.clip(self.clipped)
            self.steps += 1  # headlab's epsilon stands beside sqrt(v), PyTorch's beside sqrt(v / (1 - beta2^t))
            self.optimiser.param_groups[0]["eps"] = setting.ADAM_EPSILON / (1 - setting.BETAS[1] ** self.steps) ** 0.5
            self.optimiser.step()
            losses.append(loss.detach())
        return losses


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    setting.serve(lambda cell: Training(cell, sys.argv[1] == "compiled"), setting.on_every_core)
