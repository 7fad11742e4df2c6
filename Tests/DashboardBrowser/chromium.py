"""Headless Chromium, driven by Selenium."""

import json
import re
import shutil
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains

from steps import EMAIL, PASSWORD, PATIENCE, NotYet


class Browser:
    """A person at a headless Chromium.

    Pages draw themselves anew while a push is sent, and a form leads to another page. So no element is kept between steps: each step
    finds what it needs, is tried again where the page changed meanwhile, and waits for a state of the page and never for a time.
    """

    # What a driver says of a page that changed meanwhile.
    CHANGES = (WebDriverException,)
    NAME = "Chromium"

    def __init__(self, url, width=1280, dark=False):
        self.url = url
        self.driver = self.launch()
        self.look(width, dark)

    def launch(self):
        options = webdriver.ChromeOptions()
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000",
                     "--force-prefers-reduced-motion", "--disable-component-update", "--disable-background-networking"]:
            options.add_argument(flag)
        # The name that proxies serve in tests, with a certificate that nobody signed.
        options.add_argument("--host-resolver-rules=MAP push.example.org 127.0.0.1")
        options.add_argument("--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable")
        options.accept_insecure_certs = True
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        driver.set_page_load_timeout(PATIENCE)
        driver.set_script_timeout(PATIENCE)
        return driver

    def look(self, width=1280, dark=False):
        """The width of the window and the colours that the person prefers. Windows are never narrower than 500 px, pages may be."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.width, self.dark = width, dark

    def steadily(self, what, act):
        """The act's result, tried again while the page changes under it."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return act()
            except (*self.CHANGES, NotYet) as error:
                if time.monotonic() > end:
                    raise AssertionError(f"{what}: {error}\n{self.driver.current_url}\n{self.heading()}") from error
                time.sleep(0.1)

    def heading(self):
        """What a page that does not change says first, if anything."""
        try:
            return self.driver.execute_script("return document.querySelector('main')?.innerText.slice(0, 300)")
        except self.CHANGES as error:
            return str(error)

    def script(self, text, *arguments):
        return self.steadily("a script", lambda: self.driver.execute_script(text, *arguments))

    def open(self, path):
        self.steadily(path, lambda: self.driver.get(self.url + path))

    def find(self, selector):
        """An element to be used at once, within `steadily`."""
        return self.driver.find_element("css selector", selector)

    def fill(self, name, text, within="main"):
        def type_in():
            field = self.find(f"{within} [name='{name}']")
            if field.tag_name == "select":
                return self.find(f"{within} [name='{name}'] option[value='{text}']").click()
            if field.get_attribute("type") not in ["file"]:
                field.clear()
            field.send_keys(text)

        self.steadily(f"the field {name}", type_in)

    def fill_in(self, submit, name, text):
        """A field of the form with this button, where several forms have one of the name."""
        def type_in():
            field = self.driver.execute_script("""
                for (const form of document.querySelectorAll("main form"))
                    if ([...form.querySelectorAll("button")].some(button => button.innerText.trim() === arguments[0]))
                        return form.querySelector(`[name="${arguments[1]}"]`);""", submit, name)
            if field is None:
                raise NotYet(f"no form says {submit}")
            field.clear()
            field.send_keys(text)

        self.steadily(f"the field {name} of {submit}", type_in)

    def press(self, words):
        """The button or link that begins with these words, to the end of loading the page that it leads to."""
        def click():
            button = self.driver.execute_script("""
                const all = [...document.querySelectorAll("main button, main a.button")];
                const found = all.find(button => button.innerText.trim().startsWith(arguments[0]));
                if (!found) return null;
                found.scrollIntoView({ block: "center" });
                document.isLeft = true;
                return found;""", words)
            if button is None:
                raise NotYet(f"no button says {words}: {self.text()}")
            button.click()

        self.steadily(f"the button {words}", click)
        self.arrive(f"the page after {words}")

    def arrive(self, what):
        """Waits until the page whose document was marked as left is gone, and the next one is loaded."""
        def is_new():
            if not self.driver.execute_script("return !document.isLeft && document.readyState === 'complete'"):
                raise NotYet("the old page is still there")

        self.steadily(what, is_new)

    def drag(self, selector, start, end):
        """Presses beside the middle of an element, so far to the right, and lets go at another place."""
        def move():
            place = self.find(selector)
            ActionChains(self.driver).move_to_element_with_offset(place, start, 0).click_and_hold().move_by_offset(
                end - start, 0).release().perform()

        self.steadily(f"dragging on {selector}", move)

    def text(self):
        return self.script("const main = document.querySelector('main'); return main ? main.innerText : ''")

    def fact(self, label):
        def look():
            found = self.driver.execute_script("""
                const all = [...document.querySelectorAll(".facts > div")];
                const pair = all.find(pair => pair.querySelector("dt").innerText === arguments[0]);
                return pair ? pair.querySelector("code").innerText : null;""", label)
            if found is None:
                raise NotYet(f"no {label} on the page: {self.text()}")
            return found

        return self.steadily(label, look)

    def log_in(self):
        self.open("/dashboard/login")
        self.fill("email", EMAIL)
        self.fill("password", PASSWORD)
        self.press("Log in")
        assert "/login" not in self.driver.current_url, self.text()

    def refresh(self):
        self.driver.refresh()

    def back(self):
        self.driver.back()

    def tab(self):
        return self.driver.current_window_handle

    def new_tab(self):
        """Opens one, and goes there."""
        self.driver.switch_to.new_window("tab")
        return self.tab()

    def switch(self, tab):
        self.driver.switch_to.window(tab)

    def close_tab(self, tab):
        here = self.tab()
        self.switch(tab)
        self.driver.close()
        self.switch(here)

    def end_session(self):
        """As the server does after a time: the browser has its cookie no more."""
        self.driver.delete_cookie("belfry_session")

    def too_wide(self):
        """By how many pixels the page is wider than its window."""
        return self.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def check(self, *others):
        """No error in the console but that of a form that was refused, and no request to another origin.

        - others: the beginnings of addresses elsewhere that the scenario itself opened.
        """
        lines = [line["message"] for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
        bad = [line for line in lines if not re.search(r"status of (401|422)\b", line) and not line.startswith(others)]
        assert not bad, bad
        for asked in self.loaded():
            assert asked.startswith((self.url + "/", "data:", "chrome:", "blob:" + self.url, *others)), asked

    def loaded(self):
        """The addresses that were asked for since the last look, each with the bytes that came over the wire."""
        addresses, sizes = {}, {}
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            facts = message["params"]
            if message["method"] == "Network.requestWillBeSent":
                addresses[facts["requestId"]] = facts["request"]["url"]
                sizes.setdefault(facts["request"]["url"], 0)
            if message["method"] == "Network.loadingFinished" and facts["requestId"] in addresses:
                sizes[addresses[facts["requestId"]]] += facts["encodedDataLength"]
        return sizes

    def forget(self):
        """What stands in the console, and what was asked for."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")

    def picture(self, file):
        self.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        height = min(1500, max(640, self.script("return document.documentElement.scrollHeight")))
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": self.width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.save_screenshot(file)
        self.look(self.width, self.dark)

    def quit(self):
        self.driver.quit()
