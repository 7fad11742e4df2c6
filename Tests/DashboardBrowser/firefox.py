"""Headless Firefox, driven as its own makers do: by Marionette."""

import base64
import os
import shutil
import tempfile

from marionette_driver.errors import MarionetteException
from marionette_driver.marionette import ActionSequence, Marionette

from chromium import Browser
from steps import PATIENCE

PREFS = {
    # Firefox itself asks nobody for anything.
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "network.manage-offline-status": False,
    "toolkit.cosmeticAnimations.enabled": False,
    "ui.prefersReducedMotion": 1,
    # The name that proxies serve in tests, with a certificate that nobody signed.
    "network.dns.localDomains": "push.example.org",
    "dom.security.https_first": False,
}

# Notes in the window of the browser which addresses its pages asked for.
WATCH = """
    Services.console.reset();
    window.asked = [];
    Services.obs.addObserver({ observe(subject) {
      const channel = subject.QueryInterface(Ci.nsIHttpChannel);
      const isPage = channel.loadInfo.externalContentPolicyType === Ci.nsIContentPolicy.TYPE_DOCUMENT;
      if (isPage || channel.loadInfo.triggeringPrincipal.isContentPrincipal) window.asked.push(channel.URI.spec);
    } }, "http-on-modify-request");
"""

# What the console has of pages: faults of scripts, and what broke their policy.
FAULTS = """
    return Services.console.getMessageArray().filter(line => line instanceof Ci.nsIScriptError)
      .filter(line => !(line.flags & (Ci.nsIScriptError.warningFlag | Ci.nsIScriptError.infoFlag)))
      .filter(line => line.category.includes("CSP") || line.sourceName.startsWith(arguments[0]))
      .map(line => `${line.category} ${line.sourceName}:${line.lineNumber} ${line.errorMessage}`);
"""


class Driver:
    """What the steps use of Selenium's driver."""

    def __init__(self):
        # Marionette deletes what stands at the path of the log, so that has to be a file of our own.
        self.folder = tempfile.TemporaryDirectory()
        self.marionette = Marionette(
            port=0, bin=shutil.which("firefox-esr"), headless=True, prefs=PREFS, gecko_log=os.path.join(self.folder.name, "log"),
            app_args=["-remote-allow-system-access"], startup_timeout=2 * PATIENCE)
        self.marionette.start_session({"acceptInsecureCerts": True})
        self.marionette.timeout.page_load = self.marionette.timeout.script = PATIENCE
        self.chrome(WATCH)

    def chrome(self, text, *arguments):
        """Runs with the browser's own rights."""
        with self.marionette.using_context("chrome"):
            return self.marionette.execute_script(text, script_args=arguments, sandbox="system")

    def get(self, url):
        self.marionette.navigate(url)

    def find_element(self, how, what):
        return self.marionette.find_element(how, what)

    def execute_script(self, text, *arguments):
        return self.marionette.execute_script(text, script_args=arguments, sandbox=None)

    @property
    def current_url(self):
        return self.marionette.get_url()

    @property
    def title(self):
        return self.marionette.title

    def delete_all_cookies(self):
        self.marionette.delete_all_cookies()

    def save_screenshot(self, file):
        with open(file, "wb") as picture:
            picture.write(base64.b64decode(self.marionette.screenshot(full=False)))

    def quit(self):
        self.marionette.quit()
        self.folder.cleanup()


class Firefox(Browser):
    CHANGES = (MarionetteException,)
    NAME = "Firefox"

    def refresh(self):
        self.driver.marionette.refresh()

    def back(self):
        self.driver.marionette.go_back()

    def drag(self, selector, start, end):
        def move():
            place = self.find(selector)
            pointer = ActionSequence(self.driver.marionette, "pointer", "drag", {"pointerType": "mouse"})
            pointer.pointer_move(start, 0, origin=place).pointer_down().pointer_move(end, 0, origin=place).pointer_up().perform()

        self.steadily(f"dragging on {selector}", move)

    def tab(self):
        return self.driver.marionette.current_window_handle

    def new_tab(self):
        opened = self.driver.marionette.open(type="tab", focus=True)["handle"]
        self.switch(opened)
        return opened

    def switch(self, tab):
        self.driver.marionette.switch_to_window(tab)

    def close_tab(self, tab):
        here = self.tab()
        self.switch(tab)
        self.driver.marionette.close()
        self.switch(here)

    def end_session(self):
        self.driver.marionette.delete_cookie("belfry_session")

    def launch(self):
        return Driver()

    def look(self, width=1280, dark=False):
        self.driver.marionette.set_window_rect(width=width, height=1000)
        # Windows are never narrower than 500 px, pages may be.
        self.driver.chrome("gBrowser.selectedBrowser.style.maxWidth = `${arguments[0]}px`;", width)
        self.driver.marionette.set_pref("layout.css.prefers-color-scheme.content-override", 0 if dark else 1)
        self.width, self.dark = width, dark

    def forget(self):
        self.driver.chrome("Services.console.reset(); window.asked.length = 0;")

    def check(self, *others):
        faults = self.driver.chrome(FAULTS, self.url)
        assert not faults, faults
        asked = self.driver.chrome("return window.asked")
        assert any(address.startswith(self.url + "/dashboard") for address in asked), "nothing was watched"
        strange = [address for address in asked if not address.startswith((self.url + "/", *others))]
        assert not strange, strange
