"""A real browser gets real pushes: belfry.js and belfry-worker.js in headless Firefox, against the real server.

    Scripts/sdk-browser BELFRY [NAME …]    runs all tests, or those whose names contain one of the words
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import traceback
import urllib.request

import five_minutes
import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from push_service import b64, unb64
from rig import Rig


def a_click_subscribes_and_a_push_is_shown_clicked_and_counted(rig):
    rig.page()
    assert rig.state() == "off"
    answer = rig.subscribe()
    assert answer["state"] == "active", answer
    assert rig.devices() == {rig.device(): True}
    assert rig.browser.script("return window.belfry.topics") == ["news"]
    assert len(rig.service.accepted) == 1, "the push that proves the browser"
    assert rig.service.refused == []
    receipt = rig.server.push(
        rig.app, {"web": {"title": "Goal", "body": "1:0", "navigate": "/news.html", "data": {"game": 7}}},
        {"topics": ["news"]})
    assert rig.settled(receipt) == {"accepted": 1}
    shown = rig.until("it is shown", rig.shown)
    assert [(one["title"], one["body"]) for one in shown] == [("Goal", "1:0")], shown
    assert shown[0]["data"]["data"]["data"] == {"game": 7}, shown
    rig.until("the page heard of it", lambda: rig.browser.script("return window.heard.length") == 1)
    rig.until("it is counted as received", lambda: rig.counts(receipt).get("received") == 1)
    rig.until("the desktop shows it", rig.click_notification)
    rig.until("its page is open", lambda: f"{rig.site.origin}/news.html" in rig.tabs())
    rig.until("it is counted as opened", lambda: rig.counts(receipt).get("opened") == 1)
    assert rig.shown() == []
    assert rig.counts(receipt) == {"sent": 1, "received": 1, "opened": 1}


def a_notification_that_is_removed_is_counted_as_dismissed_and_not_as_opened(rig):
    receipt = rig.server.push(rig.app, {"web": {"title": "Not now"}})
    rig.until("the desktop shows it", rig.dismiss_notification)
    rig.until("it is counted", lambda: {"received", "dismissed"} <= rig.counts(receipt).keys())
    assert rig.counts(receipt) == {"sent": 1, "received": 1, "dismissed": 1}, rig.counts(receipt)
    assert rig.shown() == []


def a_message_says_how_the_push_service_treats_it(rig):
    message = {"title": "Quiet", "topic": "score_7", "urgency": "very-low", "ttl": 0, "silent": True}
    receipt = rig.server.push(rig.app, {"web": message})
    assert rig.settled(receipt) == {"accepted": 1}
    sent = rig.service.accepted[-1]
    assert (sent.topic, sent.urgency, sent.ttl) == ("score_7", "very-low", 0)
    # Shown and heard of later, it would be taken for the next one.
    rig.until("it is shown", lambda: "Quiet" in [one["title"] for one in rig.shown()])
    rig.until("the page heard of it", lambda: rig.browser.script(
        "return window.heard.some((message) => message.notification?.title === 'Quiet')"))


def a_push_of_the_senders_own_form_is_shown_too(rig):
    rig.clear()
    rig.server.push(rig.app, {"custom": {"web": {"title": "Own", "body": "form", "answer": 42}}})
    shown = rig.until("it is shown", rig.shown)
    assert shown[0]["title"] == "Own", shown
    rig.until("the page heard of it", lambda: rig.browser.script("return window.heard.length") == 1)
    assert rig.browser.script("return window.heard[0].answer") == 42
    rig.clear()
    # What writes JSON often writes members that are not there.
    rig.server.push(rig.app, {"custom": {"web": {"title": None, "body": None, "icon": None, "app_badge": None}}})
    shown = rig.until("it is shown", rig.shown)
    assert (shown[0]["title"], shown[0]["body"]) == (rig.site.origin[7:], ""), shown
    rig.until("the page heard of it", lambda: rig.browser.script("return window.heard.length") == 1)


def of_three_pushes_with_one_topic_an_offline_browser_shows_the_last(rig):
    rig.clear()
    rig.call(rig.service.go_offline())
    for score in ("1:0", "2:0", "3:0"):
        rig.settled(rig.server.push(rig.app, {"web": {"title": "Score", "body": score, "topic": "score"}}))
    rig.settled(rig.server.push(rig.app, {"web": {"title": "Too late", "ttl": 0}}))
    rig.service.go_online()
    shown = rig.until("something is shown", rig.shown)
    assert [one["body"] for one in shown] == ["3:0"], shown
    heard = rig.until(
        "the page heard of it", lambda: rig.browser.script("return window.heard.map((message) => message.notification.title)"))
    assert heard == ["Score"], heard


def each_of_two_tabs_hears_a_push_and_they_share_a_device(rig):
    rig.clear()
    before = rig.devices()
    first = rig.browser.marionette.current_window_handle
    second = rig.browser.marionette.open(type="tab", focus=True)["handle"]
    rig.browser.marionette.switch_to_window(second)
    rig.page()
    rig.until("the second tab is active", lambda: rig.state() == "active")
    rig.server.push(rig.app, {"web": {"title": "To both"}})
    for handle in (second, first):
        rig.browser.marionette.switch_to_window(handle)
        rig.until("the tab heard of it", lambda: rig.browser.script("return window.heard.length") == 1)
    assert rig.devices() == before
    rig.close_other_tabs()


def a_worker_that_was_updated_goes_on(rig):
    rig.clear()
    rig.site.worker(f'// another one\nimportScripts("{rig.server.url}/sdk/web/v1/belfry-worker.js")\n')
    rig.browser.script("await (await navigator.serviceWorker.getRegistration()).update()")
    rig.page()
    rig.until("it is active", lambda: rig.state() == "active")
    rig.server.push(rig.app, {"web": {"title": "After the update"}})
    rig.until("it is shown", rig.shown)


def another_vapid_key_makes_another_subscription_of_the_same_device(rig):
    rig.clear()
    rig.ask("unsubscribe()")
    assert rig.ask("subscribe({ topics: ['news'], welcome: { title: 'Welcome' } })") == ["active", None]
    assert [one["title"] for one in rig.shown()] == ["Welcome"], rig.shown()
    device = rig.device()
    for is_unconfirmed in (False, True):
        rig.clear()
        before = record(rig)
        if is_unconfirmed:
            # What the worker leaves that has replaced a lost subscription without the server.
            rig.browser.script(
                "const { pushManager } = await navigator.serviceWorker.getRegistration();"
                "const store = await caches.open('belfry'), record = await (await store.match('/belfry/record')).json();"
                "await (await pushManager.getSubscription()).unsubscribe();"
                "const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: record.vapid });"
                "record.wish = { ...record.wish, previous: record.wish.subscription, subscription };"
                "await store.put('/belfry/record', Response.json(record))")
        key = base64.b64encode(b"\1" + os.urandom(31)).decode()
        rig.server.admin("PUT", f"platforms/{rig.platform}/credentials", {"credentials": {**rig.credentials(), "vapid_key": key}})

        def renewed():
            rig.page()
            return record(rig)["vapid"] != before["vapid"] and not record(rig)["wish"]["previous"]

        rig.until("the new subscription is registered", renewed)
        assert rig.device() == device
        assert list(rig.devices().values()).count(True) == 1, rig.devices()
        assert rig.shown() == [], "the welcome is shown once"
    receipt = rig.server.push(rig.app, {"web": {"title": "With the new key"}})
    assert rig.settled(receipt) == {"accepted": 1}
    rig.until("it is shown", rig.shown)


def a_subscription_that_its_service_ended_is_replaced_on_the_next_page_load(rig):
    rig.service.end_subscriptions()
    receipt = rig.server.push(rig.app, {"web": {"title": "To none"}})
    assert list(rig.settled(receipt)) == ["gone"], rig.settled(receipt)
    rig.page()
    rig.until("it is active again", lambda: rig.state() == "active")
    assert list(rig.devices().values()).count(True) == 1, rig.devices()
    rig.clear()
    rig.server.push(rig.app, {"web": {"title": "Back"}})
    rig.until("it is shown", rig.shown)


def an_endpoint_that_is_gone_for_good_is_replaced(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    device = rig.device()
    rig.browser.script(
        "const { prototype } = PushManager, { getSubscription } = prototype;"
        "prototype.getSubscription = async function () {"
        "    prototype.getSubscription = getSubscription;"
        "    const own = await this.getSubscription(), endpoint = 'https://permanently-removed.invalid/fcm/send/x';"
        "    return { endpoint, toJSON: () => ({ ...own.toJSON(), endpoint }), unsubscribe: () => own.unsubscribe() }"
        "}")
    assert rig.ask("setAttributes({})") == ["active", None]
    assert rig.device() == device
    assert rig.settled(rig.server.push(rig.app, {"web": {"title": "Back"}})) == {"accepted": 1}


def a_subscription_that_the_browser_lost_is_replaced_by_the_worker_alone(rig):
    device = rig.device()
    rig.browser.open("about:blank")
    accepted = len(rig.service.accepted)
    rig.call(rig.service.forget_agents())
    rig.until("the new subscription has been proven", lambda: len(rig.service.accepted) > accepted)
    receipt = None

    def reached():
        nonlocal receipt
        receipt = rig.server.push(rig.app, {"web": {"title": "Without a page"}})
        return rig.settled(receipt).get("accepted")

    rig.until("a push is accepted", reached)
    rig.page()
    rig.until("it is active", lambda: rig.state() == "active")
    assert rig.device() == device
    rig.until("it is shown", rig.shown)


def a_page_of_another_origin_is_refused(rig):
    other = rig.site.origin.replace("localhost", "127.0.0.1")
    rig.page(other)
    answer = rig.subscribe()
    assert answer["state"] != "active" and answer["error"], answer


def a_withdrawn_permission_ends_the_device(rig):
    rig.page()
    rig.until("it is active", lambda: rig.state() == "active")
    rig.browser.chrome(
        "const origin = Services.scriptSecurityManager.createContentPrincipalFromOrigin(given[0]);"
        "Services.perms.addFromPrincipal(origin, 'desktop-notification', Services.perms.DENY_ACTION)", rig.site.origin)
    rig.page()
    assert rig.state() == "blocked", rig.state()
    rig.until("the device is inactive", lambda: True not in rig.devices().values())
    rig.browser.chrome(
        "const origin = Services.scriptSecurityManager.createContentPrincipalFromOrigin(given[0]);"
        "Services.perms.removeFromPrincipal(origin, 'desktop-notification')", rig.site.origin)


def a_message_of_another_server_is_decrypted_by_the_browser(rig):
    rig.clear()
    rig.server.admin("PATCH", f"apps/{rig.app}", {"web_push_endpoints": "on"})
    ask = "return JSON.stringify(await window.belfry.endpoint())"
    answer = json.loads(rig.browser.script(ask))
    subscription = answer["subscription"]
    assert answer["state"] == "active" and subscription["endpoint"].startswith(f"{rig.server.url}/wp/"), answer
    assert json.loads(rig.browser.script(ask))["subscription"] == subscription, "it is made once"
    for text, wanted in ((b'{"title":"Mention","body":"by Eve"}', ("Mention", "by Eve")), (b"{no JSON", (rig.site.origin[7:], "{no JSON"))):
        rig.clear()
        body = http_ece.encrypt(
            text, private_key=ec.generate_private_key(ec.SECP256R1()),
            dh=unb64(subscription["keys"]["p256dh"]), auth_secret=unb64(subscription["keys"]["auth"]), version="aes128gcm")
        request = urllib.request.Request(
            subscription["endpoint"], data=body, method="POST", headers={"TTL": "60", "Content-Encoding": "aes128gcm", "Urgency": "high"})
        with urllib.request.urlopen(request, timeout=30) as sent:
            assert sent.status == 201 and sent.headers["TTL"] == "60", sent.headers
        shown = rig.until("it is shown", rig.shown)
        assert [(one["title"], one["body"]) for one in shown] == [wanted], shown
        assert rig.service.accepted[-1].body == body, "it was relayed as it came"
    device = rig.device()
    path = f"apps/{rig.app}/devices/{device}/endpoints"
    rig.server.admin("DELETE", f"{path}/{rig.server.admin('GET', path)['endpoints'][0]['endpoint_id']}")
    other = json.loads(rig.browser.script(ask))["subscription"]
    assert other["endpoint"] != subscription["endpoint"], "it was revoked"
    assert json.loads(rig.browser.script(f"window.fetch = async () => {{ throw new TypeError('offline') }}; {ask}"))["subscription"] == other
    rig.server.admin("DELETE", f"apps/{rig.app}/devices/{device}")
    rig.page()
    assert rig.device() != device
    assert json.loads(rig.browser.script(ask))["subscription"]["endpoint"] != other["endpoint"], "it went with its device"


def record(rig):
    return json.loads(rig.browser.script("return (await (await caches.open('belfry')).match('/belfry/record')).text()"))


def attributes_are_kept_until_they_are_confirmed(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    for attributes in ({"plan": "gold"}, {"age": 7}):
        assert rig.browser.script("return await window.belfry.setAttributes(given[0])", attributes)["state"] == "active"
    assert record(rig)["wish"]["attributes"] == {"plan": "gold", "age": 7}, record(rig)


def a_change_that_the_server_refuses_is_undone(rig):
    rig.page()
    assert rig.ask("unsubscribe()") == ["off", None]
    state, error = rig.ask("subscribe({ encryptionKeys: { p256dh: 'x', auth: 'y' } })")
    assert state == "off" and error.startswith("encryption_keys"), (state, error)
    assert rig.ask("subscribe({ topics: ['news'], attributes: { plan: 'gold' } })") == ["active", None]
    refused = {
        "topics": "setTopics(Array.from({ length: 65 }, (_, number) => `t${number}`))",
        "body": "setTopics(Array.from({ length: 64 }, (_, number) => `t${number}`.padEnd(255, 'x')))",
        "attributes.plan": "setAttributes({ plan: 'x'.repeat(256), age: 7 })", "app_version": "subscribe({ appVersion: 'x'.repeat(256) })"}
    for field, call in refused.items():
        state, error = rig.ask(call)
        assert state == "active" and error.startswith(f"{field} "), (field, state, error)
        assert rig.ask("setAttributes({})") == ["active", None], field
    wish = record(rig)["wish"]
    assert (wish["topics"], wish["attributes"], wish.get("app_version")) == (["news"], {"plan": "gold"}, None), wish


def a_page_that_moves_to_another_platform_is_one_device(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    key = base64.b64encode(b"\1" + os.urandom(31)).decode()
    platform, other = rig.web_platform()
    for one in (rig.platform, platform):
        rig.server.admin("PUT", f"platforms/{one}/credentials", {"credentials": {**rig.credentials(), "vapid_key": key}})
    rig.page()
    rig.page(key=other)
    assert rig.ask("ready") == ["active", None]
    assert rig.devices(platform) == {rig.device(): True}
    rig.until("the other platform has no device", lambda: True not in rig.devices().values())
    assert rig.ask("unsubscribe()") == ["off", None]


def an_answer_of_a_proxy_is_an_error(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    rig.browser.script("window.fetch = async () => new Response('<h1>Not found</h1>', { status: 404 })")
    assert rig.ask("unsubscribe()") == ["active", "404 without JSON"]


def an_end_that_the_server_does_not_hear_is_none(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    for answer in ("throw new TypeError('no time')", "return Response.json({ message: 'no time' }, { status: 429 })"):
        rig.browser.script(f"window.fetch = async () => {{ {answer} }}")
        assert rig.ask("unsubscribe()") == ["active", "no time"]
    rig.page()
    assert rig.ask("ready") == ["active", None]
    # What the server knows of no device, or takes no more from this page, is ended here all the same.
    rig.server.admin("DELETE", f"platforms/{rig.platform}/web")
    assert rig.ask("unsubscribe()") == ["off", None]
    assert list(rig.settled(rig.server.push(rig.app, {"web": {"title": "To none"}}))) == ["gone"]
    rig.key = rig.open(rig.platform)


def another_sdk(rig, before):
    """State, error, device and states of an SDK that the page makes in a world that is changed before."""
    return rig.browser.script(
        "const [server, platform] = ['server', 'key'].map((name) => new URLSearchParams(location.search).get(name));"
        f"const {{ Belfry }} = await import(`${{server}}/sdk/web/v1/belfry.js`); {before};"
        "const belfry = new Belfry({ server, platform }), states = []; belfry.onstate = (state) => states.push(state);"
        "const { state, error } = await belfry.ready; return [state, error?.message ?? null, belfry.device, states]")


def a_registered_browser_is_active_while_the_server_is_away(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    answer = another_sdk(rig, "window.fetch = async () => { throw new TypeError('offline') }")
    assert answer == ["active", "offline", rig.device(), ["active"]], answer


def a_page_without_tls_is_unsupported(rig):
    rig.page()
    answer = another_sdk(rig, "for (const part of ['serviceWorker', 'locks']) Object.defineProperty(navigator, part, { value: undefined })")
    assert answer == ["unsupported", None, None, ["unsupported"]], answer


def an_end_is_heard_by_the_other_tabs(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    first = rig.browser.marionette.current_window_handle
    rig.browser.marionette.switch_to_window(rig.browser.marionette.open(type="tab", focus=True)["handle"])
    rig.page()
    assert rig.ask("unsubscribe()") == ["off", None]
    rig.browser.marionette.switch_to_window(first)
    rig.until("the tab heard of it", lambda: rig.state() == "off" and rig.device() is None)
    assert rig.ask("setTopics(['sport'])") == ["off", "This browser is not subscribed"]
    rig.close_other_tabs()


def a_user_stays_when_the_shared_secret_is_replaced(rig):
    def secret():
        return bytes.fromhex(rig.server.admin("POST", f"apps/{rig.app}/shared-secret", {})["shared_secret"])

    text = b64(b'{"alg":"HS256"}') + "." + b64(b'{"custom_user_id":"emma"}')
    user = f"{text}.{b64(hmac.new(secret(), text.encode(), hashlib.sha256).digest())}"
    rig.page()
    assert rig.ask(f"subscribe({{ user: '{user}' }})") == ["active", None]
    secret()
    rig.page()
    assert rig.ask("ready") == ["active", None]
    assert rig.server.admin("GET", f"apps/{rig.app}/devices/{rig.device()}")["custom_user_id"] == "emma"
    state, error = rig.ask(f"setUser('{user}')")
    assert state == "active" and error.startswith("custom_user_id is signed with another secret"), (state, error)
    assert rig.ask("unsubscribe()") == ["off", None]


def two_platforms_of_one_site_keep_apart(rig):
    rig.page()
    rig.ask("unsubscribe()")
    platform, key = rig.web_platform()
    keys = {"shop": rig.key, "blog": key}
    for part in keys:
        rig.site.worker((rig.site.folder / "belfry-worker.js").read_text(), f"{part}/belfry-worker.js")
        rig.site.worker((rig.site.folder / "index.html").read_text(), f"{part}/index.html")

    def load(part):
        rig.page(path=f"{part}/", worker=f"/{part}/belfry-worker.js", key=keys[part])

    load("shop")
    assert rig.subscribe()["state"] == "active"
    device = rig.device()
    # The one record that earlier versions had for all workers of a site.
    rig.browser.script(
        "const store = await caches.open('belfry'), { scope, ...record } = await (await store.match('/shop/belfry/record')).json();"
        "await store.put('/belfry/record', Response.json(record)); await store.delete('/shop/belfry/record')")
    load("blog")
    assert (rig.state(), rig.devices(platform)) == ("off", {})
    assert rig.subscribe()["state"] == "active"
    assert rig.devices(platform) == {rig.device(): True}
    load("shop")
    assert (rig.state(), rig.device()) == ("active", device)
    load("blog")
    assert rig.ask("unsubscribe()") == ["off", None]
    load("shop")
    assert rig.ask("ready") == ["active", None]
    assert rig.ask("unsubscribe()") == ["off", None]
    assert True not in (rig.devices() | rig.devices(platform)).values()
    rig.browser.script("await (await caches.open('belfry')).delete('/belfry/record')")


def a_worker_below_a_path_is_ended_too(rig):
    rig.site.worker((rig.site.folder / "belfry-worker.js").read_text(), "shop/belfry-worker.js")
    rig.ask("unsubscribe()")
    rig.browser.script("for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister()")
    rig.page(worker="/shop/belfry-worker.js")
    assert rig.subscribe()["state"] == "active"
    assert rig.browser.script("return (await window.belfry.unsubscribe()).state") == "off"
    assert rig.browser.script(
        "return (await (await navigator.serviceWorker.getRegistration('/shop/')).pushManager.getSubscription()) === null")
    assert True not in rig.devices().values(), rig.devices()


def a_worker_that_does_not_start_is_an_error(rig):
    rig.site.worker("addEventListener('activate', (event) => event.waitUntil(clients.claim()))", "other-worker.js")
    rig.site.worker("addEventListener('install', (event) => event.waitUntil(Promise.reject(new Error('no'))))", "failing-worker.js")
    subscribe = "const { state, error } = await window.belfry.subscribe(); return { state, error: String(error) }"
    rig.page(worker="/failing-worker.js")
    answer = rig.browser.script(subscribe)
    assert answer["state"] == "off" and "could not be installed" in answer["error"], answer
    # A worker of the site's own that has this page.
    rig.browser.script(
        "await navigator.serviceWorker.register('/other-worker.js'); await navigator.serviceWorker.ready;"
        "while (!navigator.serviceWorker.controller) await new Promise((later) => setTimeout(later, 50))")
    rig.page()
    answer = rig.browser.script(subscribe)
    assert answer["state"] == "proving" and "within 30 seconds" in answer["error"], answer
    rig.browser.script("for (const one of await navigator.serviceWorker.getRegistrations()) await one.unregister()")
    rig.page()


def a_click_ends_the_subscription(rig):
    rig.page()
    assert rig.subscribe()["state"] == "active"
    rig.browser.click("unsubscribe")
    rig.until("it is off", lambda: rig.state() == "off")
    assert True not in rig.devices().values(), rig.devices()
    assert rig.browser.script(
        "return (await (await navigator.serviceWorker.getRegistration()).pushManager.getSubscription()) === null")


def the_test_page_subscribes_and_shows_what_arrives(rig):
    rig.browser.open(f"{rig.server.url.replace('127.0.0.1', 'localhost')}/sdk/web/v1/test#{rig.key}")
    rig.browser.click("subscribe")
    rig.until("it is active", lambda: rig.browser.script("return document.getElementById('state').textContent") == "active")
    assert "ms" in rig.browser.script("return document.getElementById('latency').textContent")
    rig.server.push(rig.app, {"web": {"title": "To the test page"}})
    rig.until("it is listed", lambda: "To the test page" in rig.browser.script(
        "return document.getElementById('messages').textContent"))


def the_five_minutes_of_the_document_end_with_a_push(rig):
    five_minutes.play(rig)


TESTS = [
    a_click_subscribes_and_a_push_is_shown_clicked_and_counted,
    a_notification_that_is_removed_is_counted_as_dismissed_and_not_as_opened,
    a_message_says_how_the_push_service_treats_it,
    a_push_of_the_senders_own_form_is_shown_too,
    a_message_of_another_server_is_decrypted_by_the_browser,
    of_three_pushes_with_one_topic_an_offline_browser_shows_the_last,
    each_of_two_tabs_hears_a_push_and_they_share_a_device,
    a_worker_that_was_updated_goes_on,
    another_vapid_key_makes_another_subscription_of_the_same_device,
    a_subscription_that_its_service_ended_is_replaced_on_the_next_page_load,
    an_endpoint_that_is_gone_for_good_is_replaced,
    a_subscription_that_the_browser_lost_is_replaced_by_the_worker_alone,
    a_page_of_another_origin_is_refused,
    a_withdrawn_permission_ends_the_device,
    attributes_are_kept_until_they_are_confirmed,
    a_change_that_the_server_refuses_is_undone,
    a_page_that_moves_to_another_platform_is_one_device,
    an_answer_of_a_proxy_is_an_error,
    an_end_that_the_server_does_not_hear_is_none,
    a_registered_browser_is_active_while_the_server_is_away,
    a_page_without_tls_is_unsupported,
    an_end_is_heard_by_the_other_tabs,
    a_user_stays_when_the_shared_secret_is_replaced,
    two_platforms_of_one_site_keep_apart,
    a_worker_below_a_path_is_ended_too,
    a_worker_that_does_not_start_is_an_error,
    a_click_ends_the_subscription,
    the_test_page_subscribes_and_shows_what_arrives,
    the_five_minutes_of_the_document_end_with_a_push,
]


def main(belfry, firefox, words):
    rig = Rig(belfry, firefox)
    failed = 0
    # The first makes the subscription that the others have.
    wanted = TESTS[:1] + [test for test in TESTS[1:] if not words or any(word in test.__name__ for word in words)]
    try:
        for test in wanted:
            name = test.__name__.replace("_", " ")
            try:
                test(rig)
                print(f"ok    {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAIL  {name}\n{traceback.format_exc()}", flush=True)
    finally:
        rig.close()
    log = (rig.folder / "belfry.log").read_text()
    if " error " in log:
        failed += 1
        print(f"FAIL  the server logs no error\n{log}")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1], sys.argv[2], sys.argv[3:]) else 0)
