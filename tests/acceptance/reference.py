"""Models, tasks and training of "Normalized Attention Without Probability Cage" (arXiv 2005.09561) in float64 PyTorch.

Written from the equations in token-major order, knowing nothing of headlab's code: B batch, N length, M heads.
`config` maps key names to values, `p` parameter names to tensors, weights being (in, out).
"""

import math

import torch
from torch.nn.functional import cross_entropy, gelu


def dense(p, name, x):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"][0]


def norm(config, p, name, x):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    scaled = centred / torch.sqrt(variance + config["model.norm_epsilon"])
    return scaled * p[f"{name}.gain"][0] + p[f"{name}.bias"][0]


def weights(config, p, layer, q, k):
    """(B, M, N, N): of query i over keys j, from (B, M, N, width)."""
    products = q @ k.transpose(-1, -2)
    architecture, length = config["model.architecture"], q.shape[-2]
    if architecture == "nap":
        centred = products - products.mean(-1, keepdim=True)
        variance = (centred**2).mean(-1, keepdim=True)
        # The root's derivative is infinite at zero, where the gradient is to be 0.
        std = torch.where(variance > 0, torch.sqrt(torch.where(variance > 0, variance, 1.0)), 0.0)
        gain, bias = (p[f"{layer}.nap.{part}"].reshape(-1, 1, 1) for part in ("gain", "bias"))
        return gain * centred / (std + config["model.attention_epsilon"]) + bias
    scaled = products / math.sqrt(q.shape[-1])
    return scaled / math.sqrt(length) if architecture == "non" else torch.softmax(scaled, -1)


def attention(config, p, layer, x):
    heads = config["model.heads"]
    q, k, v = (
        torch.stack(dense(p, f"{layer}.{part}", x).chunk(heads, -1), 1) for part in ("query", "key", "value")
    )
    return torch.cat((weights(config, p, layer, q, k) @ v).unbind(1), -1)


def join(config, p, name, x, u):
    if config["model.norm_placement"] == "mte":
        return x + norm(config, p, name, u)
    return norm(config, p, name, x + u)


def layer_output(config, p, layer, x):
    architecture, mte = config["model.architecture"], config["model.norm_placement"] == "mte"
    if architecture == "sum":
        seen = x.sum(1, keepdim=True).expand_as(x)
    elif architecture == "max":
        seen = x.max(1, keepdim=True).values.expand_as(x)  # the first of several
    else:
        seen = attention(config, p, layer, x)
        if mte and architecture != "non":
            seen = norm(config, p, f"{layer}.attention_norm", seen)
        if config["model.attention_gelu"]:
            seen = gelu(seen, approximate="tanh")
        seen = dense(p, f"{layer}.mix", seen)
    e = join(config, p, f"{layer}.mix_norm", x, seen)
    hidden = dense(p, f"{layer}.hidden", e)
    if mte:
        hidden = norm(config, p, f"{layer}.hidden_norm", hidden)
    return join(config, p, f"{layer}.output_norm", e, dense(p, f"{layer}.output", gelu(hidden, approximate="tanh")))


def logits(config, p, tokens):
    """(B, N) for argmin_first_argmax, (B, V) for mode, (B, N, N) for local_global."""
    task, length = config["task.name"], tokens.shape[1]
    x = p["embedding.token"][tokens]
    if task != "mode":
        x = x + p["embedding.position"][:length]
    for k in range(config["model.layers"]):
        x = layer_output(config, p, f"layer.{k}", x)
    if task == "mode":
        return dense(p, "readout", x[:, 0])
    if task == "local_global":
        return dense(p, "readout", x)[..., :length]
    if config["task.readout"] == "first_token":
        return dense(p, "readout", x[:, 0])[:, :length]
    return dense(p, "readout", x)[..., 0]


def labels(config, tokens):
    """What the task wants of (B, N) tokens; ties go to the first position or the smallest token."""
    rows = []
    for row in tokens.tolist():
        n = range(len(row))
        first_minimum = min(n, key=lambda i: row[i])
        if config["task.name"] == "mode":
            rows.append(max(sorted(set(row)), key=row.count))
        elif config["task.name"] == "local_global":
            rows.append(list(n) if config["task.argmin_token"] in row else [first_minimum] * len(row))
        elif config["task.argmin_token"] in row:
            rows.append(first_minimum)
        elif config["task.first_token"] in row:
            rows.append(0)
        else:
            rows.append(max(n, key=lambda i: row[i]))
    return torch.tensor(rows)


def loss(config, p, tokens, labels):
    z = logits(config, p, tokens)
    return cross_entropy(z.reshape(-1, z.shape[-1]), labels.reshape(-1))


def learning_rate(config, step):
    total = config["train.epochs"] * config["train.steps_per_epoch"]
    warmup = math.floor(config["train.warmup"] * total + 1e-9)
    return config["train.learning_rate"] * (step / warmup if step < warmup else 1 - step / total)


def clip(config, gradients):
    bound = config["train.clip"]
    if not bound:
        return gradients
    norms = {name: g.norm() for name, g in gradients.items()}
    if config.get("train.clip_mode") == "global":
        total = torch.stack(list(norms.values())).norm()
        norms = dict.fromkeys(norms, total)
    return {name: g * min(1.0, bound / float(norms[name])) if norms[name] > 0 else g for name, g in gradients.items()}


class Training:
    """Adam with its bias correction folded into the rate and epsilon outside the root; `p` changes in place."""

    def __init__(self, config, p):
        self.config, self.p = config, {name: t.clone().requires_grad_() for name, t in p.items()}
        self.moments = {name: (torch.zeros_like(t), torch.zeros_like(t)) for name, t in p.items()}
        self.updates = 0

    def objective(self, tokens, labels):
        """The cross-entropy, and with l2 times the sum of all weights' squares."""
        entropy = loss(self.config, self.p, tokens, labels)
        squares = sum((w**2).sum() for name, w in self.p.items() if name.endswith(".weight"))
        return entropy, entropy + self.config["train.l2"] * squares

    def step(self, tokens, labels):
        """Loss, gradients before clipping, their global norm and the rate of the update that is made."""
        entropy, objective = self.objective(tokens, labels)
        names = list(self.p)
        found = torch.autograd.grad(objective, [self.p[name] for name in names], allow_unused=True)
        gradients = {name: torch.zeros_like(self.p[name]) if g is None else g for name, g in zip(names, found)}
        global_norm = math.sqrt(sum(float((g**2).sum()) for g in gradients.values()))
        rate = learning_rate(self.config, self.updates)
        self.updates += 1
        corrected = rate * math.sqrt(1 - 0.999**self.updates) / (1 - 0.9**self.updates)
        with torch.no_grad():
            for name, g in clip(self.config, gradients).items():
                m, v = self.moments[name]
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                self.p[name] -= corrected * m / (v.sqrt() + 1e-7)
        return float(entropy.detach()), gradients, global_norm, rate
