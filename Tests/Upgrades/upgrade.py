"""Upgrades an old belfry to a new one while apps register and back ends push, and goes back.

    python3 Tests/Upgrades/upgrade.py OLD NEW

On SQLite the server is stopped and the other started on its data; on PostgreSQL two nodes are replaced one after the other. Requests that find no
server are repeated at the other node, or after a moment, with the same idempotency key. At the end every device that was acknowledged is there,
every push that was accepted is settled, all its devices were accepted, and the simulator was told nothing twice.
"""

import http.client
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "Documents"))

from fill import Node, call
from postgres import Postgres
from workspace import Belfry, Workspace, free_port

#: How long each state is under load.
SECONDS = 3
ACCEPTED_ONLY = {"accepted"}


class Load:
    """An app that registers and a back end that pushes, until they are told to end."""

    def __init__(self, workspace, urls):
        self.workspace, self.urls = workspace, urls
        self.devices, self.receipts, self.faults = [], [], []
        self.ending = threading.Event()
        platform = workspace.platforms["ios"]
        self.app = (workspace.app, workspace.environment["API_KEY"])
        self.platform = (platform["platform_uuid"], platform["platform_secret"])
        self.threads = [threading.Thread(target=self.run, args=(step,)) for step in (self.register, self.push)]
        for thread in self.threads:
            thread.start()

    def run(self, step):
        for number in itertools.count():
            if self.ending.wait(0.02):
                return
            try:
                step(number)
            except Exception as error:
                self.faults.append(repr(error))
                return

    def ask(self, number, path, body, authorization, **headers):
        """The answer of a node; a request that no node takes is sent again, up to half a minute."""
        deadline = time.monotonic() + 30
        for turn in itertools.count(number):
            try:
                return call(Node(self.urls[turn % len(self.urls)]), "POST", path, body, authorization, **headers)
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError):
                pass
            except RuntimeError as error:
                if ": 503 " not in str(error):
                    raise
            assert time.monotonic() < deadline, f"no server takes {path}"
            time.sleep(0.05)

    def register(self, number):
        body = {"registration_token": f"{number:064x}", "os": "ios", "tags": ["crowd"]}
        self.devices.append(self.ask(number, "/v1/registration", body, self.platform)["device_uuid"])

    def push(self, number):
        body = {"message": {"body": f"Number {number}"}, "target": {"topics": ["crowd"]}}
        answer = self.ask(number, "/v1/push", body, self.app, **{"Idempotency-Key": f"upgrade-{number}"})
        self.receipts.append(answer["receipt_id"])

    def end(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()
        assert not self.faults, self.faults


def judge(load, workspace, server, control):
    """Everything that was acknowledged is there and done."""
    deadline = time.monotonic() + 60
    for receipt in load.receipts:
        while (shown := server.receipt(receipt))["state"] != "settled":
            assert time.monotonic() < deadline, f"a push is not settled: {shown}"
            time.sleep(0.1)
        told = {answer for answer, count in shown["counts"].items() if count}
        assert told <= ACCEPTED_ONLY, f"a push was not accepted for all its devices: {shown['counts']}"
    for device in load.devices:
        server.admin("GET", f"apps/{workspace.app}/devices/{device}")
    with urllib.request.urlopen(f"http://127.0.0.1:{control}/ledger", timeout=30) as answer:
        totals = json.load(answer)
    assert totals["duplicateIDs"] == 0, f"devices were told twice: {totals}"
    assert load.devices and load.receipts, "there was no load"


def settings(port):
    """Each device is read at the end, which is more than an admin key may ask for in a second."""
    return {"BELFRY_HTTP_PORT": str(port), "BELFRY_LIMIT_ADMIN_PER_SECOND": "0"}


def begin(binary, home, database, port, key_ring=None):
    home.mkdir(exist_ok=True)
    if key_ring:
        (home / "data").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(key_ring, home / "data" / "key-ring")
    server = Belfry(binary, home, database, settings(port))
    return server


def version(binary):
    return subprocess.run([binary, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def control_port(workspace):
    return next(line.split()[1] for line in (workspace.home / "simulate.log").read_text().splitlines() if line.startswith("control-port"))


def on_sqlite(old, new, home):
    port = free_port()
    workspace = Workspace(old, home)
    try:
        workspace.serve(settings=settings(port))
        key, server = workspace.server.admin_key, workspace.server
        load = Load(workspace, [server.url])
        try:
            for binary in (new, old, new):
                time.sleep(SECONDS)
                assert server.stop() == 0, "the server did not stop in good order"
                server = workspace.server = begin(binary, home, None, port)
                server.admin_key = key
            time.sleep(SECONDS)
        finally:
            load.end()
        judge(load, workspace, server, control_port(workspace))
        print(f"✓ SQLite: {len(load.devices)} devices and {len(load.receipts)} pushes over an upgrade, the way back and another upgrade")
    finally:
        workspace.end()


def on_postgres(old, new, home, postgres):
    database, ports = postgres.create("upgrade"), [free_port(), free_port()]
    workspace = Workspace(old, home)
    nodes = []
    try:
        workspace.serve(database, settings(ports[0]))
        key, ring = workspace.server.admin_key, f"{workspace.server.data}/key-ring"
        homes = [home, home / "second"]
        nodes = [workspace.server, begin(old, homes[1], database, ports[1], ring)]
        load = Load(workspace, [node.url for node in nodes])
        try:
            for binary in (new, old, new):
                for place in (0, 1):
                    time.sleep(SECONDS / 2)
                    assert nodes[place].stop() == 0, "a node did not stop in good order"
                    nodes[place] = begin(binary, homes[place], database, ports[place], None if place == 0 else ring)
            time.sleep(SECONDS)
        finally:
            load.end()
        nodes[1].admin_key = key
        judge(load, workspace, nodes[1], control_port(workspace))
        print(f"✓ PostgreSQL, rolling: {len(load.devices)} devices and {len(load.receipts)} pushes over an upgrade, the way back and another upgrade")
    finally:
        for node in nodes[1:]:
            node.stop()
        workspace.server = nodes[0] if nodes else workspace.server
        workspace.end()


def main(old, new):
    print(f"from {version(old)} to {version(new)}")
    with tempfile.TemporaryDirectory(prefix="belfry-upgrade-") as scratch:
        pathlib.Path(scratch).chmod(0o755)
        for name in ("sqlite", "nodes"):
            (pathlib.Path(scratch) / name).mkdir()
        on_sqlite(old, new, pathlib.Path(scratch) / "sqlite")
        postgres = Postgres(f"{scratch}/postgres")
        try:
            on_postgres(old, new, pathlib.Path(scratch) / "nodes", postgres)
        finally:
            postgres.stop()


if __name__ == "__main__":
    main(*(str(pathlib.Path(binary).resolve()) for binary in sys.argv[1:3]))
