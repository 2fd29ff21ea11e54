# SPDX-License-Identifier: Apache-2.0
"""Runs pytest in this process, and records each test.

    run_pytest.py RECORD FOLDERS [--first MODULE]... ARGUMENT...

FOLDERS are those in which files that tests leave are counted, with colons between; ARGUMENTs are pytest's.
"""
import importlib
import sys


class Plugin:
    def __init__(self, record):
        self.record = record

    def pytest_runtest_logstart(self, nodeid):
        self.record.written()  # the one before has all its warnings by now
        self.record.begin(nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            text = ""
            if report.longrepr is not None:
                crash = getattr(report.longrepr, "reprcrash", None)
                text = crash.message if crash else str(report.longrepr[-1] if isinstance(report.longrepr, tuple)
                                                       else report.longrepr)
            name = report.outcome + (" as expected" if hasattr(report, "wasxfail") else "")
            self.record.note(name if report.when == "call" else f"{report.when} {name}", text)

    def pytest_runtest_logfinish(self, nodeid):
        self.record.end()

    def pytest_warning_recorded(self, warning_message, when):
        if when == "runtest":
            self.record.warnings.append([warning_message.category.__name__, str(warning_message.message)])

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.record.begin(report.nodeid)
            self.record.note(f"collection {report.outcome}", str(report.longrepr))
            self.record.end()
            self.record.written()

    def pytest_sessionfinish(self):
        self.record.written()


def main():
    path, folders, *arguments = sys.argv[1:]
    while arguments and arguments[0] == "--first":
        importlib.import_module(arguments[1])
        arguments = arguments[2:]
    del sys.argv[1:]
    import pytest
    from record import Record  # not above: processes that a test starts import this module
    del sys.path[0]  # the tests do not see this folder
    record = Record(path, folders.split(":"))
    pytest.main(["--continue-on-collection-errors", "-p", "no:cacheprovider", *arguments], plugins=[Plugin(record)])
    record.write({"end": True})


if __name__ == "__main__":
    main()
