"""The section of docs/SDK.md that takes a stranger from nothing to a push, run as it stands there."""

import os
import pathlib
import re
import subprocess

from belfry_server import Belfry

DOCUMENT = pathlib.Path(__file__).parents[3] / "docs" / "SDK.md"


def commands():
    section = re.search(r"\n## A push in your browser.*?\n(.*?)\n## ", DOCUMENT.read_text(), re.DOTALL)[1]
    return [line.strip() for line in re.findall(r"^    (.+)$", section, re.MULTILINE)]


class FiveMinutes:
    """A terminal in an empty directory, with `belfry` in its path."""

    def __init__(self, rig):
        self.rig = rig
        self.folder = rig.folder / "five-minutes"
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "bin" / "belfry").symlink_to(rig.server.binary)
        self.environment = {
            **os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            # Another server may have the usual ports, and the push service of this test is on this machine, under a CA of its own.
            "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_PROVIDERS_ADDRESSES_ALLOW": "127.0.0.1,::1",
        }
        self.known = {}
        self.log = self.folder / "belfry.log"
        self.process = None

    def serve(self):
        self.process = subprocess.Popen(
            ["belfry", "serve"], cwd=self.folder, env=self.environment, stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        found = self.rig.until("it serves", lambda: re.search(r"address=http://[^ :]+:(\d+)", self.log.read_text()))
        self.port = found[1]

    def run(self, line):
        for name, value in self.known.items():
            line = line.replace(name, value)
        if " platform create " in line:
            line += f" --credential trust_root=@{self.rig.folder / 'ca.pem'}"
        answer = subprocess.run(
            ["bash", "-euc", line], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=60)
        assert answer.returncode == 0, f"{line}\n{answer.stdout}"
        for name, value in re.findall(r"^(\w+) +(\S+)$", answer.stdout, re.MULTILINE):
            self.known.setdefault(name.upper(), value)
        return answer.stdout

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait(30)


def play(rig):
    lines = commands()
    push = next(place for place, line in enumerate(lines) if line.startswith("belfry push "))
    assert lines[0] == "belfry serve &", lines
    terminal = FiveMinutes(rig)
    try:
        terminal.serve()
        for line in lines[1:push]:
            terminal.run(line)
        key = terminal.known["REGISTRATION_KEY"]
        rig.browser.open(f"http://localhost:{terminal.port}/sdk/web/v1/test#{key}")
        rig.browser.click("subscribe")
        rig.until("it is active", lambda: rig.browser.script("return document.getElementById('state').textContent") == "active")
        terminal.run(lines[push])
        rig.until("it is listed", lambda: "Hello" in rig.browser.script("return document.getElementById('messages').textContent"))
        rig.browser.screenshot(rig.folder / "five-minutes.png")
        for line in lines[push + 1:]:
            terminal.run(line)
    finally:
        terminal.close()
