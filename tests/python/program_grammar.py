# SPDX-License-Identifier: Apache-2.0
"""A random program of Python from a seed, by a grammar. Each part has random numbers of its own, so that a program
without some of its parts is otherwise the same.

    program_grammar.py SEED [PART...]      prints the program
"""
import random
import sys

HEAD = """\
from program_words import *
"""
TORCH_HEAD = """\
from program_torch_words import *
torch.manual_seed(0)
"""
DEPTH = 4
# Of program_torch_words.py.
NETS = ("sequential", "fails", "hooks", "raising hook", "normed", "shared", "block", "hostile", "own call",
        "checkpointed", "function")
OPTIMIZERS = ("hooked", "scheduled", "replaced", "copied", "pickled", "wrapped", "sgd", "adam", "hostile", "slotted",
              "duck", "failing", "lbfgs")


def indented(lines):
    return ["    " + line for line in lines]


class Grammar:
    """Statements as lists of lines. Each may use and change the local variable n, a number; `where` tells what may
    stand there: "loop", "generator", "function", "main thread", "first process", "profiler"."""

    def __init__(self, seed, part, has_torch):
        self.random = random.Random(f"{seed}.{part}")
        self.prefix, self.count, self.has_torch = f"p{part}", 0, has_torch
        self.left = 30  # statements

    def name(self, kind):
        self.count += 1
        return f"{self.prefix}_{kind}{self.count}"

    def tag(self):
        self.count += 1
        return repr(f"{self.prefix}.{self.count}")

    def number(self, low, high):
        return self.random.randint(low, high)

    def one_of(self, *values):
        return self.random.choice(values)

    def condition(self):
        return self.one_of(f"n % {self.number(2, 5)} == {self.number(0, 1)}", f"n > {self.number(1, 900)}", "True",
                           "n & 1")

    def error(self):
        return self.one_of("Odd", "Odd", "OddKey", "ValueError", "StopIteration", "OddBase", "GeneratorExit",
                           "KeyboardInterrupt")

    def body(self, depth, where, count=None):
        lines = []
        for _ in range(count or self.number(1, 3)):
            lines += self.statement(depth, where)
        return lines

    def statement(self, depth, where):
        self.left -= 1
        leaves = [(self.do_note, 4), (self.do_assign, 3), (self.do_raise, 2), (self.do_signal, 1), (self.do_collect, 1),
                  (self.do_kept, 1), (self.do_atexit, 0.3), (self.do_warn, 0.5), (self.do_traceback, 1),
                  (self.do_asyncio, 0.4), (self.do_all_calls, 0.3)]
        if "loop" in where:
            leaves.append((self.do_leave_loop, 1.5))
        if "generator" in where:
            leaves.append((self.do_yield, 5))
        if "function" in where:
            leaves.append((self.do_return, 0.7))
        trees = [(self.do_for, 3), (self.do_while, 2), (self.do_try, 5), (self.do_with, 2), (self.do_call, 3),
                 (self.do_generator, 3), (self.do_thread, 1), (self.do_if, 2), (self.do_observed, 1)]
        if "first process" in where:
            trees += [(self.do_fork, 1), (self.do_process, 0.1)]
        if "main thread" in where:
            trees += [(self.do_ticking, 0.5), (self.do_interrupted, 0.5)]
        if self.has_torch:
            leaves += [(self.do_net, 3), (self.do_function, 1), (self.do_profiler, 1), (self.do_copy, 1)]
            trees += [(self.do_training, 6), (self.do_loader, 3), (self.do_range, 3), (self.do_profiled, 1.5),
                      (self.do_modes, 1), (self.do_compiled, 0.04)]
        choices = leaves if depth <= 0 or self.left <= 0 else leaves[:3] + trees + leaves[3:]
        make, = self.random.choices([each for each, _ in choices], [weight for _, weight in choices])
        return make(depth - 1, where)

    # Python alone.

    def do_note(self, depth, where):
        return [f"note({self.tag()}, n)"]

    def do_assign(self, depth, where):
        return [f"n = (n * {self.number(2, 31)} + {self.number(0, 99)}) % 997"]

    def do_raise(self, depth, where):
        cause = self.one_of("", "", " from None", " from ValueError('cause')")
        return [f"if {self.condition()}:", f"    raise {self.error()}({self.tag()}){cause}"]

    def do_signal(self, depth, where):
        number = self.one_of("signal.SIGUSR1", "signal.SIGUSR2", "signal.SIGINT")
        if "main thread" not in where:
            return ["note('a handler belongs to the main thread')"]
        return [f"raised({number}, {self.one_of('None', 'None', self.error())})"]

    def do_collect(self, depth, where):
        return self.one_of(["gc.collect()"],
                           [f"dropped = Dropped({self.tag()})", "del dropped", "gc.collect()"],
                           [f"kept = Guard({self.tag()})",
                            f"weak = weakref.ref(kept, lambda _: note('gone', {self.tag()}))",
                            "del kept", "note(weak() is None)"],
                           [f"weakref.finalize(kept := Guard({self.tag()}), note, 'finalized')", "KEPT.append(kept)"])

    def do_kept(self, depth, where):
        return [f"KEPT.append({self.one_of('tree(3)', f'Guard({self.tag()})', 'lambda: n')})"]

    def do_atexit(self, depth, where):
        return [f"atexit.register({self.one_of('note', 'note', 'on_thread')}, "
                + self.one_of(f"{self.tag()})", f"'at exit', {self.tag()})")]

    def do_warn(self, depth, where):
        return [f"warnings.warn({self.tag()}, {self.one_of('UserWarning', 'DeprecationWarning')}, stacklevel="
                f"{self.number(1, 3)})"]

    def do_traceback(self, depth, where):
        return ["if sys.exc_info()[0]:", "    traceback.print_exc()", "else:",
                f"    note({self.tag()}, [frame.name for frame in traceback.extract_stack()][-6:])"]

    def do_asyncio(self, depth, where):
        return ["try:", "    n = asyncio.run(gathers(n))", "except RuntimeError as failure:", "    note(failure)"]

    def do_all_calls(self, depth, where):
        name = self.name("called")
        call = "make_net('block')(torch.ones(2, 4)).sum().backward()" if self.has_torch else "list(tree(3))"
        return [f"def {name}(n):", f"    {call}", "    return n", f"n = all_calls({name}, n)"]

    def do_leave_loop(self, depth, where):
        return [f"if {self.condition()}:", f"    {self.one_of('break', 'continue')}"]

    def do_yield(self, depth, where):
        return self.one_of(["yield n"], ["n = (yield n) or n + 1"], ["yield from tree(2)"])

    def do_return(self, depth, where):
        return [f"if {self.condition()}:", f"    return {self.one_of('n', '-n', 'n + 1')}"]

    def do_for(self, depth, where):
        over = self.one_of(f"range({self.number(1, 4)})", "tree(2)", "itertools.islice(itertools.count(n), 3)")
        name = self.name("k")
        lines = [f"for {name} in {over}:", f"    n += {name}", *indented(self.body(depth, where | {"loop"}))]
        return lines + (["else:", *indented(self.body(0, where, 1))] if self.number(0, 3) == 0 else [])

    def do_while(self, depth, where):
        name = self.name("w")
        return [f"{name} = {self.number(1, 3)}", f"while {name}:", f"    {name} -= 1",
                *indented(self.body(depth, where | {"loop"}))]

    def do_if(self, depth, where):
        return [f"if {self.condition()}:", *indented(self.body(depth, where)),
                "else:", *indented(self.body(depth, where))]

    def do_try(self, depth, where):
        lines = ["try:", *indented(self.body(depth, where)), *indented(self.do_raise(0, where))]
        shape = self.number(0, 3)
        if shape:
            kinds = self.one_of("Odd", "Exception", "(Odd, KeyError)", "BaseException", "ValueError")
            name = self.name("failure")
            lines += [f"except {kinds} as {name}:"]
            if kinds == "BaseException":
                lines += ["    if isinstance(" + name + ", SystemExit) or os.getpid() != MAIN[0]:", "        raise"]
            lines += [f"    note({self.tag()}, type({name}).__name__)", *indented(self.body(depth - 1, where, 1))]
            if self.number(0, 2) == 0:
                lines += ["    " + self.one_of("raise", f"raise Odd({self.tag()})", f"raise ValueError from {name}")]
            if self.number(0, 4) == 0:
                lines += ["else:", *indented(self.body(depth - 1, where, 1))]
        if shape in (0, 3):
            lines += ["finally:", f"    note({self.tag()}, 'finally')",
                      *indented(self.body(depth - 1, where - {"loop", "function"}, 1))]
        return lines

    def do_with(self, depth, where):
        context = self.one_of(f"Guard({self.tag()})", f"Guard({self.tag()}, swallows=True)",
                              f"Guard({self.tag()}, raises={self.error()})", f"guard({self.tag()})",
                              "contextlib.suppress(Odd)", "contextlib.ExitStack()")
        return [f"with {context}:", *indented(self.body(depth, where))]

    def function(self, depth, where, name):
        """Its lines; a function of n that gives n."""
        where = (where - {"loop", "generator"}) | {"function"}
        return [f"def {name}(n):", *indented(self.body(depth, where)), "    return n"]

    def do_call(self, depth, where):
        name = self.name("function")
        lines = self.function(depth, where, name)
        if self.number(0, 3) == 0:
            lines.insert(0, "@(lambda function: lambda n: function(n) + 1)")
        call = self.one_of(f"n = {name}(n)", f"n = sum(map({name}, [n, n + 1]))",
                           f"n = sum([{name}(each) for each in range(2)])", f"n = functools.partial({name}, n)()")
        return lines + [call]

    def do_generator(self, depth, where):
        name, it = self.name("generator"), self.name("it")
        inner = (where - {"loop"}) | {"generator", "function"}
        lines = [f"def {name}(n):", *indented(self.body(depth, inner)), "    yield n",
                 *indented(self.body(depth - 1, inner, 1))]
        lines += [f"{it} = {name}(n)"]
        use = self.number(0, 6)
        if use == 0:
            return lines + [f"note({self.tag()}, list({it}))"]
        if use == 1:
            return lines + [f"note({self.tag()}, next({it}, None))", f"{it}.close()"]
        if use == 2:
            return lines + [f"note({self.tag()}, next({it}, None))", "try:", f"    {it}.throw(Odd({self.tag()}))",
                            "except Exception as failure:", "    note(type(failure).__name__)"]
        if use == 3:
            return lines + [f"KEPT.append({it})", f"note({self.tag()}, next({it}, None))"]
        if use == 4:
            return lines + [f"note({self.tag()}, next({it}, None))", "try:", f"    note({it}.send(n))",
                            "except StopIteration as end:", "    note(end.value)"]
        if use == 5:
            return lines + [f"for {it}_k in {it}:", f"    note({self.tag()}, {it}_k)",
                            *indented(self.body(depth - 1, where | {"loop"}, 1)), "    break"]
        return lines + [f"note({self.tag()}, next({it}, None))", f"del {it}"]

    def do_thread(self, depth, where):
        name = self.name("thread")
        lines = self.function(depth, where - {"main thread", "first process", "profiler"}, name)
        many = 1
        if not any(word in " ".join(lines) for word in ("show(", "note(", "print_exc", "torch", "warn", "raise")):
            many = 3
        return lines + [f"on_thread({name}, n, {many})"]

    def do_fork(self, depth, where):
        name = self.name("child")
        lines = self.function(depth, where - {"first process", "profiler"}, name)
        end = self.one_of("_exit", "exit", "text", "signal", "raise")
        return lines + [f"fork({name}, {end!r}, n)"]

    def do_process(self, depth, where):
        name = self.name("child")
        lines = self.function(depth, where - {"first process", "profiler"}, name)
        return lines + [f"process({name}, {self.one_of('fork', 'fork', 'spawn')!r}, n)"]

    def do_ticking(self, depth, where):
        return [f"ticking({self.quiet()}, {self.number(1, 5)})"]

    def do_interrupted(self, depth, where):
        return [f"interrupted({self.quiet()}, {self.one_of(0.001, 0.003, 0.01)})"]

    def quiet(self):
        """An expression of a function that prints nothing, runs nothing for long, and may be left anywhere."""
        simple = ["lambda: list(tree(5))", "lambda: sorted(map(str, range(50)))"]
        if self.has_torch:
            simple += ["lambda net=make_net('sequential'): net(torch.ones(2, 4)).sum().backward()",
                       "lambda: train(make_net('block'), 'sgd', 2)", "lambda: train(make_net('normed'), 'adam', 2)",
                       "lambda: list(make_loader('rows', 4, 0))", "lambda: train(make_net('checkpointed'), 'sgd', 1)",
                       "lambda: make_optimizer('copied', make_net('shared'))"]
        return self.random.choice(simple)

    def do_observed(self, depth, where):
        how = self.one_of("settrace", "setprofile", *"01234", "5")
        return [f"with observed({how!r}):", *indented(self.body(depth, where))]

    # PyTorch.

    def net(self):
        return (f"make_net({self.random.choice(NETS)!r}, "
                f"{self.number(0, 9)})")

    def do_net(self, depth, where):
        net = self.net()
        return self.one_of([f"show({self.tag()}, {net}(torch.ones(2, 4) * n / 997))"],
                           [f"show({self.tag()}, {net}.eval()(torch.ones(2, 4)))"],
                           [f"KEPT.append({net})", "KEPT[-1](torch.ones(1, 4)).sum().backward()"],
                           [f"show({self.tag()}, torch.func.vmap({net}.eval())(torch.ones(3, 4)))"],
                           ["note([type(each).__name__ for each in Generating()(torch.ones(4))])"])

    def do_function(self, depth, where):
        return ["x = torch.ones(3, requires_grad=True)",
                *self.one_of([], [f"x.register_hook(lambda g: note({self.tag()}, g.shape))"]),
                f"(Scaled.apply(x) * {self.one_of(0.5, 2)}).sum().backward()", f"show({self.tag()}, x.grad)"]

    def do_profiler(self, depth, where):
        if "profiler" not in where:
            return [f"note({self.tag()})"]
        return [self.one_of("Profiler.begin('plain')", "Profiler.begin('stack')", "Profiler.begin('shapes')",
                            "Profiler.begin('steps')", "Profiler.step()", "Profiler.end()", "Profiler.end()")]

    def do_copy(self, depth, where):
        how = self.one_of("deepcopy", "pickle", "save")
        return [f"show({self.tag()}, copies(make_net({self.one_of('block', 'sequential', 'shared')!r}), {how!r})"
                "(torch.ones(2, 4)))"]

    def do_training(self, depth, where):
        net, opt, k = self.name("net"), self.name("opt"), self.name("k")
        kind = self.random.choice(OPTIMIZERS)
        where_in = where | {"loop"}
        forward = f"{net}(torch.ones(2, 4) * ({k} + 1))"
        lines = [f"{net} = {self.net()}", f"{opt} = make_optimizer({kind!r}, {net})",
                 f"for {k} in range({self.number(1, 4)}):"]
        step = []
        if kind == "lbfgs":
            step += ["def closure():", f"    {opt}.zero_grad()", f"    loss = {forward}.sum() ** 2",
                     "    loss.backward()",
                     *indented(self.body(0, where - {"loop", "generator", "function", "profiler"}, 1)),
                     "    return loss",
                     f"note({self.tag()}, 'step')", f"{opt}.step(closure)"]
            # The closure has n of its own.
            step.insert(1, f"    n = {k}")
        else:
            step += [f"{opt}.zero_grad()"]
            if self.number(0, 2) == 0:
                step += self.body(depth - 2, where_in, 1)
            step += [f"loss = ({forward} ** 2).sum()"]
            if self.number(0, 2) == 0:
                step += self.body(depth - 2, where_in, 1)
            step += [self.one_of("loss.backward()", "loss.backward()", "torch.autograd.backward(loss)",
                                 "loss.backward(retain_graph=True)")]
            step += [f"{opt}.step()", f"show({self.tag()}, loss)"]
            if kind == "scheduled":
                step += ["KEPT[-1].step()" if depth < 2 else "note('no schedule')"]
            if self.number(0, 1) == 0:
                step += self.body(depth - 1, where_in, 1)
        if self.number(0, 2) == 0:
            step = ["try:", *indented(step), "except Odd as failure:", f"    note({self.tag()}, failure.args)"]
        return lines + indented(step)

    def do_loader(self, depth, where):
        k, kind = self.name("batch"), self.one_of("rows", "rows", "fails", "stream")
        workers = 2 if self.number(0, 9) == 0 and "first process" in where else 0
        loader = f"make_loader({kind!r}, {self.number(2, 9)}, {workers})"
        if self.number(0, 4) == 0:
            return [f"{k} = iter({loader})", f"show({self.tag()}, next({k}))",
                    self.one_of(f"del {k}", f"KEPT.append({k})" if not workers else f"del {k}")]
        return [f"for {k} in {loader}:", f"    show({self.tag()}, {k})",
                *indented(self.body(depth, where | {"loop"}, 1))]

    def do_range(self, depth, where):
        name = self.one_of("range", "step", "forward", "work")
        if self.number(0, 3) == 0:
            kept = self.name("range")
            return [f"{kept} = Range({name!r}).__enter__()",
                    *self.body(0, where - {"loop", "function", "generator"}, 1),
                    self.one_of(f"KEPT.append({kept})", f"{kept}.__exit__(None, None, None)")]
        return [f"with Range({name!r}):", *indented(self.body(depth, where))]

    def do_profiled(self, depth, where):
        if "profiler" not in where:
            return self.do_range(depth, where)
        return [f"with profiled({self.one_of('plain', 'stack', 'shapes', 'steps')!r}):",
                *indented(self.body(depth, where))]

    def do_modes(self, depth, where):
        mode = self.one_of("torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()",
                           "torch.autograd.set_detect_anomaly(True, check_nan=False)",
                           "torch.autograd.graph.save_on_cpu()", "torch.autocast('cpu')")
        return [f"with {mode}:", *indented(self.body(depth, where))]

    def do_compiled(self, depth, where):
        net = f"make_net({self.one_of('block', 'sequential', 'hooks')!r}).eval()"
        return [f"compiled = torch.compile({net}, backend='eager')", f"show({self.tag()}, compiled(torch.ones(2, 4)))"]


