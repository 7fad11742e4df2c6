"""What the commands of a document need to be there: a server with an application, platforms at a simulator, devices, people and files."""

import gzip
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry

TOKEN = "00112233445566778899aabbccddeeff" * 2
#: Fails where an answer is an error, which curl alone does not.
STRICT = 'curl() { command curl -sS --fail-with-body "$@"; }; export -f curl\n'
#: Of commands that go on for as long as somebody reads.
FOLLOWING = ("--follow", "curl -N")
#: Values that an answer shows once, and the words that documents have for them.
SHOWN = {
    "app_uuid": ("APP_UUID", "APP"), "api_key": ("API_KEY",), "platform_uuid": ("PLATFORM_UUID", "PLATFORM"),
    "platform_secret": ("PLATFORM_SECRET", "SECRET"), "receipt_id": ("RECEIPT_ID", "RECEIPT"), "device_uuid": ("DEVICE_UUID", "DEVICE"),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pem():
    return subprocess.run(
        "openssl ecparam -genkey -name prime256v1 -noout | openssl pkcs8 -topk8 -nocrypt", shell=True, check=True,
        stdout=subprocess.PIPE, text=True).stdout


class Workspace:
    """A folder in which commands run one after the other, with the variables and functions that those before them set."""

    def __init__(self, binary, home):
        self.binary, self.home = binary, pathlib.Path(home)
        self.server, self.words, self.groups, self.wrote = None, {}, [], False
        self.ports = {}
        self.environment = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}"}
        for name in [name for name in self.environment if name.startswith("BELFRY_")]:
            del self.environment[name]
        (self.home / "belfry").symlink_to(binary)
        (self.home / "state").write_text("")

    # Files and a server

    def write(self, name, text):
        (self.home / name).write_text(text)

    def alone(self):
        """No server yet: the document starts its own, whose usual port is a free one here."""
        for port in ("8080", "8443", "8453", "8480", "8490"):
            self.ports[port] = str(free_port())
        self.environment |= {"BELFRY_HTTP_PORT": self.ports["8080"], "BELFRY_MANAGEMENT_PORT": "0"}
        self.write_credentials(pem())

    def write_credentials(self, key):
        for name in ("AuthKey_ABC123DEFG.p8", "AuthKey.p8"):
            self.write(name, key)
        rsa = subprocess.run("openssl genrsa 2048 2>/dev/null | openssl pkcs8 -topk8 -nocrypt", shell=True, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
        account = json.dumps({
            "type": "service_account", "project_id": "shop-1", "private_key_id": "1", "private_key": rsa,
            "client_email": "push@shop-1.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token"})
        for name in ("service-account.json", "key.json"):
            self.write(name, account)
        self.write("call.json", '{"type": "alert", "payload": {"aps": {"alert": "Hello"}}}')

    def serve(self, database=None, settings=None):
        """A server with one of each thing, platforms of Apple's kinds at a simulator."""
        log = self.home / "simulate.log"
        self.start(["simulate", "apns", "--port", "0", "--channels-port", "0", "--control-port", "0", "--ca-out", "ca.pem", "--key-out",
                    "key.p8"], log, r"^create ")
        apns = dict(re.findall(r"^([\w-]+) (\S+)$", log.read_text(), re.M))
        self.server = server = Belfry(self.binary, self.home, database, settings)
        self.key_file = pathlib.Path(server.data) / "admin.key"
        (self.home / "belfry-data").symlink_to(server.data)
        self.environment |= {name: value for name, value in server.environment.items() if name.startswith("BELFRY_")}
        self.write_credentials((self.home / "key.p8").read_text())

        app = server.admin("POST", "apps", {"name": "Shop"})
        self.app = app["app_uuid"]
        self.apple = {
            "apns_key": (self.home / "key.p8").read_text(), "key_id": apns["key-id"], "team_id": apns["team-id"], "topic": "org.example.shop",
            "endpoint": f"https://localhost:{apns['port']}", "trust_root": (self.home / "ca.pem").read_text()}
        platforms = {}
        for kind, credentials in {
            "ios": self.apple, "ios-voip": self.apple,
            "ios-broadcast": {**self.apple, "channels_endpoint": f"https://localhost:{apns['channels-port']}"},
            "web": {}, "fcm-topic": {"service_account": json.loads((self.home / "key.json").read_text())},
            "android-fcm": {"service_account": json.loads((self.home / "key.json").read_text())},
            "webhook": {"url": "https://hook.example/", "secret": "s" * 32},
        }.items():
            more = {"mode": "development"} if kind.startswith("ios") else {}
            platforms[kind] = server.admin("POST", f"apps/{self.app}/platforms", {
                "type": kind, "name": kind, "credentials": credentials, **more})
        self.platforms = platforms
        device = server.admin("POST", f"apps/{self.app}/devices", {
            "platform_uuid": platforms["ios"]["platform_uuid"], "registration_token": TOKEN, "custom_user_id": "emma",
            "topics": ["dairy", "town", "news"]})
        receipt = server.push(self.app, {"body": "Hello"}, {"topics": ["town"]})
        self.environment |= {
            "B": server.url, "U": f"{server.url}/admin/v1", "APP": self.app, "A": self.app, "API_KEY": app["api_key"],
            "SHARED_SECRET": app["shared_secret"], "PLATFORM": platforms["ios"]["platform_uuid"],
            "SECRET": platforms["ios"]["platform_secret"], "IOS": platforms["ios"]["platform_uuid"],
            "VOIP": platforms["ios-voip"]["platform_uuid"], "DEVICE_UUID": device["device_uuid"], "DEVICE": device["device_uuid"],
            "RECEIPT": receipt, "TOKEN": TOKEN, "H": f"Authorization: Bearer {server.admin_key}", "BELFRY_ADMIN_KEY": server.admin_key,
            "PASSWORD": "correct-horse-battery",
        }
        self.write("password", "correct-horse-battery\n")
        self.words |= {
            "APP_UUID": self.app, "API_KEY": app["api_key"], "PLATFORM_UUID": platforms["ios"]["platform_uuid"],
            "PLATFORM_SECRET": platforms["ios"]["platform_secret"], "DEVICE_UUID": device["device_uuid"], "RECEIPT_ID": receipt,
            "DEVICE": device["device_uuid"], "UUID": device["device_uuid"], "TOKEN": TOKEN,
        }

    def start(self, arguments, log, until):
        with open(log, "w") as output:
            process = subprocess.Popen(
                [self.binary, *arguments], cwd=self.home, env=self.environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.groups.append(process.pid)
        self.wait(log, until)

    def wait(self, log, until):
        deadline = time.monotonic() + 300
        while not re.search(until, log.read_text(), re.M):
            assert time.monotonic() < deadline, f"it does not start: {log.read_text()}"
            time.sleep(0.05)

    def end(self):
        if self.server and self.server.process.poll() is None:
            self.server.stop()
        for group in self.groups:
            for kind in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(group, kind)
                except ProcessLookupError:
                    break
                time.sleep(0.2)

    # Commands

    def filled(self, command):
        """The command with values in the place of words for them, and the server's own address in that of a sample."""
        text = command
        if self.server:
            text = re.sub(r"https?://(127\.0\.0\.1:8080|localhost:8080|push\.example\.org)", self.server.url, text)
        for port, own in self.ports.items():
            text = re.sub(rf"\b{port}\b", own, text)
        text = text.replace("/backup/", f"{self.home}/")
        if re.search(r"schedules?[ /].*\bID\b", text):
            body = {"message": {"title": "T"}, "target": {"everyone": True}, "send_at": "2199-01-31T09:00:00Z"}
            if re.search(r"pause|resume|skip-next", text):
                body["recurrence"] = {"rule": "FREQ=DAILY", "start": "2199-01-31T09:00", "time_zone": "UTC"}
                del body["send_at"]
            text = re.sub(r"\bID\b", lambda _: self.server.admin("POST", f"apps/{self.app}/pushes", body)["schedule_id"], text)
        text = re.sub(r"0011…eeff|00112233…|(?<=\"registration_token\":\")…", TOKEN, text)
        if '"api_key":"…"' in text:
            text = text.replace('"app_uuid":"…"', f'"app_uuid":"{uuid.uuid4()}"')
            text = text.replace('"api_key":"…"', f'"api_key":"{uuid.uuid4()}"')
            text = text.replace('"shared_secret":"…"', f'"shared_secret":"{secrets.token_hex(32)}"')
        for word, value in self.words.items():
            if re.fullmatch(r"\w+", word):
                text = re.sub(rf"(?<![$\w]){word}\b", lambda _: value, text)
            else:
                text = text.replace(word, value)
        return text

    def run(self, command, **more):
        """Runs a command as it stands but for words of the sample; AssertionError where it fails."""
        text = self.filled(command)
        bare = re.sub(r"\s+#[^'\"]*$", "", text)
        assert "…" not in bare, "an ellipsis stands for something that this test has no value for"
        if re.match(r"belfry serve( |$)", bare) and not bare.endswith("&"):
            text = bare + " &"
            bare = text
        if "curl" in bare and self.wrote:
            # A server on SQLite looks for what commands wrote twelve times a second.
            time.sleep(0.3)
        self.wrote = "belfry " in bare
        output = self.home / f"output-{len(self.groups)}"
        state = self.home / "state"
        follows = any(word in text for word in FOLLOWING)
        others = "".join(f"{name}={value}\n" for name, value in more.items())
        keep = "" if more else f"{{ export -p; declare -f; }} > {state}.new; mv {state}.new {state}"
        script = f"set -a; source {state}\n{others}{STRICT}{text}\n{keep}\n"
        with open(output, "w") as file:
            process = subprocess.Popen(
                ["bash", "-e", "-c", script], cwd=self.home, env=self.environment, stdout=file,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        self.groups.append(process.pid)
        try:
            code = process.wait(5 if follows else 60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert follows, f"it does not end: {output.read_text()}"
            return ""
        if bare.endswith("&"):
            self.wait(output, r"serving|^create |^(port|push|subscription)\b")
        text = output.read_text()
        # A platform that is parked for lack of a network is the whole truth of its receipt.
        assert code == 0 or follows and code == 2, f"it ended with {code}: {text}"
        assert "argument list" not in text, text
        self.learn(text)
        return text

    def learn(self, text):
        for name, value in re.findall(r"\b(\w+)\"?[ :]+\"?([\w-]{16,})", text):
            for word in SHOWN.get(name, ()):
                self.words.setdefault(word, value)
                self.environment.setdefault(word, value)

    def users(self):
        """A list of devices as OneSignal exports it."""
        lines = ["id,identifier,device_type,tags,invalid_identifier"]
        lines += [f'{uuid.uuid4()},{number:064x},0,"{{""town"": ""yes""}}",f' for number in range(3)]
        self.write("users.csv", "\n".join(lines) + "\n")
        with gzip.open(self.home / "users.csv.gz", "wt") as file:
            file.write((self.home / "users.csv").read_text())
