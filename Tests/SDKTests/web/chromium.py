"""Headless Chromium, driven by its DevTools protocol.

Source: https://chromedevtools.github.io/devtools-protocol/
"""

import itertools
import json
import os
import subprocess
import time

from websockets.sync.client import connect


class Chromium:
    def __init__(self, binary, folder):
        profile = folder / "chromium"
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.log = open(folder / "chromium.log", "w")
        self.process = subprocess.Popen(
            [binary, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-first-run",
             "--disable-gpu", *sandbox, "about:blank"], stdout=self.log, stderr=subprocess.STDOUT)
        port, path = self._address(profile / "DevToolsActivePort")
        self.socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None)
        self.ids, self.events = itertools.count(1), []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.page = self.attach(target)

    def _address(self, file):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            lines = file.read_text().split() if file.exists() else []
            if len(lines) == 2:
                return lines
            time.sleep(0.05)
        raise RuntimeError("Chromium does not say where it listens")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)

    def attach(self, target):
        return self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def ask(self, method, session=None, **parameters):
        """Sends a command and waits for its answer; events that come meanwhile are kept."""
        number = next(self.ids)
        command = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self.socket.send(json.dumps(command))
        while True:
            said = json.loads(self.socket.recv(60))
            if said.get("id") == number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return said["result"]
            self.events.append(said)

    def open(self, url):
        self.ask("Page.navigate", self.page, url=url)

    def script(self, text, session=None):
        """Runs in the page, or in a worker, as by a gesture of its user; may await."""
        answer = self.ask(
            "Runtime.evaluate", session or self.page, expression=f"(async () => {{ {text} }})()", awaitPromise=True,
            returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def grant(self, origin, *permissions):
        self.ask("Browser.grantPermissions", origin=origin, permissions=list(permissions))

    def worker(self, origin):
        """A session in the site's service worker, which is started where it has ended meanwhile, and runs on for the session."""
        self.ask("ServiceWorker.enable", self.page)
        self.ask("ServiceWorker.startWorker", self.page, scopeURL=f"{origin}/")
        deadline = time.monotonic() + 30
        while not (targets := self.ask("Target.getTargets", filter=[{"type": "service_worker"}])["targetInfos"]):
            assert time.monotonic() < deadline, "the service worker does not start"
            time.sleep(0.05)
        return self.attach(targets[0]["targetId"])

    def deliver(self, origin, payload):
        """Hands a payload to the site's service worker, as the push service of the browser's vendor would."""
        self.ask("ServiceWorker.enable", self.page)
        deadline = time.monotonic() + 30
        while not (registrations := self._registrations(origin)):
            assert time.monotonic() < deadline, "the browser tells of no service worker"
            time.sleep(0.05)
            self.ask("Browser.getVersion")
        self.ask(
            "ServiceWorker.deliverPushMessage", self.page, origin=origin, registrationId=registrations[-1],
            data=json.dumps(payload))

    def _registrations(self, origin):
        return [
            registration["registrationId"]
            for event in self.events if event.get("method") == "ServiceWorker.workerRegistrationUpdated"
            for registration in event["params"]["registrations"] if registration["scopeURL"].startswith(origin)]