EVERYWHERE = frozenset({"main thread", "first process", "profiler"})


def parts_of(seed):
    return list(range(random.Random(f"{seed}").randint(2, 5)))


def has_torch(seed):
    return seed % 4 != 0


def ending(seed):
    chosen = random.Random(f"{seed} end")
    return chosen.choice(["", "", "sys.exit(3)", "sys.exit('text at the end')", "raise Odd('the end')", "os._exit(5)",
                          "KEPT.clear()", "raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGTERM)",
                          "threading.Thread(target=lambda: note('last thread')).start()",
                          "atexit.register(lambda: note('the end'))"])


def program(seed, parts=None):
    lines = [HEAD + (TORCH_HEAD if has_torch(seed) else "")]
    made = parts_of(seed) if parts is None else parts
    for part in made:
        grammar = Grammar(seed, part, has_torch(seed))
        lines += grammar.function(DEPTH, EVERYWHERE, f"part{part}")
    lines += ["", "if __name__ == '__main__':", "    MAIN[0] = os.getpid()"]
    lines += [f"    run_part({part}, part{part})" for part in made]
    lines += ["    Profiler.end()"] if has_torch(seed) else []  # PyTorch dies of one that is on at the end
    lines += ["    note('the parts end')", "    " + (ending(seed) or "pass")]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(program(int(sys.argv[1]), [int(each) for each in sys.argv[2:]] or None), end="")
