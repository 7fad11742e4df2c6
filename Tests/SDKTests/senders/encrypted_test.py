"""The samples of docs/Senders.md that encrypt, as they stand there, and http_ece on both sides: what they seal is what a device of the real server
decrypts, and an application without plain text takes nothing else.

    python3 encrypted_test.py BELFRY
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry

COMMANDS = {"python": ("send_encrypted.py", sys.executable), "javascript": ("send_encrypted.mjs", "node")}
TITLE, BODY = "Invoice 4711", "Paid: 12 €"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Device:
    """An app on a device, its keys, and the pushes that were sent to it."""

    def __init__(self, server, platform, token, user):
        self.server, self.key, self.auth = server, ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        self.credentials = base64.b64encode(f"{platform['platform_uuid']}:{platform['platform_secret']}".encode()).decode()
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.uuid = self.call("POST", "", {
            "registration_token": token, "custom_user_id": user,
            "encryption_keys": {"p256dh": encode(point), "auth": encode(self.auth)}})["device_uuid"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"{self.server.url}/v1/registration{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Basic {self.credentials}", "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def texts(self):
        messages = self.call("GET", f"/{self.uuid}/messages?limit=10")["messages"]
        return [http_ece.decrypt(
            decode(message["payload"]["encrypted"]), private_key=self.key, auth_secret=self.auth, version="aes128gcm") for message in messages]


def main(binary):
    document = (ROOT / "docs" / "Senders.md").read_text()
    samples = dict(re.findall(r"```(\w+) encrypted\n(.*?)```", document, re.DOTALL))
    assert set(samples) == set(COMMANDS), sorted(samples)
    with tempfile.TemporaryDirectory(prefix="belfry-encrypted-") as name:
        folder = pathlib.Path(name)
        server = Belfry(binary, folder)
        try:
            app = server.admin("POST", "apps", {"name": "Shop"})["app_uuid"]
            server.admin("PATCH", f"apps/{app}", {"encrypted_only": True})
            platform = server.admin("POST", f"apps/{app}/platforms", {"type": "web", "name": "Web", "credentials": {}})
            point = encode(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
            subscription = lambda number: json.dumps({
                "endpoint": f"https://push.example.org/{number}", "keys": {"p256dh": point, "auth": encode(os.urandom(16))}})
            devices = [Device(server, platform, subscription(number), "emma") for number in range(3)]
            stranger = Device(server, platform, subscription(9), "ann")
            environment = {**os.environ, "B": server.url, "APP": app, "KEY": server.admin_key}
            for count, (language, sample) in enumerate(samples.items(), 1):
                file, tool = COMMANDS[language]
                (folder / file).write_text(sample)
                subprocess.run([tool, file], cwd=folder, env=environment, check=True, timeout=60)
                for device in devices:
                    texts = device.texts()
                    assert len(texts) == count and all(len(text) % 256 == 255 for text in texts), texts
                    assert (json.loads(texts[0])["title"], json.loads(texts[0])["body"]) == (TITLE, BODY), texts
                assert stranger.texts() == []
            try:
                server.push(app, {"body": "plain"})
            except RuntimeError as error:
                assert "message.encrypted" in str(error), error
            else:
                raise AssertionError("plain text was taken")
        finally:
            server.stop()
        for path in folder.rglob("*"):
            if path.is_file() and path.name not in [file for file, _ in COMMANDS.values()]:
                assert TITLE.encode() not in path.read_bytes(), f"{path} has the text"
    print("encrypted samples: 2 passed, 0 failed")


main(sys.argv[1])
