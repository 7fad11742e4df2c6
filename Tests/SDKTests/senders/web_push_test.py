"""The sample of docs/WebPushEndpoints.md, as it stands there, and messages of pywebpush in both codings, to a device of the real server that
fetches them and decrypts what it got by http_ece.

    python3 web_push_test.py BELFRY
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02
from pywebpush import WebPusher, WebPushException, webpush

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class App:
    """An app on a device: its registration, its keys, its endpoint, and what it finds there."""

    def __init__(self, server, platform, token):
        self.server, self.key, self.auth = server, ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        self.credentials = base64.b64encode(f"{platform['platform_uuid']}:{platform['platform_secret']}".encode()).decode()
        self.path = "/v1/registration"
        self.path += "/" + self.call("POST", "", {"registration_token": token})["device_uuid"] + "/endpoints"
        self.public = encode(self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            f"{self.server.url}{self.path}{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Basic {self.credentials}", "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def subscribe(self, **wishes):
        made = self.call("POST", "", {"delivery": "fetch", **wishes})
        self.id = made["endpoint_id"]
        self.subscription = {"endpoint": made["endpoint"], "keys": {"p256dh": self.public, "auth": encode(self.auth)}}
        return self.subscription

    def fetch(self):
        """The texts that wait, which are acknowledged."""
        texts = []
        for message in self.call("GET", f"/{self.id}/messages")["messages"]:
            older = message.get("webpush_encoding") == "aesgcm"
            more = {}
            if older:
                sender = re.search(r"dh=([\w-]+)", message["webpush_crypto_key"])[1]
                more = {"salt": decode(re.search(r"salt=([\w-]+)", message["webpush_encryption"])[1]), "dh": decode(sender), "version": "aesgcm"}
            texts.append(http_ece.decrypt(
                decode(message["webpush"]), private_key=self.key, auth_secret=self.auth, **{"version": "aes128gcm", **more}).decode())
            self.call("DELETE", f"/{self.id}/messages/{message['message_id']}")
        return texts


def status(send):
    try:
        return send().status_code
    except WebPushException as error:
        return error.response.status_code


def run_sample(app, folder):
    """The Python of the document, in the environment that it names."""
    sample = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "WebPushEndpoints.md").read_text(), re.DOTALL)[1]
    (folder / "send.py").write_text(sample)
    Vapid02(ec.generate_private_key(ec.SECP256R1())).save_key(str(folder / "vapid.pem"))
    keys = app.subscribe()["keys"]
    environment = {**os.environ, "ENDPOINT": app.subscription["endpoint"], "P256DH": keys["p256dh"], "AUTH": keys["auth"]}
    for _ in range(2):
        subprocess.run([sys.executable, "send.py"], cwd=folder, env=environment, check=True, timeout=60)
    assert app.fetch() == ["Hello"], "the second replaces the first, by its topic"
    assert app.fetch() == [], "they were acknowledged"


def relay_both_codings(app):
    for coding in ("aes128gcm", "aesgcm"):
        answer = WebPusher(app.subscribe()).send(f"in {coding}", ttl=60, content_encoding=coding)
        assert answer.status_code == 201 and answer.headers["ttl"] == "60", answer.text
        assert app.fetch() == [f"in {coding}"]


def demand_vapid(app, server, application):
    server.admin("PATCH", f"apps/{application}", {"web_push_endpoints": "vapid"})
    own, other = (Vapid02(ec.generate_private_key(ec.SECP256R1())) for _ in range(2))
    public = encode(own.public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
    subscription = app.subscribe(vapid_public_key=public)
    send = lambda key: webpush(subscription, "signed", ttl=60, vapid_private_key=key, vapid_claims={"sub": "mailto:ops@example.org"})
    assert status(lambda: send(own)) == 201
    assert status(lambda: send(other)) == 403
    assert status(lambda: webpush(subscription, "unsigned", ttl=60)) == 401
    assert app.fetch() == ["signed"]


def end(app):
    """A revoked endpoint, and one whose device is gone."""
    endpoint = app.subscription["endpoint"]
    app.call("DELETE", f"/{app.id}")
    for method in ("GET", "POST"):
        try:
            urllib.request.urlopen(urllib.request.Request(endpoint, method=method, headers={"ttl": "0"}), timeout=30)
        except urllib.error.HTTPError as error:
            assert error.code == 404, error.code
        else:
            raise AssertionError("a revoked endpoint answers")


def main(binary):
    with tempfile.TemporaryDirectory(prefix="belfry-web-push-") as name:
        folder = pathlib.Path(name)
        server = Belfry(binary, folder)
        try:
            application = server.admin("POST", "apps", {"name": "Shop"})["app_uuid"]
            platform = server.admin(
                "POST", f"apps/{application}/platforms", {"type": "webhook", "name": "Hook", "credentials": {
                    "url": "https://hook.example/", "secret": "s" * 32}})
            server.admin("PATCH", f"apps/{application}", {"web_push_endpoints": "on"})
            app = App(server, platform, "phone-1")
            run_sample(app, folder)
            relay_both_codings(app)
            demand_vapid(app, server, application)
            end(app)
        finally:
            server.stop()
    print("Web Push by others: 4 passed, 0 failed")


main(sys.argv[1])
