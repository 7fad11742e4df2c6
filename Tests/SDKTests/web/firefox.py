"""Headless Firefox, driven as its own makers do: by Marionette."""

import base64

from marionette_driver.marionette import Marionette

PREFS = {
    "dom.push.enabled": True,
    "dom.push.connection.enabled": True,
    "dom.push.testing.allowInsecureServerURL": True,
    "dom.push.testing.ignorePermission": False,
    "dom.push.retryBaseInterval": 200,
    "dom.push.pingInterval": 600000,
    "dom.push.maxQuotaPerSubscription": 1000,
    "dom.serviceWorkers.enabled": True,
    "dom.serviceWorkers.idle_timeout": 30000,
    "permissions.default.desktop-notification": 1,
    "dom.webnotifications.enabled": True,
    "alerts.useSystemBackend": False,
    # The service of the test is on this machine, where Firefox would say that it is offline without a network.
    "network.manage-offline-status": False,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "toolkit.cosmeticAnimations.enabled": False,
}

# Stands in for the part of the desktop that shows a notification and is clicked. The browser does everything before and after.
ALERTS = """
    const { MockRegistrar } = ChromeUtils.importESModule("resource://testing-common/MockRegistrar.sys.mjs");
"""


class Firefox:
    def __init__(self, binary, push_port, log):
        prefs = {**PREFS, "dom.push.serverURL": f"ws://127.0.0.1:{push_port}/"}
        self.marionette = Marionette(
            bin=binary, headless=True, prefs=prefs, gecko_log=str(log), app_args=["-remote-allow-system-access"])
        self.marionette.start_session()
        self.marionette.timeout.script = 60

    def close(self):
        self.marionette.quit()

    def open(self, url):
        self.marionette.navigate(url)

    def click(self, element_id):
        self.marionette.find_element("id", element_id).click()

    def screenshot(self, file):
        file.write_bytes(base64.b64decode(self.marionette.screenshot()))

    def script(self, text, *arguments):
        """Runs in the page; may await."""
        return self.marionette.execute_async_script(
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            f"(async () => {{ {text} }})().then(done, (error) => done({{ failed: String(error) }}));",
            script_args=arguments, sandbox=None)

    def chrome(self, text, *arguments):
        """Runs with the browser's own rights; may await."""
        with self.marionette.using_context("chrome"):
            return self.marionette.execute_async_script(
                "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
                f"(async () => {{ {text} }})().then(done, (error) => done({{ failed: String(error) + error.stack }}));",
                script_args=arguments)
