"""Ten jobs, each from the overview to its effect, in no more clicks than the best console of others documents for it.

A click is one press of the pointer: links, buttons, boxes, a place on the map, a field where nothing but the pointer opens it, and the
choice of a file. A list to choose from counts two, as one opens it and takes an entry. Typing is no click, nor is reaching a field by Tab;
keys are told apart. The same is counted for the others, from their own start page, an application among several chosen first where they
have applications. Steps that a page of theirs does not number are not counted, so the numbers are rather too low than too high.
"""

import datetime
import json
import urllib.request

from steps import NotYet, did, until

# Where a person may press: what begins with the words and is seen, the shortest of these.
FIND = """
    const [words, within] = arguments, wanted = "a, button, summary, label, [role=option]";
    const all = [...document.querySelectorAll(within)].flatMap(one => [...one.querySelectorAll(wanted)]).filter(one =>
      one.checkVisibility({ visibilityProperty: true }) && (one.innerText ?? "").trim().toLowerCase().startsWith(words.toLowerCase()));
    const found = all.sort((one, other) => one.textContent.length - other.textContent.length)[0];
    found?.scrollIntoView({ block: "center" });
    return found ?? null;"""


class Hand:
    """A person's pointer and keyboard, which count what they do."""

    def __init__(self, browser):
        self.browser, self.clicks, self.keys = browser, 0, 0

    def press(self, find, what, leaves):
        def act():
            place = find()
            if place is None:
                raise NotYet(f"{what} is nowhere: {self.browser.text()}")
            if leaves:
                self.browser.script("document.isLeft = true")
            place.click()

        self.browser.steadily(what, act)
        self.clicks += 1
        if leaves:
            self.browser.arrive(f"the page after {what}")

    def click(self, words, within="main", leaves=True):
        self.press(lambda: self.browser.driver.execute_script(FIND, words, within), words, leaves)

    def click_at(self, selector, leaves=False):
        self.press(lambda: self.browser.find(selector), selector, leaves)

    def sees(self, words, within):
        return self.browser.script(FIND, words, within) is not None

    def type(self, name, text, within="main"):
        self.browser.fill(name, text, within)
        self.keys += len(text)

    def choose(self, name, value):
        self.browser.fill(name, value)
        self.clicks += 2

    def file(self, name, path):
        self.browser.fill(name, path)
        self.clicks += 1

    def search(self, text, result):
        """The search of the header, which is on every page."""
        self.click_at("form.search input[type=search]")
        self.browser.steadily("the search", lambda: self.browser.find("dialog.find[open] input").send_keys(text))
        self.keys += len(text)
        self.click(result, "dialog.find")

    def menu(self, words, folded=None):
        """A page of the menu, which phones keep behind a button."""
        if not self.sees(words, "#menu") and self.sees("Menu", "header"):
            self.click("Menu", "header", leaves=False)
        if folded and not self.sees(words, "#menu"):
            self.click(folded, "#menu", leaves=False)
        self.click(words, "#menu")


