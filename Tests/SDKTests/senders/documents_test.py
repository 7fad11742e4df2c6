"""The commands of docs/Pushing.md, as they stand there, against the real server.

    python3 documents_test.py BELFRY

Each is run by bash with the variables that the document begins with. One with an ellipsis is a pattern, not a command. A command that follows
something is ended after a while.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry

TOKEN = "00112233445566778899aabbccddeeff" * 2
#: Of commands that wait for what the server sends, which has no provider here.
FOLLOWING = ("--follow", "curl -N")
STRICT = 'curl() { command curl -sS --fail-with-body "$@"; }\n'


def commands(text):
    """The commands of the indented blocks, and those in the tables that use the variables."""
    found, pending = [], ""
    for line in text.splitlines():
        if line.startswith("|"):
            found += [part for part in re.findall(r"`((?:belfry|curl) [^`]+)`", line) if "$" in part]
        if not line.startswith("    "):
            # Samples of other languages are none.
            assert not re.search(r"\b(belfry|curl) ", pending), f"a command has no end: {pending}"
            pending = ""
            continue
        pending += line[4:] + "\n"
        if subprocess.run(["bash", "-n", "-c", pending], stderr=subprocess.DEVNULL).returncode == 0:
            found.append(pending.strip())
            pending = ""
    return found


def begin(server, home):
    """An application with platforms, and the variables of the document. The last platform is for other types of token."""
    app = server.admin("POST", "apps", {"name": "Shop"})
    key = subprocess.run(
        "openssl ecparam -genkey -name prime256v1 -noout | openssl pkcs8 -topk8 -nocrypt", shell=True, check=True,
        stdout=subprocess.PIPE, text=True).stdout
    credentials = {"apns_key": key, "key_id": "ABC123DEFG", "team_id": "DEF123GHIJ", "topic": "org.example.shop"}
    platform = server.admin("POST", f"apps/{app['app_uuid']}/platforms", {
        "type": "ios", "mode": "development", "name": "iPhone", "credentials": credentials})
    server.admin("POST", f"apps/{app['app_uuid']}/platforms", {"type": "web", "name": "Web", "credentials": {}})
    other = server.admin("POST", f"apps/{app['app_uuid']}/platforms", {
        "type": "webhook", "name": "Hook", "credentials": {"url": "https://hook.example/", "secret": "s" * 32}})
    device = server.admin("POST", f"apps/{app['app_uuid']}/devices", {
        "platform_uuid": platform["platform_uuid"], "registration_token": TOKEN, "topics": ["dairy"]})
    folder = pathlib.Path(home)
    (folder / "belfry-data").symlink_to(server.data)
    (folder / "belfry").symlink_to(server.binary)
    return {
        **server.environment, "PATH": f"{home}:{os.environ['PATH']}", "B": server.url, "APP": app["app_uuid"],
        "API_KEY": app["api_key"], "SHARED_SECRET": app["shared_secret"], "PLATFORM": platform["platform_uuid"],
        "SECRET": platform["platform_secret"], "DEVICE_UUID": device["device_uuid"],
        "H": f"Authorization: Bearer {server.admin_key}",
    }, {"PLATFORM": other["platform_uuid"], "SECRET": other["platform_secret"]}


def fill(command, server, environment):
    """With ids of things that are there in the place of words for them."""
    app = environment["APP"]
    if re.search(r"schedules?[ /].*\bID\b", command):
        body = {"message": {"title": "T"}, "target": {"everyone": True}, "send_at": "2199-01-31T09:00:00Z"}
        command = re.sub(r"\bID\b", lambda _: server.admin("POST", f"apps/{app}/pushes", body)["schedule_id"], command)
    receipts = server.admin("GET", f"apps/{app}/pushes")["pushes"]
    command = command.replace("0011…eeff", TOKEN).replace("RECEIPT_ID", receipts[-1]["receipt_id"] if receipts else "")
    return re.sub(r"(?<!\$)\bDEVICE_UUID\b|\bUUID\b|\bDEVICE\b", environment["DEVICE_UUID"], command)


def attempt(command, prelude, environment, home):
    seconds = 3 if any(word in command for word in FOLLOWING) else 60
    try:
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", STRICT + prelude + command], cwd=home, env=environment, timeout=seconds,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except subprocess.TimeoutExpired:
        assert seconds == 3, "it does not end"
        return
    assert ended.returncode == 0, f"it ended with {ended.returncode}: {ended.stdout}"
    assert "argument list" not in ended.stdout, ended.stdout


def main(binary):
    passed, failed, prelude = 0, 0, ""
    with tempfile.TemporaryDirectory(prefix="belfry-documents-") as home:
        server = Belfry(binary, pathlib.Path(home))
        try:
            environment, other = begin(server, home)
            is_other = False
            for command in commands((ROOT / "docs" / "Pushing.md").read_text()):
                if re.match(r"\w+\(\) \{", command):
                    prelude += command + "\n"
                    continue
                if not re.search(r"\b(belfry|curl) ", command):
                    # The comment above a command says whose tokens it is about.
                    is_other = command.startswith("#") and "webhook" in command
                    continue
                filled = fill(command, server, environment)
                if "…" in filled or "--channel" in filled:
                    continue
                try:
                    attempt(filled, prelude, {**environment, **(other if is_other else {})}, home)
                    passed += 1
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL  {command}\n{error}", flush=True)
        finally:
            server.stop()
    print(f"commands of docs/Pushing.md: {passed} passed, {failed} failed")
    return failed or passed < 25


sys.exit(1 if main(pathlib.Path(sys.argv[1]).resolve()) else 0)
