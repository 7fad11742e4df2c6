"""Belfry with a simulator of APNs, and a recorder between it and a peer: what the tests of this folder share."""

import http.client
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what, seconds=60):
    """The first value of the condition that is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"after {seconds} s: {what}")


def call(method, url, body=None, token=None):
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {url}: {error.code} {error.read().decode()}") from None
    return json.loads(text) if text else None


class Recorder:
    """Hands requests on to Belfry and keeps both sides."""

    def __init__(self, url):
        self.exchanges = []
        recorder, target = self, url.removeprefix("http://")

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                onward = http.client.HTTPConnection(target, timeout=60)
                onward.request(self.command, self.path, body, dict(self.headers.items()))
                answer = onward.getresponse()
                text = answer.read()
                onward.close()
                recorder.exchanges.append({
                    "method": self.command, "path": self.path, "headers": list(self.headers.items()), "body": body.decode("latin-1"),
                    "status": answer.status, "answer": text.decode()})
                self.send_response(answer.status)
                self.send_header("content-type", answer.getheader("content-type", "application/json"))
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = forward

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def bodies(self):
        return [json.loads(exchange["body"].encode("latin-1")) for exchange in self.exchanges]


class Rig:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.processes = binary, pathlib.Path(folder), []
        self.server = None
        log = self.start(
            "simulate", [binary, "simulate", "apns", "--port", "0", "--control-port", "0", "--ca-out", "ca.pem", "--key-out", "key.p8",
                         "--ledger", "payloads"])
        until(lambda: "create " in log.read_text(), "the simulator does not start")
        said = dict(re.findall(r"^([\w-]+) (\S+)$", log.read_text(), re.M))
        self.control = f"http://127.0.0.1:{said['control-port']}"
        self.server = Belfry(binary, self.folder)
        self.app = self.server.admin("POST", "apps", {"name": "Chat"})["app_uuid"]
        self.platform = self.server.admin("POST", f"apps/{self.app}/platforms", {
            "type": "ios", "name": "iPhone", "mode": "development", "credentials": {
                "apns_key": (self.folder / "key.p8").read_text(), "key_id": said["key-id"], "team_id": said["team-id"],
                "topic": "org.example.app", "endpoint": f"https://localhost:{said['port']}",
                "trust_root": (self.folder / "ca.pem").read_text()}})["platform_uuid"]
        self.recorder = Recorder(self.server.url)

    def start(self, name, command, **more):
        """Starts a program in the folder, and answers with its log."""
        log = self.folder / f"{name}.log"
        with open(log, "w") as output:
            self.processes.append(subprocess.Popen(command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, **more))
        return log

    def belfry(self, *arguments):
        """What a command prints as JSON."""
        done = subprocess.run(
            [self.binary, *arguments, "--json"], env=self.server.environment, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def device(self, token, **more):
        return self.server.admin("POST", f"apps/{self.app}/devices", {
            "platform_uuid": self.platform, "registration_token": token, **more})

    def payload(self, token):
        """The last payload that the simulator got for a token, or None."""
        try:
            return json.loads(call("GET", f"{self.control}/ledger/tokens/{token}")["lastRequest"]["payload"])
        except AssertionError:
            return None

    def end(self):
        if self.server:
            self.server.stop()
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
