"""What each document needs, and what it has besides."""

import json
import re
import subprocess
import uuid
from urllib.parse import quote

from workspace import ROOT, Workspace, free_port, pem


def admin_api(workspace):
    workspace.serve()
    server = workspace.server
    tenant = server.admin("POST", "tenants", {"name": "Sea"})["tenant_uuid"]
    workspace.environment["KEY"] = server.admin("POST", "keys", {"name": "old", "scope": "sender", "app_uuid": workspace.app})["key_id"]
    cli(workspace, "admin", "user", "create", "--email", "boss@example.org", "--role", "operator", "--password-file", "password")
    cli(workspace, "admin", "user", "create", "--email", "ann@example.org", "--role", "tenant-admin", "--tenant", tenant, "--password-file", "password")
    people = server.admin("GET", "people")["people"]
    workspace.environment["PERSON"] = str(next(person["person_id"] for person in people if person["email"].startswith("ann")))
    workspace.users()
    workspace.environment["IMPORT"] = str(uuid.uuid4())
    broadcast = workspace.platforms["ios-broadcast"]["platform_uuid"]
    workspace.channel = server.admin("POST", f"platforms/{broadcast}/channels", {"storage": "latest"})["channel_id"]
    workspace.words |= {
        '"tenant_uuid":"…"': f'"tenant_uuid":"{tenant}"', '"role":"sender","app_uuid":"…"': f'"role":"sender","app_uuid":"{workspace.app}"',
        "platform_uuid=…": f"platform_uuid={workspace.platforms['ios']['platform_uuid']}",
        "-----BEGIN PRIVATE KEY-----…": pem().strip().replace("\n", "\\n"),
        '"credentials":{…}': f'"credentials":{json.dumps({name: workspace.apple[name] for name in ("apns_key", "key_id", "team_id")})}',
        "dHN0LXNyY2gtY2hubA%3D%3D": quote(workspace.channel, safe=""), "dHN0LXNyY2gtY2hubA==": workspace.channel,
    }


def admin_api_others(workspace, command, above):
    """The part on channels is about another platform, that on imports about an import that was begun."""
    if "/channels" in command:
        return {"PLATFORM": workspace.platforms["ios-broadcast"]["platform_uuid"]}
    if "imports/$IMPORT\"" in command or re.search(r"imports/\$IMPORT( |/)", command):
        curl = f'curl -s -H "$H" -T users.csv "$U/apps/$APP/imports/$IMPORT?format=onesignal"'
        subprocess.run(["bash", "-c", curl], cwd=workspace.home, env=workspace.environment, stdout=subprocess.DEVNULL, check=True)
    return {}


def pushing_others(workspace, command, above):
    """A comment above a command says whose tokens it is about."""
    for kind in ("windows8", "webhook", "android-fcm", "web"):
        if above.startswith("#") and kind in above:
            platform = workspace.platforms[kind]
            return {"PLATFORM": platform["platform_uuid"], "SECRET": platform["platform_secret"]}
    return {}


def pushing(workspace):
    workspace.serve()
    workspace.server.admin("POST", f"apps/{workspace.app}/devices", {
        "platform_uuid": workspace.platforms["ios"]["platform_uuid"], "registration_token": "ab" * 32, "topics": ["game_7", "dairy"],
        "custom_user_id": "emma@example.org"})
    for kind, more in {"windows8": {"tenant_id": "t", "client_id": "c", "client_secret": "s"}}.items():
        workspace.platforms[kind] = workspace.server.admin("POST", f"apps/{workspace.app}/platforms", {"type": kind, "name": kind, "credentials": more})
    key = subprocess.run(
        "openssl ecparam -genkey -name prime256v1 -noout | openssl ec -pubout -outform DER 2>/dev/null | tail -c 65 | openssl base64 -A",
        shell=True, check=True, stdout=subprocess.PIPE, text=True).stdout
    workspace.words |= {
        "dXyZ…:APA91b…": "dXyZ:APA91b", "fcm/send/…": "fcm/send/1", "windows.com/?token=…": "windows.com/?token=1",
        "B… 65 bytes in Base64 for URLs": key.translate(str.maketrans("+/", "-_")).rstrip("="),
        "… 16 bytes in Base64 for URLs": "AAECAwQFBgcICQoLDA0ODw",
    }


def senders(workspace):
    workspace.serve()
    workspace.environment["KEY"] = workspace.server.admin_key
    for name in ("Tests", "api"):
        (workspace.home / name).symlink_to(ROOT / name)


def dashboard(workspace):
    workspace.serve()
    for email in ("boss@example.org", "cleo@example.org"):
        cli(workspace, "admin", "user", "create", "--email", email, "--role", "operator", "--password-file", "password")
    cli(workspace, "admin", "user", "create", "--email", "bob@example.org", "--role", "operator")
    workspace.write("file", "correct-horse-battery\n")
    workspace.words["--app …"] = f"--app {workspace.app}"


