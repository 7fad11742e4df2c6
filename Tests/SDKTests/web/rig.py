"""A browser, a push service, a site and the server, on free ports of the loopback, with a folder of their own."""

import asyncio
import functools
import http.server
import pathlib
import subprocess
import tempfile
import threading
import time

from belfry_server import Belfry
from firefox import Firefox
from push_service import PushService

HERE = pathlib.Path(__file__).parent


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("cache-control", "no-cache")
        super().end_headers()


class Site:
    def __init__(self, folder, server_url):
        self.folder = folder / "site"
        self.folder.mkdir()
        (self.folder / "index.html").write_text((HERE / "site" / "index.html").read_text())
        (self.folder / "news.html").write_text("<!doctype html><title>News</title>")
        self.worker(f'importScripts("{server_url}/sdk/web/v1/belfry-worker.js")\n')
        self.http = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(self.folder)))
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.origin = f"http://localhost:{self.http.server_port}"

    def worker(self, text, path="belfry-worker.js"):
        file = self.folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def certificates(folder):
    """A CA for an hour, and a certificate of localhost by it."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    (folder / "extensions").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=CA of a test")
    openssl("req", *key, "-keyout", "push.key", "-out", "push.csr", "-subj", "/CN=localhost")
    openssl(
        "x509", "-req", "-in", "push.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
        "-extfile", "extensions", "-out", "push.pem")


class Rig:
    def __init__(self, belfry, firefox=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="belfry-sdk-"))
        certificates(self.folder)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.service = PushService(self.folder / "push.pem", self.folder / "push.key")
        self.call(self.service.start())
        self.server = Belfry(belfry, self.folder, settings={"BELFRY_PCF_VERIFY_CUSTOM_USER_ID": "true"})
        self.site = Site(self.folder, self.server.url)
        self.app = self.server.admin("POST", "apps", {"name": "Shop"})["app_uuid"]
        self.platform, self.key = self.web_platform()
        self.browser = Firefox(firefox, self.service.ws_port, self.folder / "firefox.log") if firefox else None

    def web_platform(self):
        made = {"type": "web", "name": "Web", "credentials": self.credentials()}
        platform = self.server.admin("POST", f"apps/{self.app}/platforms", made)["platform_uuid"]
        return platform, self.open(platform)

    def open(self, platform):
        """Lets the pages of the site register browsers, and returns the key for it."""
        return self.server.admin("PUT", f"platforms/{platform}/web", {"origins": [self.site.origin]})["web"]["registration_key"]

    def credentials(self):
        return {"subject": "mailto:push@shop.example", "trust_root": (self.folder / "ca.pem").read_text()}

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def close(self):
        for end in ([self.browser.close] if self.browser else []) + [self.server.stop, self.site.close]:
            try:
                end()
            except Exception as error:  # The others are ended all the same.
                print("while ending:", error)

    # What tests ask.

    def page(self, origin=None, path="", worker=None, key=None):
        asked = f"server={self.server.url}&key={key or self.key}" + (f"&worker={worker}" if worker else "")
        self.browser.open(f"{origin or self.site.origin}/{path}?{asked}")
        self.until("the page has loaded", lambda: self.browser.script("return window.isLoaded === true"))

    def subscribe(self):
        count = self.browser.script("return window.results.length")
        self.browser.click("subscribe")
        self.until("subscribe has answered", lambda: self.browser.script("return window.results.length") > count)
        return self.browser.script("const { state, error } = window.results.at(-1); return { state, error: error && String(error) }")

    def ask(self, call):
        """What a call of the SDK resolves to: the state, and the text of the error or None."""
        return self.browser.script(
            f"const {{ state, error }} = await window.belfry.{call}; return [state, error ? error.message : null]")

    def state(self):
        return self.browser.script("return window.belfry.state")

    def device(self):
        return self.browser.script("return window.belfry.device")

    def shown(self):
        return self.browser.script(
            "const worker = await navigator.serviceWorker.getRegistration();"
            "return (await worker.getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, data }))")

    def counts(self, receipt):
        platforms = self.server.admin("GET", f"pushes/{receipt}/analytics")["platforms"]
        return platforms[0]["counts"] if platforms else {}

    def devices(self, platform=None):
        """The UUIDs of a platform's devices, and whether each is active."""
        found = self.server.admin("GET", f"apps/{self.app}/devices?platform_uuid={platform or self.platform}")["devices"]
        return {device["device_uuid"]: device["active"] for device in found}

    def settled(self, receipt):
        return self.until("the push is settled", lambda: (
            found := self.server.receipt(receipt)) and found["state"] == "settled" and found["counts"])

    def until(self, what, check, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = check()
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds} s in vain until {what}")

    def click_notification(self):
        """Clicks what the desktop shows: a window of the browser's own."""
        return self.browser.chrome(
            "for (const alert of Services.wm.getEnumerator('alert:alert')) {"
            "  alert.document.getElementById('alertBox').click(); return true }"
            "return false")

    def dismiss_notification(self):
        """Closes what the desktop shows, as its user does."""
        return self.browser.chrome(
            "for (const alert of Services.wm.getEnumerator('alert:alert')) { alert.close(); return true }"
            "return false")

    def tabs(self):
        return self.browser.chrome(
            "return Services.wm.getMostRecentWindow('navigator:browser').gBrowser.tabs"
            ".map((tab) => tab.linkedBrowser.currentURI.spec)")

    def close_other_tabs(self):
        handles = self.browser.marionette.window_handles
        for handle in handles[1:]:
            self.browser.marionette.switch_to_window(handle)
            self.browser.marionette.close()
        self.browser.marionette.switch_to_window(handles[0])

    def clear(self):
        self.browser.script(
            "const worker = await navigator.serviceWorker.getRegistration();"
            "for (const shown of await worker.getNotifications()) shown.close(); window.heard.length = 0")
