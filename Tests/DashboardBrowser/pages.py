"""How long each page takes over HTTP: half of its requests, and 99 of a hundred."""

import http.cookiejar
import re
import time
import urllib.error
import urllib.parse
import urllib.request

# Below an application; PUSH, DEVICE, TOPIC, USER and PLATFORM stand for those that its lists begin with.
PAGES = [
    "", "/setup", "/platforms", "/platforms/PLATFORM", "/platforms/new?type=ios", "/devices", "/devices?q=phone", "/devices?active=no",
    "/devices/DEVICE", "/users", "/users?q=u", "/users?id=USER", "/topics", "/topics/TOPIC", "/devices?topic=TOPIC", "/segments",
    "/compose", "/compose?topic=TOPIC", "/pushes", "/pushes?q=news", "/pushes/PUSH", "/pushes/PUSH?answer=accepted",
    "/pushes/PUSH/devices/DEVICE", "/schedules", "/campaigns", "/templates", "/places", "/geofences/new", "/analytics", "/logs", "/import",
    "/settings"]
WHOLE = ["", "/apps", "/account", "/search?q=phone", "/admin/people", "/admin/keys", "/admin/audit", "/admin/tenants", "/admin/nodes",
         "/admin/settings", "/admin/logs", "/admin/database", "/admin/versions"]
FIRST = {"PUSH": r"/pushes/([0-9a-f-]{36})", "DEVICE": r"/devices/([0-9a-f-]{36})", "TOPIC": r"/topics/([^\"/?]+)\"",
         "USER": r"/users\?id=([^\"&]+)", "PLATFORM": r"/platforms/([0-9a-f-]{36})"}
P99_MAX = 50


class Visitor:
    def __init__(self, url, email, password):
        self.url = url.rstrip("/") + "/dashboard"
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', self.get("/login")))
        form |= {"email": email, "password": password}
        self.opener.open(self.url + "/login", urllib.parse.urlencode(form).encode()).close()
        assert "Log out" in self.get(""), "the login was refused"

    def get(self, path):
        with self.opener.open(self.url + path) as answer:
            return answer.read().decode()


def measure(url, email, password, requests):
    """Prints a line for each page, the slowest first."""
    visitor = Visitor(url, email, password)
    apps = re.findall(r'href="[^"]*/apps/([0-9a-f-]{36})"[^>]*>[^<]*</a>.*?data-label="Devices"[^>]*>(?:<[^>]*>)*([0-9,]+)', visitor.get(""), re.S)
    app = "/apps/" + max(apps, key=lambda one: int(one[1].replace(",", "")))[0]
    lists = {"PUSH": "/pushes", "DEVICE": "/devices", "TOPIC": "/topics", "USER": "/users", "PLATFORM": "/platforms"}
    known = {}
    for name, path in lists.items():
        found = re.search(app + FIRST[name], visitor.get(app + path))
        known[name] = found and found[1]
    rows, skipped = [], []
    for path in WHOLE + [app + page for page in PAGES]:
        needed = [name for name in FIRST if re.search(rf"\b{name}\b", path)]
        if not all(known[name] for name in needed):
            skipped.append(f"{path}: there is none")
            continue
        for name in needed:
            path = re.sub(rf"\b{name}\b", known[name], path)
        times = []
        try:
            for _ in range(requests):
                began = time.monotonic()
                visitor.get(path)
                times.append((time.monotonic() - began) * 1_000)
        except urllib.error.HTTPError as error:
            skipped.append(f"{path}: {error}")
            continue
        times.sort()
        rows.append((times[min(requests - 1, requests * 99 // 100)], times[requests // 2], path))
    print(f"p99 ms  p50 ms  page, of {requests} requests")
    for most, half, path in sorted(rows, reverse=True):
        print(f"{most:6.1f}  {half:6.1f}  {path.replace(app, 'APP') or '/'}{'  over ' + str(P99_MAX) if most > P99_MAX else ''}")
    for words in skipped:
        print(" " * 15, words.replace(app, "APP"))
