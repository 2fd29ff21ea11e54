#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small language model's training step in JAX, as flax and optax document it, with 30 steps.

    jax_program.py [--module linen|nnx] [--annotate] [--scopes]

--annotate puts jax.profiler.StepTraceAnnotation around each step and a TraceAnnotation around the batch; --scopes names
the optimizer's part by jax.named_scope. Prints the loss.
"""
import argparse
import contextlib

import jax
import jax.numpy as jnp
import optax

WIDTH, LAYERS, VOCABULARY, STEPS = 256, 4, 1000, 30


def linen_model():
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm()(x)
            x = x + nn.SelfAttention(num_heads=8, name="attn")(y)
            y = nn.LayerNorm()(x)
            return x + nn.Dense(WIDTH, name="down")(nn.gelu(nn.Dense(4 * WIDTH, name="up")(y)))

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(VOCABULARY, WIDTH)(tokens)
            for number in range(LAYERS):
                x = Block(name=f"layer_{number}")(x)
            return nn.Dense(VOCABULARY, name="head")(x)

    model = Model()
    tokens = jnp.zeros((16, 128), jnp.int32)
    return model.init(jax.random.PRNGKey(0), tokens), model.apply


def nnx_model():
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
            self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
            self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

        def __call__(self, x):
            return x + self.down(nnx.gelu(self.up(self.norm(x))))

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
            self.layers = nnx.List([Block(rngs) for _ in range(LAYERS)])
            self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

        def __call__(self, tokens):
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    graph, state = nnx.split(Model(nnx.Rngs(0)))
    return state, lambda weights, tokens: nnx.merge(graph, weights)(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--module", choices=("linen", "nnx"), default="linen")
    parser.add_argument("--annotate", action="store_true")
    parser.add_argument("--scopes", action="store_true")
    options = parser.parse_args()
    weights, apply = {"linen": linen_model, "nnx": nnx_model}[options.module]()
    optimizer = optax.adamw(1e-3)
    state = optimizer.init(weights)

    def loss_of(weights, tokens):
        logits = apply(weights, tokens)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()

    def scope(name):
        return jax.named_scope(name) if options.scopes else contextlib.nullcontext()

    def annotation(make):
        return make() if options.annotate else contextlib.nullcontext()

    @jax.jit
    def train_step(weights, state, tokens):
        loss, gradients = jax.value_and_grad(loss_of)(weights, tokens)
        with scope("optimizer"):
            updates, state = optimizer.update(gradients, state, weights)
            weights = optax.apply_updates(weights, updates)
        return weights, state, loss

    for number in range(STEPS):
        with annotation(lambda: jax.profiler.StepTraceAnnotation("train", step_num=number)):
            with annotation(lambda: jax.profiler.TraceAnnotation("batch")):
                tokens = jax.random.randint(jax.random.PRNGKey(number), (16, 128), 0, VOCABULARY)
            weights, state, loss = train_step(weights, state, tokens)
    print(f"loss {float(loss).hex()}")


if __name__ == "__main__":
    main()
