"""Real Apprise and, where it is installed, real Alertmanager and Prometheus of Debian publish to Belfry.

    python publishers_test.py BELFRY [RECORD]
"""

import datetime
import json
import pathlib
import shutil
import sys
import tempfile

import apprise

from rig import Rig, call, free_port, until

TOKEN = "ab" * 32


class Door:
    """An open endpoint, behind the recorder."""

    def __init__(self, rig, kind, *options):
        self.path = rig.belfry("publisher", "enable", kind, "--app", rig.app, *options)["path"]
        self.host = rig.recorder.url.removeprefix("http://")


def shown(rig, body, seconds=60):
    """What the phone shows, once its text has a word."""
    def now():
        payload = rig.payload(TOKEN)
        return payload if payload and body in payload["aps"]["alert"].get("body", "") else None
    return until(now, f"nothing shows {body}: {rig.payload(TOKEN)}", seconds)["aps"]["alert"]


def notify(address, body, title, kind=apprise.NotifyType.INFO):
    sender = apprise.Apprise()
    assert sender.add(address), address
    assert sender.notify(body=body, title=title, notify_type=kind), f"Apprise says that it failed: {address}"


def by_json(rig):
    door = Door(rig, "apprise", "--topic", "alarms")
    notify(f"json://{door.host}{door.path}", "by json ä€😀", "Nightly", apprise.NotifyType.FAILURE)
    assert shown(rig, "by json ä€😀")["title"] == "Nightly"


def by_ntfy(rig):
    """Apprise posts to the root of an ntfy server whatever its address says, with the key as the password."""
    door = Door(rig, "ntfy")
    key = door.path.rsplit("/", 1)[1]
    notify(f"ntfy://any:{key}@{door.host}/alarms?priority=high&tags=warning", "by ntfy", "Disk")
    title = shown(rig, "by ntfy")["title"]
    assert title == "⚠️ Disk", title


def by_gotify(rig):
    door = Door(rig, "gotify", "--topic", "alarms")
    notify(f"gotify://{door.host}{door.path.removesuffix('/message')}/any-token?priority=high", "by gotify", "Load")
    assert shown(rig, "by gotify")["title"] == "Load"


def by_alertmanager(rig):
    door, port = Door(rig, "alerts", "--topic", "alarms"), free_port()
    (rig.folder / "alertmanager.yml").write_text(json.dumps({
        "route": {"receiver": "belfry", "group_wait": "0s", "group_interval": "1s", "group_by": ["alertname"]},
        "receivers": [{"name": "belfry", "webhook_configs": [{"url": rig.recorder.url + door.path, "send_resolved": True}]}]}))
    log = rig.start("alertmanager", [
        "prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=alerts", f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=", "--web.external-url=http://alertmanager.example"])
    until(lambda: "Listening on" in log.read_text(), "Alertmanager does not start")
    url = f"http://127.0.0.1:{port}/api/v2/alerts"
    alert = {"labels": {"alertname": "DiskFull", "severity": "critical", "instance": "a:9100"},
             "annotations": {"summary": "Disk of a is full"}, "generatorURL": "http://prometheus.example/graph"}
    until(lambda: posted(url, [alert]), "Alertmanager takes no alert")
    firing = shown(rig, "Disk of a is full")
    assert "1" in firing["title"] and "DiskFull" in firing["title"], firing
    ended = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)).isoformat()
    posted(url, [{**alert, "endsAt": ended}])
    until(lambda: rig.payload(TOKEN)["aps"]["alert"] != firing, "the end of the alert shows nothing")
    assert "esolved" in rig.payload(TOKEN)["aps"]["alert"]["title"], rig.payload(TOKEN)


def posted(url, alerts):
    try:
        call("POST", url, alerts)
        return True
    except OSError:
        return False


def main(binary):
    tests, failed = [by_json, by_ntfy, by_gotify], 0
    if shutil.which("prometheus-alertmanager"):
        tests.append(by_alertmanager)
    else:
        print("skip  by_alertmanager: prometheus-alertmanager is not installed")
    with tempfile.TemporaryDirectory(prefix="belfry-publishers-") as name:
        rig = Rig(binary, name)
        try:
            rig.device(TOKEN, topics=["alarms"])
            for test in tests:
                first = len(rig.recorder.exchanges)
                try:
                    test(rig)
                    print(f"ok    {test.__name__}", flush=True)
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL  {test.__name__}: {error}\n{json.dumps(rig.recorder.exchanges[first:], indent=1)}", flush=True)
        finally:
            if len(sys.argv) > 2:
                pathlib.Path(sys.argv[2]).write_text(json.dumps(rig.recorder.exchanges, indent=1))
            rig.end()
    print(f"publishers: {len(tests) - failed} passed, {failed} failed")
    return failed


sys.exit(1 if main(sys.argv[1]) else 0)
