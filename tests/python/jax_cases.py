# SPDX-License-Identifier: Apache-2.0
"""What a JAX program does with annotations. Prints what must not depend on whether a profiler observes it."""
import functools
import sys
import threading

import jax
import jax.numpy as jnp

TraceAnnotation, StepTraceAnnotation = jax.profiler.TraceAnnotation, jax.profiler.StepTraceAnnotation


def steps():
    add = jax.jit(lambda x: x + 1)
    x = jnp.ones(4)
    for number in range(3):
        with StepTraceAnnotation("train", step_num=number):
            with TraceAnnotation("batch"):
                x = add(x)
            with TraceAnnotation("update", of="weights") as annotation:
                print(type(annotation) is TraceAnnotation)
    print(x)


def decorated():
    @jax.profiler.annotate_function
    def plain():
        return 1

    @functools.partial(jax.profiler.annotate_function, name="named")
    def other():
        return plain() + 1

    print(other(), plain.__name__, other.__name__)


def derived():
    class Mine(TraceAnnotation):
        def __init__(self, number):
            super().__init__("mine")
            self.number = number

        def __enter__(self):
            print("enter", self.number)
            return super().__enter__()

        def __exit__(self, *raised):
            print("exit", raised[0])
            return super().__exit__(*raised)

    class MyStep(StepTraceAnnotation):
        pass

    with MyStep("mine", step_num=7), Mine(1), Mine(2) as inner:
        print(isinstance(inner, TraceAnnotation), Mine.__mro__[1:] == TraceAnnotation.__mro__)


def raising():
    try:
        with TraceAnnotation("raises"):
            raise KeyError("k")
    except KeyError as failure:
        print(repr(failure), failure.__traceback__.tb_next)
    for arguments in ((), (3,), ("a", "b")):
        try:
            TraceAnnotation(*arguments)
        except TypeError as failure:
            print(type(failure), str(failure))
    with TraceAnnotation("zero\0byte"), TraceAnnotation("höhe"):
        pass


def reused():
    annotation = TraceAnnotation("again")
    for _ in range(2):
        with annotation:
            pass
    with annotation:
        thread = threading.Thread(target=lambda: annotation.__exit__(None, None, None))
        annotation.__enter__()
        thread.start()
        thread.join()


def looked_at():
    print(StepTraceAnnotation.__mro__, TraceAnnotation.__name__, TraceAnnotation.__doc__)
    print(TraceAnnotation.__enter__.__name__, StepTraceAnnotation.__init__.__name__)


def trained():
    def loss(w, x):
        with jax.named_scope("up"):
            hidden = jnp.tanh(x @ w)
        return (hidden * jax.nn.softmax(hidden)).sum(axis=0).mean()

    @jax.jit
    def train_step(w, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        return w - 0.1 * gradient, value

    with TraceAnnotation("training"):
        print(train_step(jnp.ones((8, 8)), jnp.ones((4, 8)))[1])


def compiled():
    """Functions that are compiled once for each shape, one in another, by a thread, and in vain; JAX's own listeners."""
    import numpy as np

    events = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: events.append(name))

    @jax.jit
    def inner(x):
        return x * 2

    @jax.jit
    def outer(x):
        return inner(x) + inner(x * 3)

    @jax.jit
    def fails(x):
        return x.no_such_attribute

    for size in (3, 4, 3):
        print(outer(np.ones(size, np.float32)))
    for _ in range(2):
        try:
            fails(np.ones(3, np.float32))
        except AttributeError as failure:
            print(failure.args[0].split(chr(10))[0][:60])
    thread = threading.Thread(target=lambda: print(outer(np.ones(5, np.float32))))
    thread.start()
    thread.join()
    print(sorted(name for name in events if name.startswith("/jax/core/compile/")), outer._cache_size())


for case in sys.argv[1:]:
    print("==", case)
    globals()[case]()
sys.exit(3)
