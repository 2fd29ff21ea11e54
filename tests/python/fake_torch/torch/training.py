# SPDX-License-Identifier: Apache-2.0
"""What a training loop calls of PyTorch 2.11, by the names and through the functions by which it is observed. What is
called by *arguments is there called in that way or is a builtin, which matters to Python 3.11 (prof_watch.py)."""
import functools
import sys
import types

from torch.autograd.profiler import record_function


def package(name, **contents):
    module = types.ModuleType("torch." + name)
    vars(module).update(contents)
    sys.modules[module.__name__] = module
    return module


def _log_api_usage_once(name):
    pass


class Module:
    def __init__(self):
        _log_api_usage_once(*["python.nn_module"])
        self.training = True

    def _apply(self, function):
        return self

    def _wrapped_call_impl(self, *arguments):
        return self.forward(*arguments)

    __call__ = _wrapped_call_impl


class Optimizer:
    def __init__(self):
        _log_api_usage_once(*["python.optimizer"])
        if not hasattr(type(self).step, "hooked"):
            type(self).step = self.profile_hook_step(type(self).step)
            type(self).step.hooked = True

    @staticmethod
    def profile_hook_step(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with record_function("Optimizer.step#" + type(args[0]).__name__):
                return function(*args, **kwargs)

        return wrapper

    def zero_grad(self):
        with record_function("Optimizer.zero_grad#" + type(self).__name__):
            pass


class GradScaler:
    def step(self, optimizer):
        return optimizer.step()

    def unscale_(self, optimizer):
        pass

    def update(self):
        pass


class _BaseDataLoaderIter:
    def __init__(self, batches):
        self._dataset_kind = self._num_yielded = 0
        self._dataset, self._index_sampler, self._sampler_iter = batches, batches, iter(batches)

    def __next__(self):
        batch = next(self._sampler_iter)
        self._num_yielded += 1
        return batch

    def __iter__(self):
        return self


class Sampler:
    def __iter__(self):
        return iter(())


def _worker_loop():
    pass


def _engine_run_backward(work):
    return work()


def backward(work=lambda: None):
    return sys.modules["torch.autograd"]._engine_run_backward(*[work])


def clip_grad(*_):
    pass