class World:
    """An application whose name no other has, with devices, for one browser at one width."""

    def __init__(self, installation, browser, name):
        self.installation, self.browser, self.name = installation, browser, name
        self.mark = f"{abs(hash(name)) % 16 ** 8:08x}"
        made = self.asked("POST", "/admin/v1/apps", {"name": f"Town {name}"})
        self.app, self.key = made["app_uuid"], made["api_key"]
        key, authority = (open(installation.path(file)).read() for file in ["key.p8", "ca.pem"])
        self.platform = self.asked("POST", f"/admin/v1/apps/{self.app}/platforms", {
            "name": "iPhones", "type": "ios", "mode": "development", "credentials": {
                "topic": "org.example.news", "key_id": installation.apns["key-id"], "team_id": installation.apns["team-id"],
                "apns_key": key, "trust_root": authority, "endpoint": f"https://localhost:{installation.apns['port']}"}})
        self.topic = f"news-{self.mark}"
        self.devices = {}
        for number in range(6):
            alias = f"Phone {number} {name}"
            self.devices[number] = installation.register(
                self.platform["platform_uuid"], self.platform["platform_secret"], self.token(number), alias, f"user-{number}-{self.mark}", [self.topic])

    def token(self, number):
        return f"{self.mark}{number:056x}"

    def asked(self, method, path, body=None):
        request = urllib.request.Request(
            self.installation.url + path, json.dumps(body).encode() if body is not None else None, method=method,
            headers={"Authorization": f"Bearer {self.installation.key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def told(self, number):
        return self.installation.ledger(self.token(number))

    def send(self, body, **more):
        """A push by the API, which is there before the job begins."""
        sent = self.asked("POST", f"/admin/v1/apps/{self.app}/pushes", {
            "message": {"body": body}, "target": {"topics": [self.topic]}, **more})
        return sent["receipt_id"]

    def deliver(self, body):
        """The same, to its end."""
        push = self.send(body)
        until(f"the end of {body}", lambda: self.receipt(push)["state"] == "settled")
        return push

    def receipt(self, push):
        return self.asked("GET", f"/admin/v1/pushes/{push}")

    def fail(self, number):
        """From now on the device's token is refused."""
        verdict = {self.token(number): {"reason": "BadDeviceToken"}}
        control = f"http://127.0.0.1:{self.installation.apns['control-port']}/script/verdicts"
        urllib.request.urlopen(urllib.request.Request(control, json.dumps(verdict).encode(), method="POST")).close()

    def rows(self, sql, *values):
        own = "(SELECT id FROM application WHERE uuid = ?)"
        return self.installation.rows(sql.replace("OWN", own), bytes.fromhex(self.app.replace("-", "")), *values)


def push_to_a_topic(world, hand):
    hand.search(world.topic, world.topic)
    hand.click("Compose to this topic")
    hand.type("body", f"The bridge is open, {world.name}")
    until("the number of devices", lambda: "Send it to 6 devices" in world.browser.text())
    hand.click("Send it to 6 devices")
    until("the push at the device", lambda: f"The bridge is open, {world.name}" in world.told(0))


def why_not(world, hand):
    hand.search(f"Phone 5 {world.name}", "Phone 5")
    hand.click("Token refused")
    text = world.browser.text()
    assert "BadDeviceToken" in text and "What helps" in text, text


def monday(world, hand):
    hand.click(f"Town {world.name}")
    hand.click("Compose a push")
    hand.type("body", "Good morning")
    day = datetime.date.today()
    day += datetime.timedelta(days=7 - day.weekday())
    # Each driver types dates in its own way: the keys of a person are counted instead.
    world.browser.script("""
        const field = document.querySelector("[name=send_at]");
        field.value = arguments[0];
        field.dispatchEvent(new Event("input", { bubbles: true }));""", f"{day}T08:30")
    hand.keys += len("2026-01-01 08:30")
    hand.choose("clock", "local")
    until("the number of devices", lambda: hand.sees("Schedule it for 6 devices", "main"))
    hand.click("Schedule it for 6 devices")
    made, = world.asked("GET", f"/admin/v1/apps/{world.app}/schedules")["schedules"]
    assert made["state"] == "waiting" and made["local"]["local"] == f"{day}T08:30", made


def stop_a_push(world, hand):
    push = world.send("Slow news", throttle_per_minute=1)
    until("the first device", lambda: world.receipt(push)["counts"].get("accepted"))
    hand.click(f"Town {world.name}")
    hand.click("Cancel the rest")
    hand.click("Skip 5 devices")
    counts = until("the end of the push", lambda: world.receipt(push)["state"] == "settled" and world.receipt(push)["counts"])
    assert counts["accepted"] == 1 and counts["skipped: cancelled"] == 5, counts


def invite(world, hand):
    address = f"kim-{world.mark}@example.org"
    hand.menu("People", folded="Administration")
    hand.type("email", address)
    hand.choose("scope", "read-only")
    hand.click("Create the link")
    assert "/dashboard/" in world.browser.fact("Link")
    assert world.installation.rows("SELECT scope FROM invitation WHERE email = ?", address) == [("read-only",)]


def rotate_a_key(world, hand):
    hand.click(f"Town {world.name}")
    hand.menu("Settings")
    hand.click("New API key")
    key = world.browser.fact("API key")
    assert key != world.key and len(key) == len(world.key), key
    assert world.rows("SELECT previous_api_key_hash IS NULL FROM application WHERE id = OWN"), "replaced"


def add_ios(world, hand):
    hand.click(f"Town {world.name}")
    hand.menu("Platforms")
    hand.click("Add a platform")
    hand.click("iOS")
    hand.file("apns_key", world.installation.path("key.p8"))
    for name, text in [("name", "More iPhones"), ("topic", "org.example.news"), ("key_id", world.installation.apns["key-id"]),
                       ("team_id", world.installation.apns["team-id"])]:
        hand.type(name, text)
    # What makes the simulator stand in for Apple, where nobody has to say anything.
    world.browser.fill("trust_root", world.installation.path("ca.pem"))
    world.browser.fill("endpoint", f"https://localhost:{world.installation.apns['port']}")
    hand.click("Add the platform")
    assert "The provider accepts the credentials." in world.browser.text(), world.browser.text()
    assert world.rows("SELECT name FROM platform WHERE application_id = OWN AND kind = 'ios' ORDER BY id")[1:] == [("More iPhones",)]


def find_a_phone(world, hand):
    hand.search(f"user-3-{world.mark}", "Phone 3")
    assert world.browser.driver.current_url.endswith(f"/devices/{world.devices[3]}"), world.browser.driver.current_url


def export_failures(world, hand):
    hand.click(f"Town {world.name}")
    hand.click("The market is shut")
    link = world.browser.steadily("the link", lambda: world.browser.driver.execute_script(FIND, "Download as CSV", "main")
                                  .get_attribute("href"))
    hand.click("Download as CSV", leaves=False)
    # The file that the link leads to, as the browser has it: where it stores it is the browser's own matter.
    text = world.browser.steadily("the file", lambda: world.browser.driver.execute_script(
        "const ask = new XMLHttpRequest(); ask.open('GET', arguments[0], false); ask.send(); return ask.responseText;", link))
    assert text.split() == ["device_uuid,answer", f"{world.devices[5]},refused:", "badToken"], text


def make_a_geofence(world, hand):
    hand.click(f"Town {world.name}")
    hand.menu("Places")
    hand.click_at(".map svg[data-frame]")
    hand.type("name", "Market")
    hand.type("body", "Welcome to the market")
    hand.click("Create the location")
    assert world.rows("SELECT json_extract(data, '$.ios.alertBody') FROM geofence WHERE application_id = OWN") == [("Welcome to the market",)]


JOBS = [
    # What is done, the clicks of the best known console, whose they are and where they are documented.
    ("push to a topic", push_to_a_topic, 4, "Amazon SNS: Topics, the topic, Publish message, Publish message",
     "docs.aws.amazon.com/sns/latest/dg/sns-publishing.html"),
    ("why did somebody not get it", why_not, 3, "OneSignal: the app, Messages, the message, whose report lists the audience",
     "documentation.onesignal.com/reference/export-csv-of-events"),
    ("schedule for Monday, local time", monday, 6, "OneSignal: the app, New Message, New Push, schedule, by time zone, Send",
     "documentation.onesignal.com/docs/push"),
    ("stop a running push", stop_a_push, 3, "AppMetrica: the app, Push campaigns, Abort sending",
     "yandex.com/dev/appmetrica/doc/push/concepts/cancel.html"),
    ("invite a person", invite, 6, "OneSignal: Organizations, the organization, Team members, Invite, the role, Send",
     "documentation.onesignal.com/docs/manage-team-members"),
    ("rotate a key", rotate_a_key, 5, "Stripe: Developers, API keys, •••, Roll key, Roll",
     "support.orderup.com.au/en/articles/9738251 (steps as a customer of Stripe's tells them)"),
    ("add an iOS platform", add_ios, 7, "OneSignal: the app, Settings, Push & In-App, Apple iOS, .p8 Auth Key, the file, Save & Continue",
     "documentation.onesignal.com/docs/ios-p8-token-based-connection-to-apns"),
    ("find a user's phone", find_a_phone, 4, "OneSignal: the app, Audience, Users, the user",
     "documentation.onesignal.com/docs/en/users.md"),
    ("export the failures of a push", export_failures, 4, "OneSignal: the app, Messages, the message, Export",
     "documentation.onesignal.com/reference/export-csv-of-events"),
    ("make a geofence", make_a_geofence, 5, "Webex Connect: Tools, Geofence, Add New Geofence, the map, Save",
     "help.webexconnect.io/docs/geo-fences"),
]


def do_all(installation, browser, width):
    """Needs a browser that is logged in."""
    world = World(installation, browser, f"{browser.NAME} {width}")
    world.deliver("All is well")
    world.fail(5)
    world.deliver("The market is shut")
    told, slow = [], []
    for name, job, clicks_max, whose, _ in JOBS:
        hand = Hand(browser)
        browser.open("/dashboard")
        job(world, hand)
        told.append(f"{name} {hand.clicks} of {clicks_max} and {hand.keys} keys")
        if hand.clicks > clicks_max:
            slow.append(f"{name}: {hand.clicks} clicks, {whose}: {clicks_max}")
    assert not slow, "; ".join(slow)
    did(f"{browser.NAME} at {width} px: ten jobs in no more clicks than the best console documents: {', '.join(told)}")
