# SPDX-License-Identifier: Apache-2.0
"""What a test did, one line of JSON for its beginning and one for its end. For run_unittest.py and run_pytest.py, which
run in the process that is compared. A line is whole in the file before the next test begins, so a process that dies
leaves the name of the test in which it did."""
import json
import os
import time

FEW = 5000  # entries of the folders that are looked at: a suite that leaves more is compared by these
PATIENCE_S = 0.3  # for children that are about to end


class Record:
    def __init__(self, path, folders):
        self.path, self.folders, self.process = path, folders, os.getpid()
        self.seen = {}
        with open("/proc/self/maps") as maps:
            self.write({"libprof": "libprof.so" in maps.read()})
        self.files, self.children = self.files_now(), children()

    def begin(self, test):
        if os.getpid() != self.process:
            return
        self.seen[test] = self.seen.get(test, 0) + 1
        self.test = test if self.seen[test] == 1 else f"{test} #{self.seen[test]}"
        self.write({"begin": self.test})
        self.begun = time.monotonic()
        self.notes, self.warnings = [], []

    def note(self, outcome, text=""):
        """An outcome of the test in progress, with the last line of what explains it."""
        lines = text.strip().splitlines()
        self.notes.append([outcome, lines[-1] if lines else ""])

    def end(self):
        """Files and processes are what they are now; the test's own warnings may still come, until written()."""
        if os.getpid() != self.process:
            return
        seconds = round(time.monotonic() - self.begun, 3)
        files, running = self.files_now(), children()
        patience = time.monotonic() + PATIENCE_S
        while set(running) - set(self.children) and time.monotonic() < patience:
            time.sleep(0.01)
            running = children()
        self.ended = {"test": self.test, "seconds": seconds, "notes": self.notes, "warnings": self.warnings,
                      "files": sorted(files - self.files),
                      "processes": sorted(name for child, name in running.items() if child not in self.children)}
        self.files, self.children = files, running

    def written(self):
        if os.getpid() == self.process and self.ended:
            self.write(self.ended)
            self.ended = None

    ended = None

    def write(self, line):
        # Not kept open: tests count the process' files.
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def files_now(self):
        found, folders = set(), list(self.folders)
        while folders and len(found) < FEW:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        found.add(entry.path)
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
            except OSError:
                pass
        return found


def children():
    """Names of this process' children, by their numbers."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                numbers = file.read().split()
        except OSError:
            continue
        for number in numbers:
            try:
                with open(f"/proc/{number}/comm") as file:
                    found[number] = file.read().strip()
            except OSError:
                pass
    return found
