# SPDX-License-Identifier: Apache-2.0
from torch import _C

_prepare_profiler = _C._autograd._prepare_profiler
_enable_profiler = _C._autograd._enable_profiler
_disable_profiler = _C._autograd._disable_profiler
_profiler_enabled = _C._autograd._profiler_enabled

from . import profiler  # noqa: E402, F401
