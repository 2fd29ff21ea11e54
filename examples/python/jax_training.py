#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A jitted training step of JAX that is recorded by the program itself.

    python3 jax_training.py

JAX's annotations are ranges, and each StepTraceAnnotation is a step. On a GPU the kernels of the compiled step have the
names of JAX's scopes: attention, loss.
"""
import functools

import jax
import jax.numpy as jnp
import libprof

STEPS, BATCH, TOKENS, WIDTH = 10, 8, 32, 64


def loss_of(weights, x, y):
    with jax.named_scope("attention"):
        queries, keys, values = (x @ weights[name] for name in ("queries", "keys", "values"))
        x = jax.nn.softmax(queries @ keys.swapaxes(-1, -2) / WIDTH**0.5) @ values
    with jax.named_scope("loss"):
        return jnp.mean((x @ weights["out"] - y) ** 2)


@functools.partial(jax.jit, donate_argnums=0)
def train_step(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients), loss


def main():
    keys = jax.random.split(jax.random.key(1), 5)
    weights = {name: jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH**0.5
               for name, key in zip(("queries", "keys", "values", "out"), keys)}  # fmt: skip
    losses = []
    with libprof.recording() as run:
        for step in range(STEPS):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                with jax.profiler.TraceAnnotation("batch"):
                    x = jax.random.normal(jax.random.fold_in(keys[-1], step), (BATCH, TOKENS, WIDTH))
                weights, loss = train_step(weights, x, jnp.cumsum(x, 1) / TOKENS)
                losses.append(float(loss))

    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(run.capture.report())


if __name__ == "__main__":
    main()
