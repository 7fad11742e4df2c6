"""Fills a database by what callers, commands and time do, so that every table has rows."""

import base64
import json
import subprocess
import time
import urllib.error
import urllib.request
import uuid

TOKEN = "ab" * 32
#: What only a crash, a fault of a disk or a person with a telephone puts there.
BY_HAND = {
    "damaged_batch": "INSERT INTO damaged_batch (batch_id, push_id, found_at_ms) SELECT id, push_id, 1764000000000 FROM batch ORDER BY id DESC LIMIT 1",
    "batch_history": "INSERT INTO batch_history (batch_id, attempts) "
                     "SELECT id, '1\t1764000000000\t1a\trefused: badDeviceToken\n' FROM batch ORDER BY id LIMIT 1",
    "audit_horizon": "INSERT INTO audit_horizon (id, at_ms) VALUES (1, 1600000000000)",
    "person_identity": "INSERT INTO person_identity (issuer, subject, person_id) SELECT 'https://id.example.org', 'ann', id FROM person LIMIT 1",
    "recovery_code": "INSERT INTO recovery_code (person_id, code_hash) SELECT id, {blob} FROM person LIMIT 1",
    "dashboard_session": "INSERT INTO dashboard_session (person_id, token_hash, created_at_ms, last_seen_at_ms, address, agent) "
                         "SELECT id, {blob}, 1764000000000, 1764000000000, NULL, 'a browser' FROM person LIMIT 1",
    "compose_draft": "INSERT INTO compose_draft (person_id, application_id, schedule_id, form, saved_at_ms) "
                     "SELECT person.id, application.id, 0, 'body=Hello', 1764000000000 FROM person, application LIMIT 1",
    "schedule_run": "INSERT INTO schedule_run (schedule_id, due_at_ms, at_ms, ending) "
                    "SELECT id, 1764000000000, 1764000000000, 'missed' FROM schedule LIMIT 1",
    "connection_fault": "INSERT INTO connection_fault (platform_id, kind, detail, at_ms) SELECT id, 'dns', 'no such host', 1764000000000 FROM platform LIMIT 1",
    "gateway_feedback": "INSERT INTO gateway_feedback (platform_id, device_id, since_ms) SELECT platform_id, id, 1764000000000 FROM device LIMIT 1",
    "command_count": "INSERT INTO command_count (metric, labels, amount) VALUES ('belfry_pushes_accepted_total', '', 1)",
    "mirror_holder": "INSERT INTO mirror_holder (id, holder, held_until_ms) VALUES (1, {blob16}, 1764000000000)",
    "mirror_entry": "INSERT INTO mirror_entry (application_id, platform_id, device_id, method, body, created_at_ms) "
                    "SELECT application_id, id, 1, 'DELETE', {blob}, 1764000000000 FROM platform LIMIT 1",
    "geofence_update": "INSERT INTO geofence_update (platform_id, application_id, change_count, first_change_at_ms, due_at_ms) "
                       "SELECT id, application_id, 1, 1764000000000, 4102444800000 FROM platform LIMIT 1",
    "deleted_topic": "INSERT INTO deleted_topic (topic_id) SELECT max(id) + 1 FROM topic",
    "search_index_stale": "INSERT INTO search_index_stale (device_id) SELECT id FROM device LIMIT 1",
    "subscription": "INSERT INTO subscription (topic_id, platform_id, device_id) SELECT topic.id, device.platform_id, device.id FROM topic, device LIMIT 1",
}


def settings(folder):
    """Of the server while it is filled: a mirror that never answers, a broker, a heartbeat."""
    (folder / "secrets").write_text(f"{uuid.uuid4()} secret\n")
    (folder / "broker-password").write_text("a-broker-password-of-fixtures")
    return {
        "BELFRY_BROKER_USER": "broker", "BELFRY_BROKER_PASSWORD_FILE": str(folder / "broker-password"),
        "BELFRY_BROKER_API_URL": "https://push.example.org", "BELFRY_MIRROR_URL": "https://127.0.0.1:9",
        "BELFRY_MIRROR_SECRETS_FILE": str(folder / "secrets"), "BELFRY_HEARTBEAT_SECONDS": "1",
    }


