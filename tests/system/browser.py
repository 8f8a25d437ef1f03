# SPDX-License-Identifier: MIT
"""A real browser without a screen: Chromium, driven through chromedriver."""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.request


def is_there():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    """Opens files of this machine in windows of any width, and says what it made of them."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="jobmeter-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        self.session = None

    def __enter__(self):
        self.url = f"http://127.0.0.1:{self._read_port()}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--no-first-run", f"--user-data-dir={self.profile.name}"]
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{answer['sessionId']}"
        return self

    def __exit__(self, *exception):
        try:
            if self.session:
                self._ask("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()

    def _read_port(self):
        said = ""
        for line in self.driver.stdout:
            said += line
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError(f"chromedriver did not start: {said}")

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def tell(self, command, **parameters):
        """A command of the DevTools protocol."""
        return self._ask("POST", f"{self.session}/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def open(self, path, width, is_phone=False, is_dark=False):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=is_phone)
        self.tell("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        self._ask("POST", f"{self.session}/url", {"url": pathlib.Path(path).resolve().as_uri()})

    def evaluate(self, script):
        """What `return ...` gives."""
        return self._ask("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def complaints(self):
        """What stands in the console since it was asked last."""
        return [entry["message"] for entry in
                self._ask("POST", f"{self.session}/se/log", {"type": "browser"})]

    def screenshot(self, path, width, height):
        """The upper left part of the page."""
        shot = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def print(self):
        """The page on paper, as PDF."""
        return base64.b64decode(self.tell("Page.printToPDF", printBackground=True)["data"])
