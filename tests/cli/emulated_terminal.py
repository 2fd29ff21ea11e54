# SPDX-License-Identifier: Apache-2.0
"""Commands on a terminal that pyte emulates, and the table of the first screen as somebody reads it there."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from decimal import Decimal

import pyte

NUMBER = r"\d[\d,]*(?:\.\d+)?"


def number(text):
    return Decimal(text.replace(",", ""))


class Shown:
    """What a command has left on a terminal. `raw`: the bytes it has written, `rows`: the terminal's, each a list of
    cells, of which a wide character has two."""

    def __init__(self, raw, status, columns, lines):
        self.raw, self.status, self.columns, self.lines = raw, status, columns, lines
        self.cursor, self.rows = self.emulate(columns, lines)
        self.text = ["".join(row).rstrip() for row in self.rows]

    def emulate(self, columns, lines):
        screen = pyte.Screen(columns, lines)
        pyte.ByteStream(screen).feed(self.raw)
        rows = [[screen.buffer[y][x].data for x in range(columns)] for y in range(lines)]
        return screen.cursor.y, rows

    def on_large_terminal(self):
        """The same bytes where no line wraps and nothing scrolls."""
        most = self.raw.count(b"\n") + 2
        _, rows = self.emulate(4 * self.columns + 1000, max(most, self.lines))
        text = ["".join(row).rstrip() for row in rows]
        while text and not text[-1]:
            text.pop()
        return text

    def line_of(self, pattern):
        return next((line for line in self.text if re.match(pattern, line)), None)

    def __str__(self):
        return f"{self.columns}x{self.lines}, status {self.status}\n" + "\n".join(f"|{line}" for line in self.text)


def run_on_terminal(command, columns, lines, environment, cwd=None, timeout_s=120):
    """`raw` ends where the last program has closed the terminal. A command that waits for a key is a TimeoutError."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=cwd, env=environment,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(follower)
    raw, end = b"", time.monotonic() + timeout_s
    try:
        while True:
            if not select.select([leader], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"{command} does not end; it has written {raw[-2000:]!r}")
            try:
                raw += os.read(leader, 1 << 16)
            except OSError:  # EIO: nobody has the other end any more
                break
        return Shown(raw, process.wait(timeout=timeout_s), columns, lines)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(leader)


class Table:
    """The table of one screen, read by the columns in which its sum stands. A cell is a number, or None if blank."""

    BUSY = {"busy", "comm", "copies", "computing", "communication"}
    BESIDE = {"time", "%", "CPU", "waits"}

    def __init__(self, shown, corner=r"(us|ms|s) (a step|in all)", last=r"whole (step|recording)"):
        text = shown.text
        at = next(i for i, line in enumerate(text) if re.match(corner, line))
        end = next(i for i in range(at, len(text)) if re.match(last, text[i]))
        self.unit = text[at].split()[0]
        bar = re.compile(r" {2}[█░#.]{2,}$")
        name_cells = len(re.match(last, text[end])[0])
        ends = self.ends_of(bar.sub("", text[end]), name_cells)
        self.columns = [self.title_at(shown.rows[at], a, b) for a, b in zip([name_cells, *ends], ends)]
        self.rows = [self.row_of(shown.rows[i], ends) for i in range(at + 1, end + 1)]
        self.sum = self.rows.pop()

    @staticmethod
    def ends_of(line, name_cells):
        """Where the numbers of the sum end; a percentage is one with its sign."""
        return [match.end() for match in re.compile(rf"(?<= )({NUMBER})( %)?(?= |$)").finditer(line, name_cells)]

    @staticmethod
    def title_at(row, begin, end):
        """The title that ends where the numbers do; of the column of percentages there is none."""
        if row[end - 1] == " ":
            return "%"
        words = "".join(row[begin:end])
        return re.split(r" {2,}", words.strip())[-1]

    def row_of(self, row, ends):
        cells, begin = {}, None
        for index, (title, end) in enumerate(zip(self.columns, ends)):
            from_ = end
            while from_ > 0 and not (row[from_ - 1] == " " and (from_ < 2 or row[from_ - 2] == " " or row[from_] != "%")):
                from_ -= 1
            text = "".join(row[from_:end])
            is_number = re.fullmatch(rf"({NUMBER})( %)?", text)
            if text and not is_number:
                raise AssertionError(f"{text!r} in column {title}: {''.join(row)}")
            cells[title] = number(is_number[1]) if is_number else None
            if index == 0:
                begin = from_
        name = "".join(row[:begin]).rstrip()
        return name, cells

    def outermost(self):
        return [(name, cells) for name, cells in self.rows if not name.startswith("  ")]

    def parts(self):
        """The columns that a row's time consists of."""
        return [title for title in self.columns if title not in self.BESIDE]

    def idle(self):
        return [title for title in self.parts() if title not in self.BUSY]
