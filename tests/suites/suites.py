# SPDX-License-Identifier: Apache-2.0
"""Test suites that nobody of this project wrote, which compare.py runs bare and recorded."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Suite:
    name: str
    about: str
    runner: str  # run_unittest.py or run_pytest.py
    tests: tuple  # modules, or files and folders within the sources
    part: tuple  # those of a run that takes seconds
    first: tuple = ()  # modules that are imported before
    # Folders of the sources for PYTHONPATH, arguments for pytest.
    paths: tuple = ()
    arguments: tuple = ()
    checkout: str = ""  # the repository, where no package has the tests: compare.py is told a folder
    modules: bool = True  # also with --modules
    unsteady: tuple = ()  # tests whose outcome depends on how fast threads are
    limit_s: int = 2400


# Python warns of a fork beside threads where the test's thread has not ended by then, which has no more to do.
RACES = ("test.test_fork1.ForkTest.test_threaded_import_lock_fork",)
CPYTHON = tuple("test.test_" + name for name in """
    monitoring sys_settrace sys_setprofile gc fork1 threading threading_local thread threadsignals signal subprocess
    traceback warnings generators coroutines asyncgen contextlib contextlib_async context exceptions except_star
    exception_group frame code code_module inspect dis pdb bdb cprofile profile trace tracemalloc weakref weakset
    finalization faulthandler atexit sys os posix site import runpy logging queue builtin descr functools types abc call
    funcattrs module type_cache opcache pickle copy copyreg cmd_line cmd_line_script pkgutil zipimport perf_profiler
    perfmaps wait3 wait4 select selectors mmap fcntl resource tempfile io socketserver ctypes unittest doctest
    dataclasses enum typing multiprocessing_main_handling concurrent_futures asyncio
    multiprocessing_fork multiprocessing_spawn multiprocessing_forkserver""".split())
# With a framework's module in the process, libprof observes; what is left out is about files or the command line.
OBSERVED = tuple("test.test_" + name for name in """
    monitoring sys_settrace sys_setprofile gc fork1 threading threading_local thread threadsignals signal subprocess
    traceback warnings generators coroutines asyncgen contextlib contextlib_async context exceptions except_star
    exception_group frame code inspect dis pdb bdb cprofile profile trace tracemalloc weakref weakset finalization
    faulthandler atexit sys os logging queue builtin functools types abc call funcattrs module type_cache opcache copy
    select tempfile io ctypes dataclasses enum concurrent_futures multiprocessing_fork""".split())

SUITES = (
    Suite("cpython", "CPython's own, without a framework", "run_unittest.py", CPYTHON,
          ("test.test_fork1", "test.test_sys_settrace", "test.test_warnings"), modules=False,
          unsteady=RACES),
    Suite("cpython-torch", "CPython's own, after import torch", "run_unittest.py", OBSERVED,
          ("test.test_monitoring", "test.test_sys_settrace", "test.test_sys_setprofile", "test.test_generators",
           "test.test_coroutines", "test.test_warnings", "test.test_traceback", "test.test_fork1",
           "test.test_cprofile"), first=("torch",), unsteady=RACES),
    Suite("ignite", "PyTorch-Ignite", "run_pytest.py",
          ("tests/ignite/base", "tests/ignite/engine", "tests/ignite/handlers", "tests/ignite/contrib/engines",
           "tests/ignite/metrics"),
          ("tests/ignite/base", "tests/ignite/engine/test_custom_events.py",
           "tests/ignite/engine/test_event_handlers.py", "tests/ignite/engine/test_memory_leaks.py",
           "tests/ignite/handlers/test_time_profilers.py"), paths=(".",),
          # A DataLoader forks beside a queue's thread of the epoch before, which may have ended by then or not.
          unsteady=("tests/ignite/engine/test_custom_events.py::"
                    "test_every_event_filter_with_engine_with_dataloader",)),
    Suite("accelerate", "Accelerate", "run_pytest.py", ("tests",),
          ("tests/test_optimizer.py", "tests/test_scheduler.py", "tests/test_hooks.py",
           "tests/test_kwargs_handlers.py", "tests/test_grad_sync.py"), paths=("src",),
          # The memory that the machine has left.
          unsteady=("tests/test_accelerator.py::AcceleratorTester::"
                    "test_free_memory_dereferences_prepared_components",)),
    Suite("skorch", "skorch", "run_pytest.py", ("skorch/tests",),
          ("skorch/tests/callbacks", "skorch/tests/test_toy.py"), paths=(".",)),
    Suite("optax", "Optax", "run_pytest.py", ("optax",), ("optax/transforms", "optax/schedules"),
          paths=(".",), arguments=("-o", "python_files=*_test.py"), modules=False),
    Suite("lightning", "PyTorch Lightning", "run_pytest.py",
          tuple(f"tests/tests_pytorch/{name}" for name in
                ("profilers", "loops", "core", "callbacks", "tuner", "trainer/optimization", "trainer/logging_",
                 "trainer/flags", "models/test_hooks.py", "utilities/test_combined_loader.py")),
          ("tests/tests_pytorch/profilers",), paths=("src", "tests"),
          checkout="Lightning-AI/pytorch-lightning"),
    Suite("lightning-gpu", "PyTorch Lightning on a GPU", "run_pytest.py",
          tuple(f"tests/tests_pytorch/{name}" for name in
                ("models/test_gpu.py", "accelerators/test_gpu.py", "callbacks/test_device_stats_monitor.py",
                 "plugins/precision", "trainer/optimization", "core")),
          ("tests/tests_pytorch/plugins/precision",), paths=("src", "tests"),
          checkout="Lightning-AI/pytorch-lightning"),
    Suite("cupy", "CuPy on a GPU", "run_pytest.py",
          ("tests/cupy_tests/cuda_tests", "tests/cupy_tests/core_tests/test_raw.py",
           "tests/cupy_tests/core_tests/test_elementwise.py"),
          ("tests/cupy_tests/cuda_tests/test_stream.py", "tests/cupy_tests/cuda_tests/test_memory.py"),
          checkout="cupy/cupy", modules=False),
)

# On a machine with a GPU the last two run by `compare.py --interpreter python3 --sources cupy=FOLDER cupy`, and NVIDIA's
# CUDA samples by programs.py.
