"""A headless Chromium that a test drives: DevTools protocol over a pipe.

One page at a time. All that a page says on its console, throws, or asks of
the network is kept in `said`, `thrown` and `requests`.
"""

import fcntl
import json
import os
import select
import subprocess
import tempfile
import time

PROGRAM = "chromium-headless-shell"


class Browser:
    def __init__(self):
        to_read, self.to_write = os.pipe()
        self.to_hear, from_write = os.pipe()
        # It wants 3 and 4, which ours may be.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, from_write)]
        os.close(to_read)
        os.close(from_write)
        self.profile = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {PROGRAM} --no-sandbox --disable-gpu"
             " --remote-debugging-pipe --hide-scrollbars"
             f" --user-data-dir={self.profile.name} 3<&{ends[0]} 4>&{ends[1]}"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in ends:
            os.close(end)
        self.buffer = b""
        self.next = 0
        self.session = None
        self.said, self.thrown, self.requests, self.events = [], [], [], []
        target = self.ask("Target.createTarget", url="about:blank")
        attached = self.ask("Target.attachToTarget", flatten=True,
                            targetId=target["targetId"])
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.profile.cleanup()

    def hear(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.to_hear], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.to_hear, 1 << 20)
            if not got:
                raise EOFError("the browser ended; is it able to run here?")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        method, told = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.said.append(told)
        elif method == "Log.entryAdded":
            self.said.append(told["entry"])
        elif method == "Runtime.exceptionThrown":
            self.thrown.append(told["exceptionDetails"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        if method:
            self.events.append(method)
        return message

    def ask(self, method, **params):
        self.next += 1
        wanted = self.next
        message = {"id": wanted, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.hear(deadline)
            if answer.get("id") != wanted:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def open(self, path):
        self.said, self.thrown, self.requests, self.events = [], [], [], []
        self.ask("Page.navigate", url="file://" + os.path.realpath(path))
        deadline = time.monotonic() + 60
        while "Page.loadEventFired" not in self.events:
            self.hear(deadline)

    def run(self, expression):
        """The value of a JavaScript expression, as JSON passes it."""
        done = self.ask("Runtime.evaluate", expression=expression,
                        returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def view(self, width, height, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.settle()

    def settle(self):
        self.run("new Promise((done) => requestAnimationFrame(() =>"
                 " requestAnimationFrame(() => done(1))))")

    def key(self, key, text=None):
        codes = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40, "Enter": 13, " ": 32}
        event = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        if text is None and len(key) == 1:
            text = key
        if text:
            event["text"] = text
        self.ask("Input.dispatchKeyEvent", type="keyDown", **event)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def mouse(self, kind, x, y, buttons=0):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons,
                 button="left" if kind != "mouseMoved" or buttons else "none",
                 clickCount=1 if kind != "mouseMoved" else 0)

    def box(self, selector):
        """Left, top, width and height in the window, scrolled into view."""
        self.run(f"document.querySelector({json.dumps(selector)})"
                 ".scrollIntoView({block: 'center'})")
        self.settle()
        return self.run(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")

    def shot(self, path):
        import base64
        size = self.run("[document.documentElement.clientWidth,"
                        " document.documentElement.scrollHeight]")
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": size[0],
                                 "height": size[1], "scale": 1})
        with open(path, "wb") as out:
            out.write(base64.b64decode(picture["data"]))
