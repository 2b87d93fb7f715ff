"""peers_jax.py jit|vmap: headlab's models and training step in JAX, float32, one thread. See serve().

One jit of the whole step, its state donated, ahead of time; with vmap over models that have their own parameters,
moments and tokens. Of what one would write this was the fastest or as fast: products of heads brought side by side
rather than einsum across them, a gather of embeddings rather than a one-hot product (1.05 to 1.2 times as fast), the
variance about the mean rather than by squares, 256-bit vectors rather than 512 (the same). XLA makes as many threads
as there are cores to run on when it starts: one, as all is pinned to one; it flushes denormals by itself. nap and non
are the paper's equations over N x N weights; their form linear in N is headlab's own and no peer's.
"""

import functools
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import peers_cell as setting  # noqa: E402

MODELS = 4  # that vmap trains at once


def dense(p, name, x):
    return x @ p[f"{name}.weight"] + p[f"{name}.bias"]


def norm(p, name, x):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    scale = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + setting.NORM_EPSILON)
    return centred * scale * p[f"{name}.gain"] + p[f"{name}.bias"]


def gelu(x):
    return jax.nn.gelu(x, approximate=True)


def weights(architecture, p, layer, q, k):
    """(B, M, N, N) of query i over keys j."""
    width, length = q.shape[-1], q.shape[-2]
    logits = q @ k.swapaxes(-1, -2)
    if architecture == "non":
        return logits * (width * length) ** -0.5
    if architecture != "nap":
        return jax.nn.softmax(logits * width**-0.5)
    centred = logits - logits.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    deviation = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    gain, bias = (p[f"{layer}.nap.{part}"][:, None, None] for part in ("gain", "bias"))
    return centred * (gain / (deviation + setting.ATTENTION_EPSILON)) + bias


def attention(architecture, p, layer, x):
    n, d = x.shape[-2:]
    qkv = dense(p, f"{layer}.qkv", x).reshape(-1, n, 3, setting.HEADS, d // setting.HEADS)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    heads = weights(architecture, p, layer, q, k) @ v
    return heads.swapaxes(1, 2).reshape(x.shape)


def seen(architecture, p, layer, x):
    if architecture == "sum":
        return x.sum(1, keepdims=True)
    if architecture == "max":
        return x.max(1, keepdims=True)
    heads = attention(architecture, p, layer, x)
    if architecture in ("mte", "nap"):
        heads = norm(p, f"{layer}.attention_norm", heads)
    return dense(p, f"{layer}.mix", heads if architecture == "bert" else gelu(heads))


def layer_output(architecture, p, layer, x):
    others = seen(architecture, p, layer, x)
    if architecture == "bert":
        e = norm(p, f"{layer}.mix_norm", x + others)
        hidden = gelu(dense(p, f"{layer}.hidden", e))
        return norm(p, f"{layer}.output_norm", e + dense(p, f"{layer}.output", hidden))
    e = x + norm(p, f"{layer}.mix_norm", others)
    hidden = gelu(norm(p, f"{layer}.hidden_norm", dense(p, f"{layer}.hidden", e)))
    return e + norm(p, f"{layer}.output_norm", dense(p, f"{layer}.output", hidden))


def loss(architecture, p, tokens, labels):
    x = p["embedding.token"][tokens] + p["embedding.position"]
    for k in range(setting.LAYERS):
        x = layer_output(architecture, p, f"layer.{k}", x)
    logits = jax.nn.log_softmax(dense(p, "readout", x)[..., 0])
    return -jnp.take_along_axis(logits, labels[:, None], 1).mean()


def clipped(name, gradient):
    """To norm 1; query, key and value are variables of their own."""
    if ".qkv." in name:
        return jnp.concatenate([clipped("", part) for part in jnp.split(gradient, 3, -1)], -1)
    return gradient * jnp.minimum(1, setting.CLIP / jnp.sqrt(jnp.square(gradient).sum()))


def step(architecture, state, tokens, labels):
    """The state after an update, and the loss before it."""
    p, first, second, t = state
    found, gradients = jax.value_and_grad(functools.partial(loss, architecture))(p, tokens, labels)
    if architecture == "bert":
        gradients = {name: clipped(name, g) for name, g in gradients.items()}
    t, (beta1, beta2) = t + 1, setting.BETAS
    rate = setting.RATE * jnp.sqrt(1 - beta2**t) / (1 - beta1**t)
    first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, gradients)
    second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, gradients)
    p = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + setting.ADAM_EPSILON), p, first, second)
    return (p, first, second, t), found


def fused(parameters):
    """Query, key and value as one matrix."""
    parts = ("query", "key", "value")
    kept = {name: value for name, value in parameters.items() if not any(f".{part}." in name for part in parts)}
    for name in parameters:
        if ".query." in name:
            values = [parameters[name.replace("query", part)] for part in parts]
            kept[name.replace("query", "qkv")] = jnp.concatenate(values, -1)
    return kept


class Training:
    def __init__(self, cell, models):
        parameters, tokens, labels = setting.start(cell)
        one_step, self.models = functools.partial(step, cell["architecture"]), models
        parameters = fused(parameters)
        moments = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
        self.state, self.batch = (parameters, *moments, jnp.float32(0)), (tokens, labels)
        if models > 1:
            one_step = jax.vmap(one_step)
            self.state, self.batch = jax.tree.map(lambda x: jnp.stack([x] * models), (self.state, self.batch))
        self.state, self.batch = jax.tree.map(jnp.array, (self.state, self.batch))
        self.step = jax.jit(one_step, donate_argnums=0).lower(self.state, *self.batch).compile()

    def run(self, steps):
        losses = []
        for _ in range(steps):
            self.state, found = self.step(self.state, *self.batch)
            losses.append(found)
        jax.block_until_ready((self.state, losses))
        return [found.max() for found in losses]


if __name__ == "__main__":
    setting.serve(lambda cell: Training(cell, MODELS if sys.argv[1] == "vmap" else 1))
