"""The program of docs/FeedToBroker.md, as it stands there, brings a feed to the real NATS of Debian: nothing lost, nothing twice, in order.

    python broker_test.py

The feed is a small one of this file that follows the contract of docs/Webhooks.md.
"""

import asyncio
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import parse_qs, urlsplit

import nats

from rig import ROOT, free_port, until


class Feed:
    """Events with a cursor; a page has three, and `wait` answers once there is one."""

    def __init__(self):
        self.events, self.asked, self.refuses = [], [], 0
        feed = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                address = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(address.query).items()}
                assert address.path == "/admin/v1/apps/app-1/feed" and self.headers["authorization"] == "Bearer bfy_1", self.path
                after = int(query.get("after", 0))
                feed.asked.append(after)
                deadline = time.monotonic() + min(float(query["wait"]), 1)
                while after >= len(feed.events) and time.monotonic() < deadline:
                    time.sleep(0.02)
                if feed.refuses:
                    feed.refuses -= 1
                    return self.send_error(503)
                page = feed.events[after:after + 3]
                text = json.dumps({"events": page, "next": str(after + len(page))}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # A reader that was killed is no news.
        server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def add(self, count):
        for number in range(len(self.events) + 1, len(self.events) + count + 1):
            self.events.append({
                "id": f"evt_{number}", "cursor": str(number), "type": "device.gone" if number % 2 else "push.settled",
                "timestamp": "2026-11-28T10:00:00.000Z", "data": {"application": "app-1", "number": number}})


async def quiet(_):
    """The test asks again."""


class Programs:
    def __init__(self, folder, feed):
        self.folder, self.port = folder, free_port()
        document = ROOT / "docs" / "FeedToBroker.md"
        document = document if document.exists() else ROOT / "docs" / "Webhooks.md"
        broker = next(code for code in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL) if "jetstream" in code)
        (folder / "broker.py").write_text(broker.replace("asyncio.sleep(5)", "asyncio.sleep(0.2)"))
        self.url = f"nats://127.0.0.1:{self.port}"
        self.environment = {**os.environ, "B": feed.url, "APP": "app-1", "KEY": "bfy_1", "NATS": self.url}
        self.running = []

    def start(self, *command):
        log = open(self.folder / "programs.log", "a")
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=subprocess.STDOUT)
        self.running.append(process)
        return process

    def nats(self):
        return self.start("nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder / "jetstream"))

    def broker(self):
        return self.start(sys.executable, "broker.py")

    def end(self):
        for process in self.running:
            process.kill()
            process.wait()

    async def messages(self):
        connection = await nats.connect(self.url, allow_reconnect=False, error_cb=quiet)
        try:
            stream = connection.jetstream()
            count = (await stream.stream_info("BELFRY")).state.messages
            found = [await stream.get_msg("BELFRY", number) for number in range(1, count + 1)]
            return [(message.subject, json.loads(message.data)) for message in found]
        finally:
            await connection.close()

    def stored(self):
        try:
            return asyncio.run(self.messages())
        except (OSError, nats.errors.Error):
            return []


def holds(programs, feed):
    expected = [(f"belfry.{event['type']}", event) for event in feed.events]
    until(lambda: len(programs.stored()) >= len(expected), f"the broker has {len(programs.stored())} of {len(expected)}", 30)
    assert programs.stored() == expected, programs.stored()


def main():
    with tempfile.TemporaryDirectory(prefix="belfry-broker-") as name:
        folder, feed = pathlib.Path(name), Feed()
        programs = Programs(folder, feed)
        cursor = folder / "belfry.cursor"
        try:
            server = programs.nats()
            until(lambda: "Server is ready" in (folder / "programs.log").read_text(), "NATS does not start")
            feed.add(7)
            broker = programs.broker()
            holds(programs, feed)
            until(lambda: cursor.read_text() == "7", "the cursor is not kept")

            # As if it had died after the acknowledgement and before it stored the cursor.
            broker.kill()
            broker.wait()
            cursor.write_text("4")
            feed.add(4)
            feed.refuses = 2
            broker = programs.broker()
            holds(programs, feed)

            # The broker is killed and comes back while events wait.
            until(lambda: cursor.read_text() == "11", "the cursor is not kept")
            server.kill()
            server.wait()
            feed.add(5)
            time.sleep(1)
            assert cursor.read_text() == "11", "the cursor went on without an acknowledgement"
            programs.nats()
            holds(programs, feed)
            assert broker.poll() is None, "the program ended"
        except BaseException:
            print((folder / "programs.log").read_text()[-3000:], feed.asked[-5:], file=sys.stderr)
            raise
        finally:
            programs.end()
    print("broker: 3 passed, 0 failed")


main()
