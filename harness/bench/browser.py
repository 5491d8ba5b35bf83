"""A headless Chromium, driven over its DevTools protocol through a pipe: no port, no driver, nothing left behind.

What a page does wrong is collected while it is open: console errors, exceptions, and every request that is not for the
page itself.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAM = "chromium"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--mute-audio",
    "--remote-debugging-pipe",
    "--password-store=basic",
)
_INLINE = ("data:", "blob:")


class BrowserError(RuntimeError):
    """The browser, or a script in the page, did not do as it was told."""


def missing() -> str:
    """Why there is no browser; empty if there is one."""
    return "" if shutil.which(PROGRAM) else "there is no chromium (apt-get install --no-install-recommends chromium)"


class Browser:
    """One browser with one page."""

    def __init__(self, width: int = 1440, height: int = 1000, flags: Sequence[str] = ()) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._number = 0
        self._rest = b""
        self._events: list[str] = []
        self._session = ""
        self._home = tempfile.TemporaryDirectory(prefix="tutti-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def wire() -> None:  # the protocol's pipes are 3 and 4
            spare = os.dup(theirs_out), os.dup(theirs_in)
            os.dup2(spare[1], 3)
            os.dup2(spare[0], 4)

        self._process = subprocess.Popen(
            [PROGRAM, *_FLAGS, *flags, f"--user-data-dir={self._home.name}", f"--window-size={width},{height}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=wire,
            start_new_session=True,
            env={**os.environ, "HOME": self._home.name},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Performance.enable", timeDomain="threadTicks")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and all that it started."""
        os.close(self._out)
        os.close(self._in)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._home.cleanup()

    # the protocol

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its answer."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while number not in self._answers:
            self._read()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, timeout_s: float = 60.0) -> None:
        if not select.select([self._in], [], [], timeout_s)[0]:
            raise BrowserError(f"the browser said nothing for {timeout_s:g} s")
        data = os.read(self._in, 1 << 20)
        if not data:
            raise BrowserError("the browser has ended")
        *messages, self._rest = (self._rest + data).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._event(message["method"], message.get("params", {}))

    def _event(self, method: str, about: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            detail = about["exceptionDetails"]
            self.errors.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(_INLINE):
            self.requests.append(about["request"]["url"])

    # a page

    def open(self, path: Path) -> None:
        """Open a page from the disk and wait until it says that it is ready."""
        self.errors.clear()
        self.requests.clear()
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._read()
        state = self.until("document.documentElement.dataset.state || ''", ("ready", "failed"))
        if state == "failed":
            raise BrowserError(f"the page failed: {self.errors}")

    def until(self, expression: str, wanted: Sequence[Any], timeout_s: float = 60.0) -> Any:
        """Look, frame by frame, until an expression has one of the wanted values."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            value = self.run(f"new Promise((done) => requestAnimationFrame(() => done({expression})))")
            if value in wanted:
                return value
        raise BrowserError(f"{expression} was never one of {wanted}; errors: {self.errors}")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; of a promise, what it promised."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise BrowserError(detail.get("exception", {}).get("description") or detail["text"])
        return answer["result"].get("value")

    def main_thread_ms(self) -> float:
        """What the page's main thread has used of the processor so far."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in metrics if one["name"] == "ThreadTime"))

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the pointer, and press its button."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """One key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def dark(self, dark: bool) -> None:
        """What the system prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, box: dict[str, float] | None = None, *, whole: bool = False) -> bytes:
        """The page as PNG."""
        clip = {"clip": {**box, "scale": 1}} if box else {}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        return base64.b64decode(answer["data"])

    def print(self) -> bytes:
        """The page as PDF, as it says it wants to be printed."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(answer["data"])
