# SPDX-License-Identifier: Apache-2.0
from torch._C import ProfilerActivity  # noqa: F401
from torch.autograd.profiler import profile, record_function  # noqa: F401
