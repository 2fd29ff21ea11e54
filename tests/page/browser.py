# SPDX-License-Identifier: Apache-2.0
"""A real browser without a window, driven by WebDriver BiDi over one socket.

Chromium is started by Debian's chromedriver, Firefox listens itself: it needs no driver. Both speak the same protocol, so
that a test is written once. What the page logs, and each request that it makes, is kept and can be looked at.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import websocket

SECONDS_TO_START = 60
SECONDS_TO_ANSWER = 60

KEYS = {
    "Backspace": "\ue003",
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Space": " ",
}


class PageError(Exception):
    """The page threw while a script of the test ran in it."""


def available() -> list[str]:
    """The browsers that this machine has."""
    found = []
    if shutil.which("chromium") and shutil.which("chromedriver"):
        found.append("chromium")
    if shutil.which("firefox-esr") or shutil.which("firefox"):
        found.append("firefox")
    return found


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Browser:
    """One browser with one tab."""

    def __init__(self, name: str, width: int = 1440, height: int = 900) -> None:
        self.name = name
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._next = 0
        self._home = tempfile.mkdtemp(prefix="libprof-browser-")
        self._process: subprocess.Popen[bytes] | None = None
        self._log = open(Path(self._home) / "log", "wb")  # noqa: SIM115
        try:
            self._socket = self._start_chromium() if name == "chromium" else self._start_firefox()
            self.tab = self._ask("browsingContext.getTree", {})["contexts"][0]["context"]
            if name == "firefox":  # its first tab never has the focus
                self.tab = self._ask("browsingContext.create", {"type": "tab"})["context"]
            self._ask("session.subscribe", {"events": ["log.entryAdded", "network.beforeRequestSent"]})
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, command: list[str]) -> None:
        environment = dict(os.environ, HOME=self._home, MOZ_HEADLESS="1", XDG_CACHE_HOME=self._home)
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment
        )

    def _start_chromium(self) -> websocket.WebSocket:
        port = _free_port()
        self._run([shutil.which("chromedriver") or "chromedriver", f"--port={port}"])
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
        arguments += ["--force-device-scale-factor=1", "--disable-background-networking", "--disable-component-update"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        wanted = {
            "webSocketUrl": True,
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
        }
        body = json.dumps({"capabilities": {"alwaysMatch": wanted}}).encode()
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{port}/session", body)
                with urllib.request.urlopen(request, timeout=SECONDS_TO_START) as answer:
                    address = json.load(answer)["value"]["capabilities"]["webSocketUrl"]
                return websocket.create_connection(address, timeout=SECONDS_TO_ANSWER, suppress_origin=True)
            except ConnectionError:
                self._retry(deadline)
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionError):
                    raise
                self._retry(deadline)

    def _start_firefox(self) -> websocket.WebSocket:
        port = _free_port()
        profile = Path(self._home) / "profile"
        profile.mkdir()
        settings = {
            "app.normandy.enabled": False,
            "app.update.disabledForTesting": True,
            "browser.shell.checkDefaultBrowser": False,
            "browser.startup.homepage_override.mstone": "ignore",
            "datareporting.policy.dataSubmissionEnabled": False,
            "focusmanager.testmode": True,  # elements have focus although the window is none
            "layout.css.prefers-color-scheme.content-override": 1,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "remote.active-protocols": 1,
            "services.settings.server": "data:,",
            "toolkit.telemetry.reportingpolicy.firstRun": False,
        }
        lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in settings.items()]
        (profile / "user.js").write_text("".join(lines))
        firefox = shutil.which("firefox-esr") or shutil.which("firefox") or "firefox"
        self._run([firefox, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", str(port)])
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                address = f"ws://127.0.0.1:{port}/session"
                connection = websocket.create_connection(address, timeout=SECONDS_TO_ANSWER, suppress_origin=True)
                break
            except (ConnectionError, websocket.WebSocketException):
                self._retry(deadline)
        self._socket = connection
        self._ask("session.new", {"capabilities": {}})
        return connection

    def _retry(self, deadline: float) -> None:
        if time.monotonic() > deadline or (self._process and self._process.poll() is not None):
            raise TimeoutError((Path(self._home) / "log").read_text(errors="replace")[-2000:])
        time.sleep(0.1)

    def close(self) -> None:
        """Ends the browser, and removes what it wrote."""
        if hasattr(self, "_socket"):
            try:
                self._ask("session.end" if self.name == "chromium" else "browser.close", {})
                self._socket.close()
            except (OSError, RuntimeError, websocket.WebSocketException):
                pass
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def _note(self, event: dict[str, Any]) -> None:
        values = event["params"]
        if event["method"] == "log.entryAdded" and values["level"] in ("error", "warn"):
            self.messages.append(str(values.get("text")))
        elif event["method"] == "network.beforeRequestSent":
            self.requests.append(values["request"]["url"])

    def _ask(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        number = self._next
        self._socket.send(json.dumps({"id": number, "method": method, "params": values}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("type") == "event":
                self._note(answer)
            elif answer.get("id") == number:
                if answer.get("type") == "error":
                    raise RuntimeError(f"{method}: {answer.get('error')}: {answer.get('message')}")
                return dict(answer["result"])

    def resize(self, width: int, height: int) -> None:
        """Makes the part of the window that shows the page this large."""
        size = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", {"context": self.tab, "viewport": size})

    def open(self, address: str) -> None:
        """Loads the page, and forgets what earlier ones have logged and requested."""
        self._ask("browsingContext.navigate", {"context": self.tab, "url": "about:blank", "wait": "complete"})
        self.messages.clear()
        self.requests.clear()
        self._ask("browsingContext.navigate", {"context": self.tab, "url": address, "wait": "complete"})

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a function, which may await, returns in the page; arguments are its $0, $1 and so on."""
        names = ", ".join(f"${i}" for i in range(len(arguments)))
        given = ", ".join(json.dumps(argument) for argument in arguments)
        whole = f"(async ({names}) => JSON.stringify(await (async () => {{ {script} }})()) ?? 'null')({given})"
        target = {"context": self.tab}
        answer = self._ask("script.evaluate", {"expression": whole, "target": target, "awaitPromise": True})
        if answer["type"] == "exception":
            raise PageError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def press(self, *keys: str, shift: bool = False, control: bool = False) -> None:
        """Presses keys, by the names of KEYS or as characters."""
        held = (["\ue008"] if shift else []) + (["\ue009"] if control else [])
        actions = [{"type": "keyDown", "value": key} for key in held]
        for key in keys:
            for character in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": character}, {"type": "keyUp", "value": character}]
        actions += [{"type": "keyUp", "value": key} for key in held]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("input.performActions", {"context": self.tab, "actions": [source]})

    def point(self, x: float, y: float, *more: tuple[float, float], press: bool = True, control: bool = False) -> None:
        """Moves the mouse to a place in the window, presses the button there, and drags to the others."""
        actions: list[dict[str, Any]] = [{"type": "pointerMove", "x": int(x), "y": int(y)}]
        if press:
            actions.append({"type": "pointerDown", "button": 0})
            for to in more:
                actions.append({"type": "pointerMove", "x": int(to[0]), "y": int(to[1]), "duration": 50})
            actions.append({"type": "pointerUp", "button": 0})
        sources = [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]
        self._ask("input.performActions", {"context": self.tab, "actions": sources})

    def click(self, selector: str) -> None:
        """Clicks the middle of the first element that the selector finds, after scrolling to it."""
        place = self.run(
            "const e = document.querySelector($0); if (!e) throw new Error('no ' + $0);"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.left + r.width / 2, r.top + r.height / 2]",
            selector,
        )
        self.point(*place)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """A picture of what the window shows, or of the whole page."""
        values = {"context": self.tab, "origin": "document" if whole else "viewport"}
        picture = self._ask("browsingContext.captureScreenshot", values)["data"]
        path.write_bytes(base64.b64decode(picture))

    def print_page(self, path: Path) -> None:
        """The page as a PDF, as it would be printed."""
        path.write_bytes(base64.b64decode(self._ask("browsingContext.print", {"context": self.tab, "background": True})["data"]))
