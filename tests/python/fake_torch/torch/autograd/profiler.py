# SPDX-License-Identifier: Apache-2.0
from torch import _C
from torch.autograd import _disable_profiler, _enable_profiler, _prepare_profiler


def config(state):
    return _C.ProfilerConfig(state, False, False, False, False, False, _C._ExperimentalConfig())


class record_function:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.record = _C.RecordFunction(self.name, _C.RecordScope.USER_SCOPE)
        return self

    def __exit__(self, *_):
        self.record.end()


class profile:
    state = _C.ProfilerState.KINETO

    def __init__(self, activities=(_C.ProfilerActivity.CPU,)):
        self.activities = set(activities)

    def __enter__(self):
        _prepare_profiler(config(self.state), self.activities)
        _enable_profiler(config(self.state), self.activities)
        return self

    def __exit__(self, *_):
        self.events = _disable_profiler()


class emit_nvtx(profile):
    state = _C.ProfilerState.NVTX