class Node:
    """What `call` needs of a workspace."""

    def __init__(self, url):
        self.server = self
        self.url = url


def call(workspace, method, path, body=None, authorization=None, **headers):
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"content-type": "application/json", **headers}
    if authorization:
        head["authorization"] = "Basic " + base64.b64encode(":".join(authorization).encode()).decode()
    request = urllib.request.Request(f"{workspace.server.url}{path}", data, head, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()}") from None
    return json.loads(text) if text[:1] in (b"{", b"[") else None


def cli(workspace, *arguments):
    ended = subprocess.run(
        [workspace.binary, *arguments], cwd=workspace.home, env=workspace.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ended.returncode:
        raise RuntimeError(f"{arguments}: {ended.stderr}")
    return ended.stdout


def crowd(workspace):
    """So many devices that the search index has a segment (8,192), those of the application among them. `uncrowd` takes them away."""
    workspace.crowd = workspace.server.admin("POST", "apps", {"name": "Crowd"})["app_uuid"]
    workspace.server.admin("POST", f"apps/{workspace.crowd}/platforms", {
        "type": "ios", "name": "iPhone", "mode": "development", "credentials": workspace.apple})
    lines = [f"{number:064x}" for number in range(8_192)]
    workspace.write("crowd.csv", "\n".join(["registration_token", *lines]) + "\n")
    cli(workspace, "import", "devices", "--app", workspace.crowd, "--format", "csv", "crowd.csv")


def uncrowd(workspace):
    workspace.server.admin("DELETE", f"apps/{workspace.crowd}?force=true")


def fill(workspace):
    """The workspace serves, with an application and platforms of each kind."""
    server, app = workspace.server, workspace.app
    admin = lambda method, path, body=None: server.admin(method, path, body)
    platform = workspace.platforms["ios"]
    ios = (platform["platform_uuid"], platform["platform_secret"])

    for number in range(40):
        call(workspace, "POST", "/v1/registration", {
            "registration_token": f"{number:064x}", "os": "ios", "tags": ["town", "dairy"], "device_alias": f"Phone {number}",
            "custom_user_id": "emma"}, ios)
    monitor = call(workspace, "POST", "/v1/registration", {
        "registration_token": "be" * 32, "os": "ios", "tags": ["pcf.push.heartbeat"]}, ios)["device_uuid"]
    cli(workspace, "user", "set", "emma", "--app", app, "--language", "sv", "--attribute", "vip=true")
    topics = admin("POST", f"apps/{app}/topics", {"name": "passing", "expires_at": "2199-01-01T00:00:00Z"})
    admin("DELETE", f"apps/{app}/topics/{topics['name']}")

    shop = admin("POST", f"apps/{app}/locations", {"name": "Bakery", "latitude": 48.2, "longitude": 16.37, "radius": 100})["location_id"]
    group = admin("POST", f"apps/{app}/location-groups", {"name": "Shops", "location_ids": [shop]})["group_id"]
    fence = {"location_ids": [shop], "location_group_ids": [group], "trigger": "enter", "data": {"ios": {"alertBody": "Fresh bread"}},
             "expires_at": "2199-01-01T00:00:00Z"}
    kept = admin("POST", f"apps/{app}/geofences", fence)["geofence_id"]
    admin("DELETE", f"apps/{app}/geofences/{admin('POST', f'apps/{app}/geofences', fence)['geofence_id']}")

    receipt = server.push(app, {"title": "Bakery", "body": "Fresh bread", "badge": "+1"}, {"topics": ["town"]})
    call(workspace, "POST", f"/admin/v1/apps/{app}/pushes", {"message": {"body": "Once"}, "target": {"devices": [str(uuid.uuid4())]}},
         authorization=None, **{"Idempotency-Key": "once", "Authorization": f"Bearer {server.admin_key}"})
    admin("POST", f"apps/{app}/pushes", {"message": {"body": "Later"}, "target": {"everyone": True}, "send_at": "2199-01-01T00:00:00Z"})
    # Waits on a parked platform: its fan-out is open, and nobody looks its devices up.
    admin("POST", f"platforms/{workspace.platforms['webhook']['platform_uuid']}/park", {"reason": "moving"})
    server.push(app, {"body": "To all"})
    now = str(int(time.time() * 1000))
    device = workspace.environment["DEVICE_UUID"]
    events = [{"eventType": f"pcf_push_event_type_{kind}", "eventTime": now, "deviceUuid": who, **more} for kind, who, more in (
        ("push_notification_received", device, {"receiptId": receipt}), ("push_notification_opened", device, {"receiptId": receipt}),
        ("heartbeat", monitor, {}), ("geofence_location_triggered", device, {"geofenceId": str(kept), "locationId": str(shop)}))]
    call(workspace, "POST", "/v1/analytics", {"events": events}, ios)

    workspace.users()
    cli(workspace, "import", "devices", "--app", app, "--format", "onesignal", "users.csv", "--server", server.url, "--key-file", str(workspace.key_file))
    key = json.loads(cli(workspace, "acrobits", "reporter", "create", "--app", app, "--json"))["key"]
    cli(workspace, "acrobits", "app-id", "add", "--app", app, "--app-id", "com.example.phone", "--platform", ios[0])
    call(workspace, "GET", f"/acrobits/{key}/?username=ada&selector=S1&token={TOKEN}&appid=com.example.phone")
    cli(workspace, "carma", "account", "create", "--customer-id", "42", "--user", "anna", "--password-file", "password")
    cli(workspace, "carma", "app", "create", "--customer-id", "42", "--app-id", "com.example.app", "--app", app)
    workspace.write("trigger.json", json.dumps({"name": "Dinner", "default_language": "en", "languages": {"en": {"alert": "Hello"}}}))
    trigger = json.loads(cli(workspace, "carma", "trigger", "create", "--customer-id", "42", "--app-id", "com.example.app", "--file", "trigger.json", "--json"))
    anna = ("anna", workspace.environment["PASSWORD"])
    call(workspace, "PUT", "/rest/42/apps/com.example.app/pushdevices", {"originalId": "lars", "deviceInfo": [{"devicetoken": "cd" * 32}]}, anna)
    call(workspace, "POST", f"/rest/42/triggers/{trigger['trigger_id']}/messages", {"originalId": "lars"}, anna)
    call(workspace, "POST", "/rest/42/lists/1000000001/imports", {"type": "ADD", "delimiter": "44", "encoding": "UTF8", "identityColumn": "originalId"}, anna)
    cli(workspace, "genero", "enable", "--app", app)
    cli(workspace, "gateway", "credential", "create", "--platform", ios[0], "--fingerprint", "ab" * 32)
    broker = {"authorization": ("broker", "a-broker-password-of-fixtures"), "X-Broker-API-Version": "2.17"}
    plan = call(workspace, "GET", "/broker/v2/catalog", **broker)["services"][0]
    order = {"service_id": plan["id"], "plan_id": plan["plans"][0]["id"]}
    call(workspace, "PUT", "/broker/v2/service_instances/one", {**order, "organization_guid": "o", "space_guid": "s"}, **broker)
    call(workspace, "PUT", "/broker/v2/service_instances/one/service_bindings/two", order, **broker)
    cli(workspace, "admin", "user", "create", "--email", "ann@example.org", "--role", "operator", "--password-file", "password")
    cli(workspace, "admin", "user", "create", "--email", "bob@example.org", "--role", "read-only", "--app", app)
    admin("POST", "keys", {"name": "back end", "scope": "sender", "app_uuid": app})
    crowd(workspace)
    return {"app_uuid": app, "device_uuid": device, "receipt_id": receipt, "admin_key": server.admin_key,
            "platform_uuid": ios[0], "platform_secret": ios[1], "api_key": workspace.environment["API_KEY"]}
