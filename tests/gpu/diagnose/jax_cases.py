# SPDX-License-Identifier: Apache-2.0
"""Training steps in JAX with one flaw each.

    jax_cases.py OUT ROUNDS
"""

import itertools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from rounds import Case, Rounds, busy

import libprof

HAS_GPU = jax.default_backend() == "gpu"
SHRINK = 1 if HAS_GPU else 32
MB = 2**20 // (1 if HAS_GPU else 1024)


def make_train(precision=None):
    def loss(weights, x):
        for w in weights:
            x = jax.nn.relu(jnp.dot(x, w, precision=precision))
        return jnp.mean(jnp.square(x))

    @jax.jit
    def train(weights, x):
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return value, [w - (1e-6 * g).astype(w.dtype) for w, g in zip(weights, gradients)]

    return train


class Model:
    def __init__(self, batch=4096, width=4096, dtype=jnp.bfloat16, precision=None):
        batch, width = batch // SHRINK, width // SHRINK
        keys = jax.random.split(jax.random.PRNGKey(0), 5)
        self.weights = [0.01 * jax.random.normal(key, (width, width), dtype) for key in keys[:4]]
        self.x = jax.random.normal(keys[4], (batch, width), dtype)
        self.function = make_train(precision)

    def train(self):
        loss, self.weights = self.function(self.weights, self.x)
        Limiter.latest = loss
        return loss


class Limiter:
    """Waits for the work of the step before the latest."""

    latest = None
    before = None

    def __call__(self):
        if Limiter.before is not None:
            Limiter.before.block_until_ready()
        Limiter.before = Limiter.latest


class Cases:
    def __init__(self):
        self.model = Model()

    def clean(self):
        return Case("clean", [], self.model.train, forbidden=["*"])

    def host(self, ms, work, name):
        def step():
            self.model.train()
            with libprof.range("flaw"):
                work(ms)

        return Case(f"{name} {ms} ms", ["host_code"], step, self.model.train, place="flaw")

    def item(self, ms):
        model = Model(16384)

        def step(waiting):
            loss = model.train()
            if waiting:
                float(loss)
            with libprof.range("prepare"):
                busy(ms)

        return Case(f"float(loss), then {ms} ms of host code", ["synchronization"], lambda: step(True),
                    lambda: step(False))

    def copies(self, megabytes):
        model = Model(megabytes * 128)
        batch = np.asarray(model.x)
        on_gpu = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        pinned = jax.device_put(batch, on_gpu.with_memory_kind("pinned_host"))

        def step(source):
            model.x = jax.device_put(source, on_gpu)
            model.train()

        return Case(f"batch of {megabytes} MB from NumPy", ["pageable_copies"], lambda: step(batch),
                    lambda: step(pinned))

    def pieces(self, count):
        parts = [np.ones(1000, np.float32) for _ in range(count)]
        whole = np.ones(1000 * count, np.float32)

        def step(sources):
            for source in sources:
                jax.device_put(source)
            self.model.train()

        # Most of device_put is Python.
        return Case(f"{count} small copies", ["small_copies", "host_code"], lambda: step(parts), lambda: step([whole]))

    def tiny(self, count):
        values = jnp.ones(256)

        def work():
            x = values
            for _ in range(count):
                x = x + 1
            return x

        once = jax.jit(lambda x: jax.lax.fori_loop(0, count, lambda _, y: y + 1, x))

        def step(do):
            with libprof.range("small"):
                do()
            self.model.train()

        return Case(f"{count} operations without jit", ["launch_bound"], lambda: step(work),
                    lambda: step(lambda: once(values)))

    def recompiled(self, depth):
        @jax.jit
        def function(x):
            for _ in range(depth):
                x = jax.nn.gelu(x) * 1.01 + x.mean()
            return x

        data = np.ones((4096, 64), np.float32)
        sizes = itertools.count(64)
        usual = jax.device_put(data[:2048])

        def step(value):
            function(value)
            self.model.train()

        return Case(f"new shape each step, depth {depth}", ["compilation"], lambda: step(data[: next(sizes)]),
                    lambda: step(usual), steps=6, turns=2, before=2)

    def precision(self, batch):
        exact = Model(batch, 2048, jnp.float32, "highest")
        fast = Model(batch, 2048, jnp.float32, "default")
        return Case(f"FP32, batch {batch}", ["precision"], exact.train, fast.train)

    def hidden_sleep(self):
        model = Model(16384)

        def step():
            model.train()
            with libprof.range("flaw"):
                time.sleep(2e-3)

        return Case("decoy: sleep 2 ms that the GPU hides", [], step, forbidden=["host_code"])

    def list(self):
        return [self.clean,
                *(lambda ms=ms: self.host(ms, lambda length: time.sleep(length / 1e3), "sleep") for ms in (5, 10)),
                *(lambda ms=ms: self.host(ms, busy, "busy Python") for ms in (5, 10)),
                *(lambda ms=ms: self.item(ms) for ms in (2, 5)),
                *(lambda size=size: self.copies(size) for size in (32, 128)),
                *(lambda count=count: self.pieces(count) for count in (64, 256)),
                *(lambda count=count: self.tiny(count) for count in (200, 800)),
                *(lambda depth=depth: self.recompiled(depth) for depth in (1, 8)),
                *(lambda batch=batch: self.precision(batch) for batch in (2048, 4096)),
                self.hidden_sleep]


def main():
    out, rounds = sys.argv[1:]

    def finish():
        (jnp.zeros(1) + 1).block_until_ready()

    Rounds("jax", out, int(rounds), finish, Limiter()).run_all(Cases().list())


if __name__ == "__main__":
    main()
