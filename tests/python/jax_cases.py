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


def counting():
    """Objects of the program's in annotations: which of their methods run, attributes included."""
    calls = []

    class Counting:
        def __getattribute__(self, name):
            calls.append(name)
            return object.__getattribute__(self, name)

        def __getattr__(self, name):
            calls.append(name)
            raise AttributeError(name)

    def special(name):
        original = getattr(object, name, None)

        def method(self, *arguments):
            calls.append(name)
            return NotImplemented if original is None else original(self, *arguments)

        return method

    for name in ("__eq__", "__hash__", "__repr__", "__format__", "__str__", "__bool__", "__len__", "__index__", "__int__",
                 "__float__", "__iter__", "__contains__", "__getitem__", "__bytes__", "__fspath__", "__instancecheck__"):
        setattr(Counting, name, special(name))

    class Name(str):
        def __str__(self):
            calls.append("str")
            return "other"

        def encode(self, *_):
            calls.append("encode")
            return b"other"

        def __eq__(self, other):
            calls.append("eq")
            return False

        def __hash__(self):
            calls.append("hash")
            return 7

        def startswith(self, *_):
            calls.append("startswith")
            return True

    class Number(int):
        def __str__(self):
            calls.append("number")
            return "8"

        __repr__ = __index__ = __int__ = __str__

    methods = {name: method for name, method in vars(Counting).items() if name not in ("__dict__", "__weakref__")}
    Annotation = type("Annotation", (TraceAnnotation,), methods)
    Step = type("Step", (StepTraceAnnotation,), methods)

    class Function(Counting):
        def __call__(self):
            return 1

    with TraceAnnotation(Name("plain"), of=Counting()), StepTraceAnnotation("numbered", step_num=Counting()):
        pass
    with StepTraceAnnotation("numbered", step_num=Number(3)), StepTraceAnnotation("numbered", step_num=5, of=Counting()):
        pass
    for make in (lambda: Annotation("derived"), lambda: Step("step", step_num=1)):
        made = make()
        del calls[:]
        type(made).__enter__(made)
        type(made).__exit__(made, None, None, None)
        print(type(made).__name__, calls)
    function = jax.profiler.annotate_function(Function(), name="callable")
    del calls[:]
    print(function(), calls)
    for of in range(2):
        del calls[:]
        (Annotation, Step)[of](Name("again"))
        print(of, calls)
    print(vars(TraceAnnotation("a")).keys() - {"_libprof_range"})


def unseen():
    """No function of libprof's runs in the program but after a compilation."""
    seen = set()

    def note(frame, *_):
        if frame.f_code.co_filename.startswith("<libprof/"):
            seen.add(frame.f_code.co_name)

    x = jnp.ones(3)
    for profile in (None, note):  # the first time, JAX imports and compiles
        sys.setprofile(profile)
        for number in range(3):
            with StepTraceAnnotation("train", step_num=number), TraceAnnotation("inner"):
                pass
        jax.make_jaxpr(lambda x: x * 2)(x)
        jax.jit(lambda x: x * 2).lower(x)
        sys.setprofile(None)
    print(sorted(seen))


def cyclic():
    """Objects in reference cycles after compilations without a collection."""
    import gc

    def compile_some():
        for number in range(3):
            jax.jit(lambda x, number=number: (jnp.sin(x) * number + jax.nn.softmax(x)).sum())(jnp.arange(8.0))

    compile_some()
    gc.disable()
    gc.collect()
    compile_some()
    print(gc.collect())
    gc.enable()


def limited():
    """A time limit, by a signal, that comes in the middle of annotations: how often it is lost."""
    import signal
    import time

    class TimeLimit(Exception):
        pass

    def on_alarm(*_):
        if state["armed"]:
            state["fired"] += 1
            raise TimeLimit

    state = {"armed": False, "fired": 0}
    reached = lost = 0
    signal.signal(signal.SIGALRM, on_alarm)
    until = time.monotonic() + 1
    while time.monotonic() < until or reached < 50:
        fired = state["fired"]
        try:
            try:
                state["armed"] = True
                signal.setitimer(signal.ITIMER_REAL, 0.0003 + reached % 97 * 0.00002)
                end = time.monotonic() + 1
                while time.monotonic() < end and state["fired"] == fired:
                    with TraceAnnotation("limited"):
                        sum(range(1000))  # no flood of ranges
                lost += state["fired"] != fired
            finally:
                state["armed"] = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeLimit:
            reached += 1
    print("lost", lost)
    with TraceAnnotation("after"):
        pass


kept = []


def memory():
    """Arrays of known sizes that are alive at the end, and one that is not."""
    import jax
    import jax.numpy as jnp

    with TraceAnnotation("makes arrays"):
        kept.append(jnp.zeros((1000, 100), jnp.float32))  # large
        kept.extend(jax.device_put(jnp.ones(2500, jnp.float32) * i) for i in range(3))  # three
        gone = jnp.zeros((3000, 100), jnp.float32)
        del gone
    function = jax.jit(lambda x: x * 3 + 1)
    kept.append(function(kept[0]))  # compiled
    kept.append(function)  # and with it the program


def out_of_memory():
    """Nobody catches the error."""
    import jax
    import jax.numpy as jnp

    kept.append(jnp.zeros((1000, 100), jnp.float32))  # large
    kept.append(jax.block_until_ready(jnp.zeros((1 << 20, 1 << 20), jnp.float32)))  # too large


for case in sys.argv[1:]:
    print("==", case)
    globals()[case]()
sys.exit(3)
