# SPDX-License-Identifier: Apache-2.0
"""Runs modules of unittest's tests in this process, one after another, and records each test.

    run_unittest.py RECORD FOLDERS [--first MODULE]... MODULE...

FOLDERS are those in which files that tests leave are counted, with colons between. Modules of the package `test` are
run without network, sound and windows.
"""
import importlib
import importlib.util
import sys
import traceback
import unittest
import warnings

RESOURCES = ["cpu", "subprocess", "decimal", "tzdata"]


class Result(unittest.TestResult):
    def __init__(self, record):
        super().__init__()
        self.record, self.running = record, False

    def startTest(self, test):
        self.testsRun += 1
        self.running = True
        self.record.begin(test.id())
        self.watched = warnings.catch_warnings(record=True)
        self.seen = self.watched.__enter__()
        warnings.simplefilter("always")

    def stopTest(self, test):
        self.watched.__exit__(None, None, None)
        self.record.warnings += [[each.category.__name__, str(each.message)] for each in self.seen]
        self.running = False
        self.record.end()
        self.record.written()

    def outcome(self, test, name, text=""):
        if self.running:
            self.record.note(name, text)
        else:  # of a class or a module
            self.of_module(test.id(), name, text)

    def of_module(self, module, name, text):
        self.record.begin(module)
        self.record.note(name, text)
        self.record.end()
        self.record.written()

    def addSuccess(self, test):
        self.outcome(test, "passed")

    def addError(self, test, err):
        self.outcome(test, "error", last_line(err))

    def addFailure(self, test, err):
        self.outcome(test, "failed", last_line(err))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.outcome(test, "failed", last_line(err))

    def addSkip(self, test, reason):
        self.outcome(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.outcome(test, "failed as expected", last_line(err))

    def addUnexpectedSuccess(self, test):
        self.outcome(test, "passed unexpectedly")


def last_line(err):
    return traceback.format_exception_only(*err[:2])[-1]


def main():
    path, folders, *names = sys.argv[1:]
    while names and names[0] == "--first":
        importlib.import_module(names[1])
        names = names[2:]
    del sys.argv[1:]
    from record import Record  # not above: processes that a test starts import this module
    del sys.path[0]  # the tests do not see this folder
    if any(name.startswith("test.") for name in names):
        from test import support
        support.use_resources, support.verbose = RESOURCES, False
    record = Record(path, folders.split(":"))
    result = Result(record)
    for name in names:
        if name.startswith("test.") and importlib.util.find_spec(name) is None:
            continue  # of another version
        try:
            tests = unittest.TestLoader().loadTestsFromName(name)
        except unittest.SkipTest as reason:
            result.of_module(name, "skipped", str(reason))
        except Exception as failure:
            result.of_module(name, "error", last_line((type(failure), failure)))
        else:
            tests.run(result)
    record.write({"end": True})


if __name__ == "__main__":
    main()