def migration(workspace):
    workspace.serve()
    workspace.users()
    workspace.write("admin.key", workspace.server.admin_key)
    workspace.write("tokens.csv", "token,user_id\n" + "ab" * 32 + ",emma\n")
    for name in ("api-key", "shared-secret", "ios-secret", "android-secret"):
        workspace.write(name, uuid.uuid4().hex * 2)
    workspace.write("api-key", str(uuid.uuid4()))
    workspace.environment |= {"APP": str(uuid.uuid4()), "IOS": str(uuid.uuid4()), "ANDROID": str(uuid.uuid4())}


def acrobits(workspace):
    workspace.serve()
    workspace.environment["KEY"] = json.loads(cli(workspace, "acrobits", "reporter", "create", "--app", workspace.app, "--json"))["key"]
    workspace.words["192.0.2.10,10.0.0.0/8"] = "127.0.0.1"


def carma(workspace):
    workspace.serve()
    workspace.environment["LIST"] = "1000000001"
    workspace.write("trigger.json", json.dumps({"name": "Dinner", "default_language": "en", "languages": {"en": {"alert": "Hello"}}}))


def publishers(workspace):
    workspace.serve()
    workspace.environment["KEY"] = json.loads(cli(workspace, "publisher", "enable", "ntfy", "--app", workspace.app, "--json"))["key"]


def webhooks(workspace):
    """The receiver of the document with its library, and two events."""
    tools = ROOT / ".build-senders" / "webhooks"
    if not (tools / "complete").exists():
        subprocess.run(["python3", "-m", "venv", "--clear", tools], check=True)
        subprocess.run([tools / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "standardwebhooks==1.1.0"], check=True)
        (tools / "complete").touch()
    workspace.serve()
    workspace.environment["PATH"] = f"{tools}/bin:{workspace.environment['PATH']}"
    workspace.write("receiver.py", re.search(r"```python\n(.*?)```", (ROOT / "docs" / "Webhooks.md").read_text(), re.S)[1])
    feed, events = f"apps/{workspace.app}/feed", []
    workspace.server.admin("PUT", feed, {"kinds": ["device.registered"]})
    for token in ("ab", "cd"):
        workspace.server.admin("POST", f"apps/{workspace.app}/devices", {
            "platform_uuid": workspace.platforms["ios"]["platform_uuid"], "registration_token": token * 32})
    while len(events) < 2:
        events = workspace.server.admin("GET", f"{feed}?wait=1")["events"]
    workspace.words |= {"evt_17": events[0]["id"], "evt_18": events[1]["id"], "9009": str(free_port())}


def providers(workspace):
    workspace.serve()
    workspace.write("workload.json", json.dumps({
        "type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
                                             "push@my-project.iam.gserviceaccount.com:generateAccessToken",
        "credential_source": {"file": "/var/run/secrets/tokens/google"}}))


def genero(workspace):
    workspace.serve()
    workspace.environment["KEY"] = json.loads(cli(workspace, "genero", "enable", "--app", workspace.app, "--json"))["key"]
    workspace.write("word", "a long passphrase\n")
    workspace.words["<SHA-256>"] = "ab" * 32


def gateways(workspace):
    workspace.serve()
    for name, kind, *more in (
            ("MATRIX", "matrix", "--platform", f"im.vector.app.ios.prod={workspace.environment['IOS']}"),
            ("MATTERMOST", "mattermost"), ("ROCKET", "rocket-chat"), ("GORUSH", "gorush"), ("SIP", "sip")):
        opened = json.loads(cli(workspace, "gateway", "open", kind, "--app", workspace.app, *more, "--json"))
        workspace.environment[name] = opened["key"]
        workspace.words["ENDPOINT_ID"] = str(opened["endpoint_id"])


def cli(workspace, *arguments):
    ended = subprocess.run([workspace.binary, *arguments], cwd=workspace.home, env=workspace.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 0, f"{arguments}: {ended.stderr}"
    return ended.stdout


SETUPS = {
    "README.md": Workspace.alone, "docs/SDK.md": Workspace.alone, "docs/Simulators.md": Workspace.alone, "docs/Pushing.md": pushing, "docs/Audiences.md": pushing, "docs/Campaigns.md": pushing,
    "docs/AdminAPI.md": admin_api, "docs/Senders.md": senders, "docs/Events.md": Workspace.serve, "docs/WebPushEndpoints.md": Workspace.serve, "docs/EndToEnd.md": Workspace.serve, "docs/Dashboard.md": dashboard,
    "docs/Migration.md": migration, "docs/Providers.md": providers, "docs/compatibility/acrobits.md": acrobits, "docs/compatibility/carma.md": carma,
    "docs/compatibility/genero.md": genero, "docs/Gateways.md": gateways, "docs/Publishers.md": publishers, "docs/Webhooks.md": webhooks, "BelfryKit/Sources/BelfryKit/BelfryKit.docc/FirstPush.md": Workspace.serve,
    "docs/compatibility/genero.md": genero, "docs/Gateways.md": gateways, "docs/Publishers.md": publishers, "BelfryKit/Sources/BelfryKit/BelfryKit.docc/FirstPush.md": Workspace.serve,
    "BelfryAndroid/README.md": Workspace.serve,
}
#: Variables of single commands.
OTHERS = {"docs/AdminAPI.md": admin_api_others, "docs/Pushing.md": pushing_others}
