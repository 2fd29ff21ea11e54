# SPDX-License-Identifier: Apache-2.0
"""A few operators and their backward nodes, observed as PyTorch observes them."""
import contextlib
import threading

from ._C import RecordFunction, RecordScope

numbers = threading.local()


@contextlib.contextmanager
def observed(name, sequence=-1, scope=RecordScope.FUNCTION):
    function = RecordFunction(name, scope, sequence)
    try:
        yield
    finally:
        function.end()


def next_number():
    return getattr(numbers, "next", 0)


def make_node():
    numbers.next = next_number() + 1
    return numbers.next - 1


def linear():
    """Returns the numbers of the nodes it made: aten::t's and aten::addmm's."""
    with observed("aten::linear", next_number()):
        with observed("aten::t", next_number()):
            transposed = make_node()
            with observed("aten::transpose"):
                pass
        with observed("aten::addmm", next_number()):
            product = make_node()
    return [("TBackward0", transposed), ("AddmmBackward0", product)]


def detach():
    with observed("aten::detach"):
        with observed("detach"):
            pass


def backward(nodes):
    for name, number in reversed(nodes):
        with observed("autograd::engine::evaluate_function: " + name):
            with observed(name, number, RecordScope.BACKWARD_FUNCTION):
                with observed("aten::mm"):
                    pass
