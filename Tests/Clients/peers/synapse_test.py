"""The real Synapse pushes to Belfry's gateway of Matrix: what a phone gets, its badge, `event_id_only`, and the end of a dead token.

    python synapse_test.py BELFRY
"""

import json
import pathlib
import sys
import tempfile
import time
from urllib.parse import quote

from rig import Rig, call, free_port, until

TOKEN, QUIET, DEAD = ("ab" * 32, "cd" * 32, "ef" * 32)
APP_ID = "org.example.chat.ios"


class Homeserver:
    def __init__(self, rig):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/_matrix/client/v3"
        home = rig.folder
        limit = {"per_second": 1000, "burst_count": 1000}
        (home / "homeserver.yaml").write_text(json.dumps({
            "server_name": "chat.example", "pid_file": str(home / "synapse.pid"), "report_stats": False,
            "listeners": [{"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client"]}]}],
            "database": {"name": "sqlite3", "args": {"database": str(home / "synapse.db")}},
            "signing_key_path": str(home / "signing.key"), "media_store_path": str(home / "media"),
            "macaroon_secret_key": "test", "form_secret": "test", "trusted_key_servers": [],
            "enable_registration": True, "enable_registration_without_verification": True,
            "ip_range_whitelist": ["127.0.0.1/32"],
            "rc_message": limit, "rc_registration": limit, "rc_login": {"address": limit, "account": limit},
        }))
        command = [sys.executable, "-m", "synapse.app.homeserver", "--config-path", "homeserver.yaml"]
        self.log = rig.start("keys", [*command, "--generate-keys"])
        assert rig.processes.pop().wait(60) == 0, self.log.read_text()
        self.log = rig.start("synapse", command)
        until(self.answers, "Synapse does not start")

    def answers(self):
        try:
            return call("GET", self.url.removesuffix("/v3") + "/versions")
        except OSError:
            return None

    def register(self, name):
        made = call("POST", f"{self.url}/register", {
            "username": name, "password": "correct-horse", "auth": {"type": "m.login.dummy"}, "initial_device_display_name": name})
        return User(self.url, made["access_token"])


class User:
    def __init__(self, url, token):
        self.url, self.token, self.sent = url, token, 0

    def call(self, method, path, body=None):
        return call(method, f"{self.url}/{path}", body, self.token)

    def set_pusher(self, address, pushkey, **data):
        self.call("POST", "pushers/set", {
            "kind": "http", "app_id": APP_ID, "pushkey": pushkey, "app_display_name": "Chat", "device_display_name": "iPhone", "lang": "en",
            "append": True, "data": {"url": address, **data}})

    def pushers(self):
        return sorted(pusher["pushkey"] for pusher in self.call("GET", "pushers")["pushers"])

    def write(self, room, text):
        self.sent += 1
        return self.call("PUT", f"rooms/{quote(room)}/send/m.room.message/{self.sent}", {"msgtype": "m.text", "body": text})["event_id"]


def talk(rig):
    """A room of two, of whom Ada writes and Bob has phones."""
    homeserver = Homeserver(rig)
    ada, bob = homeserver.register("ada"), homeserver.register("bob")
    room = ada.call("POST", "createRoom", {"preset": "trusted_private_chat", "invite": ["@bob:chat.example"], "is_direct": True})["room_id"]
    bob.call("POST", f"join/{quote(room)}", {})
    opened = rig.belfry("gateway", "open", "matrix", "--app", rig.app, "--platform", f"{APP_ID}={rig.platform}")
    return ada, bob, room, rig.recorder.url + opened["path"]


def shows(rig, token, event):
    payload = rig.payload(token)
    return payload if payload and payload.get("event_id") == event else None


def notify(rig, ada, bob, room, address):
    """A message with its content, and one whose badge counts both."""
    bob.set_pusher(address, TOKEN)
    bob.set_pusher(address, QUIET, format="event_id_only", default_payload={"aps": {"mutable-content": 1, "alert": {"loc-key": "NEW"}}})
    assert bob.pushers() == [TOKEN, QUIET]
    for unread, text in enumerate(["Hello Bob", "Are you there? ä€😀"], 1):
        event = ada.write(room, text)
        payload = until(lambda: shows(rig, TOKEN, event), f"no push of {event}")
        aps = payload["aps"]
        assert aps["alert"] == {"loc-key": "MSG_FROM_USER_WITH_CONTENT", "loc-args": ["ada", text]}, payload
        # Synapse counts rooms unless its `push` setting groups otherwise.
        assert aps["badge"] == 1 and payload["room_id"] == room, payload
        bare = until(lambda: shows(rig, QUIET, event), f"no bare push of {event}")
        assert bare["aps"]["alert"] == {"loc-key": "NEW"} and bare["aps"]["mutable-content"] == 1, bare
        assert bare["room_id"] == room and bare["unread_count"] == 1 and "Bob" not in json.dumps(bare), bare
    return event


def read(rig, bob, room, event):
    """Counts alone, once all is read."""
    bob.call("POST", f"rooms/{quote(room)}/receipt/m.read/{quote(event)}", {})
    until(lambda: rig.payload(TOKEN)["aps"].get("badge") == 0, "the badge stays")
    assert "alert" not in rig.payload(TOKEN)["aps"], rig.payload(TOKEN)


def end_dead_token(rig, ada, bob, room, address):
    call("POST", f"{rig.control}/script/verdicts", {DEAD: {"reason": "Unregistered", "timestamp": 4102444800000}})
    bob.set_pusher(address, DEAD)
    ada.write(room, "To a phone that is gone")
    until(lambda: bob.pushers() == [TOKEN, QUIET], f"the dead token stays: {bob.pushers()}", 30)
    rejected = [exchange for exchange in rig.recorder.exchanges if json.loads(exchange["answer"]).get("rejected")]
    assert [json.loads(exchange["answer"]) for exchange in rejected] == [{"rejected": [DEAD]}], rejected


def main(binary):
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="belfry-synapse-") as name:
        rig = Rig(binary, name)
        try:
            ada, bob, room, address = talk(rig)
            event = notify(rig, ada, bob, room, address)
            read(rig, bob, room, event)
            end_dead_token(rig, ada, bob, room, address)
            assert all(exchange["status"] == 200 for exchange in rig.recorder.exchanges), rig.recorder.exchanges
        except BaseException:
            log = rig.folder / "synapse.log"
            print(log.read_text()[-3000:] if log.exists() else "", json.dumps(rig.recorder.exchanges, indent=1), file=sys.stderr)
            raise
        finally:
            if len(sys.argv) > 2:
                pathlib.Path(sys.argv[2]).write_text(json.dumps(rig.recorder.exchanges, indent=1))
            rig.end()
    print(f"Synapse: 3 passed, 0 failed, {time.monotonic() - began:.0f} s")


main(sys.argv[1])
