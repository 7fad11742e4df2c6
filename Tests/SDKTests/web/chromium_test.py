"""The page of the other tests in headless Chromium, up to where it needs the push service of its vendor.

Chromium takes subscriptions from that service alone, so none is made here. Its own tools then hand to the worker what the service would.
"""

import json
import sys
import traceback

from chromium import Chromium
from rig import Rig

SHOWN = """
    const worker = await navigator.serviceWorker.getRegistration()
    return (await worker.getNotifications()).map(({ title, body, icon, image, badge, tag, data, silent, actions }) =>
        ({ title, body, icon, image, badge, tag, data, silent, actions: actions.map(({ action, title }) => ({ action, title })) }))
"""


def message(**notification):
    return {"web_push": 8030, "mutable": True, "notification": {"navigate": "/", **notification}}


def shown(rig, chromium, payload, is_wanted):
    """What is shown once the payload is. Chromium drops a notification that it is asked about while its headless desktop does not have it yet, so
    what is not listed is delivered again."""
    for _ in range(8):
        chromium.deliver(rig.site.origin, payload)
        try:
            return rig.until("it is shown", lambda: [one for one in chromium.script(SHOWN) if is_wanted(one)], 4)
        except AssertionError:
            continue
    raise AssertionError(f"not shown in {chromium.script(SHOWN)}: {payload}")


def the_page_loads_and_is_off(rig, chromium):
    chromium.grant(rig.site.origin, "notifications")
    chromium.open(f"{rig.site.origin}/?server={rig.server.url}&key={rig.key}")
    rig.until("the page has loaded", lambda: chromium.script("return window.isLoaded === true"))
    assert chromium.script("return window.belfry.state") == "off"
    assert chromium.script("return window.belfry.isSupported") is True


def a_click_goes_as_far_as_the_push_service_and_says_so(rig, chromium):
    chromium.script("document.getElementById('subscribe').click()")
    rig.until("subscribe has answered", lambda: chromium.script("return window.results.length === 2"), 60)
    answer = chromium.script("const { state, error } = window.results[1]; return { state, error: String(error), json: JSON.stringify(error) }")
    assert answer["state"] == "off", answer
    # Some builds of Chromium say that they have no push service, others try to reach one.
    assert "Registration failed" in answer["error"] or "push service has not answered" in answer["error"], answer
    assert json.loads(answer["json"])["message"] in answer["error"], answer
    assert chromium.script("return (await navigator.serviceWorker.getRegistration()).active.state") == "activated"
    # The server's public part came through CORS: with no key of it the error would be another one.
    assert chromium.script(
        "return (await fetch(`${new URLSearchParams(location.search).get('server')}/web/v1/"
        "${new URLSearchParams(location.search).get('key')}`)).status") == 200
    assert rig.devices() == {}


def a_push_is_shown_with_all_its_parts_and_the_page_hears_of_it(rig, chromium):
    worker = chromium.worker(rig.site.origin)
    chromium.script("navigator.setAppBadge = async (count) => { self.badged = count }", worker)
    sent = message(
        title="Goal", body="1:0", icon="/icon.png", image="/image.png", badge="/badge.png", tag="score", silent=True,
        actions=[{"action": "more", "title": "More", "navigate": "/news.html"}], data={"data": {"game": 7}})
    found = shown(rig, chromium, {**sent, "app_badge": 3}, lambda one: True)
    at = rig.site.origin
    data = found[0].pop("data")
    assert data["navigate"] == "/" and data["data"] == {"data": {"game": 7}}, data
    assert found == [{
        "title": "Goal", "body": "1:0", "icon": f"{at}/icon.png", "image": f"{at}/image.png", "badge": f"{at}/badge.png",
        "tag": "score", "silent": True, "actions": [{"action": "more", "title": "More"}]}], found
    rig.until("the page heard of it", lambda: chromium.script("return window.heard.length > 0"))
    assert chromium.script("return window.heard[0].notification.title") == "Goal"
    assert chromium.script("return self.badged", worker) == 3


def a_push_is_replaced_by_its_receipt_and_retracted(rig, chromium):
    first, own = "0190-first", "0190-own"
    shown(rig, chromium, message(title="Goal", body="1:0", data={"receiptId": first}), lambda one: one["body"] == "1:0")
    shown(rig, chromium, message(title="Goal", body="2:0", tag=first, data={"receiptId": own}), lambda one: one["body"] == "2:0")
    rig.until("the first is closed", lambda: "1:0" not in [one["body"] for one in chromium.script(SHOWN)])
    chromium.deliver(rig.site.origin, {"belfry": {"retract": first}, "receiptId": "0190-retraction"})
    rig.until("nothing of it is shown", lambda: not [one for one in chromium.script(SHOWN) if one["tag"] == first])


def a_later_one_with_its_tag_replaces_it(rig, chromium):
    shown(rig, chromium, message(title="Goal", body="2:0", tag="score"), lambda one: one["body"] == "2:0")
    assert [one["body"] for one in chromium.script(SHOWN)] == ["2:0"]


def an_action_opens_its_own_address_and_a_click_that_of_the_push(rig, chromium):
    worker = chromium.worker(rig.site.origin)
    # A browser opens windows for clicks of its user alone.
    chromium.script("clients.openWindow = async (url) => { self.opened = url }", worker)
    for action, path in (("more", "/news.html"), ("", "/other.html")):
        sent = message(
            title="Goal", tag="other", navigate="/other.html",
            actions=[{"action": "more", "title": "More", "navigate": "/news.html"}])
        shown(rig, chromium, sent, lambda one: one["tag"] == "other")
        chromium.script(
            "const shown = await registration.getNotifications();"
            "const notification = shown.find(({ data }) => data.navigate === '/other.html');"
            f"await self.belfry.notificationclick({{ notification, action: {action!r} }})", worker)
        assert chromium.script("return self.opened", worker) == rig.site.origin + path
        rig.until("it is closed", lambda: "other" not in [one["tag"] for one in chromium.script(SHOWN)])


def something_is_shown_for_whatever_is_pushed(rig, chromium):
    for payload, title in (
        ({"title": "Actions that are none", "actions": 7}, "Actions that are none"), ({}, rig.site.origin[len("http://"):])
    ):
        shown(rig, chromium, payload, lambda one: one["title"] == title)


TESTS = [
    the_page_loads_and_is_off,
    a_click_goes_as_far_as_the_push_service_and_says_so,
    a_push_is_shown_with_all_its_parts_and_the_page_hears_of_it,
    a_later_one_with_its_tag_replaces_it,
    a_push_is_replaced_by_its_receipt_and_retracted,
    an_action_opens_its_own_address_and_a_click_that_of_the_push,
    something_is_shown_for_whatever_is_pushed,
]


def main(belfry, binary):
    rig = Rig(belfry)
    failed = 0
    chromium = Chromium(binary, rig.folder)
    try:
        for test in TESTS:
            name = test.__name__.replace("_", " ")
            try:
                test(rig, chromium)
                print(f"ok    {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
    finally:
        chromium.close()
        rig.close()
    print(f"Chromium: {len(TESTS) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], sys.argv[2]) else 0)
