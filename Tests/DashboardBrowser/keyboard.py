"""A person without a pointer: only keys are pressed, and where the focus is has to be seen."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from steps import EMAIL, PASSWORD, did, until

# Where the focus is: its name as a person reads it, and whether they see it.
FOCUS = """
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    const label = one.labels?.[0]?.querySelector("span")?.innerText ?? one.labels?.[0]?.innerText;
    const middle = document.elementFromPoint(box.x + box.width / 2, Math.max(0, box.y + Math.min(box.height, 40) / 2));
    return { name: one.name || "", type: one.type || one.localName,
             words: (one.getAttribute("aria-label") ?? label ?? one.innerText ?? "").trim(),
             inMain: !!one.closest("main, dialog"),
             seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
             covered: !!middle && middle !== one && !one.contains(middle) && !middle.contains(one) && !middle.closest("label"),
             ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 };
"""
STOPS_MAX = 150


class Keyboard:
    def __init__(self, browser):
        self.browser = browser

    def send(self, *keys):
        self.browser.steadily("keys", lambda: ActionChains(self.browser.driver).send_keys(*keys).perform())

    def focus(self):
        return self.browser.script(FOCUS)

    def tab_to(self, is_there, what):
        """Goes on by Tab until the focus is there. Every stop on the way has to be seen."""
        stops = []
        for _ in range(STOPS_MAX):
            focus = self.focus()
            if focus:
                if focus["type"] not in ["main", "html"]:
                    assert focus["seen"] and focus["ring"] and not focus["covered"], f"the focus is not seen: {focus}"
                if is_there(focus):
                    return focus
                stops.append(focus["name"] or focus["words"])
            self.send(Keys.TAB)
        raise AssertionError(f"Tab never reaches {what}; it stops at {stops}")

    def find(self):
        """Ctrl-K."""
        self.browser.steadily("Ctrl-K", lambda: ActionChains(self.browser.driver).key_down(Keys.CONTROL).send_keys("k").key_up(
            Keys.CONTROL).perform())

    def field(self, name, text=None):
        self.tab_to(lambda focus: focus["inMain"] and focus["name"] == name, name)
        if text is not None:
            self.send(text)

    def file(self, name, path):
        """The window in which one chooses a file is the desktop's; the driver stands in for it."""
        self.field(name)
        self.browser.steadily(name, lambda: self.browser.driver.switch_to.active_element.send_keys(path))

    def choose(self, name, value):
        """An option of a list, by going down to it."""
        self.field(name)
        for _ in range(self.browser.script("return document.activeElement.options.length")):
            if self.browser.script("return document.activeElement.value") == value:
                return
            self.send(Keys.ARROW_DOWN)
        assert self.browser.script("return document.activeElement.value") == value, (name, value)

    def press(self, words):
        self.tab_to(lambda focus: focus["inMain"] and focus["words"].startswith(words)
                    and focus["type"] in ["a", "submit", "button"], words)
        self.browser.script("document.isLeft = true")
        self.send(Keys.ENTER)
        self.browser.arrive(f"the page after {words}")


def log_in(browser, keys):
    browser.open("/dashboard/login")
    keys.field("email", EMAIL)
    keys.field("password", PASSWORD)
    browser.script("document.isLeft = true")
    keys.send(Keys.ENTER)
    browser.arrive("the page after the login")


def set_up(installation, browser):
    keys = Keyboard(browser)
    log_in(browser, keys)
    keys.press("New application")
    keys.field("name", "By keys")
    keys.press("Create")
    app = browser.fact("App UUID")
    keys.press("Next: add a platform")
    keys.press("iOS")
    keys.field("name", "Phones")
    keys.field("topic", "org.example.keys")
    keys.field("key_id", installation.apns["key-id"])
    keys.field("team_id", installation.apns["team-id"])
    keys.file("apns_key", installation.path("key.p8"))
    keys.file("trust_root", installation.path("ca.pem"))
    keys.field("endpoint", f"https://localhost:{installation.apns['port']}")
    keys.press("Add the platform")
    platform, secret = browser.fact("Platform UUID"), browser.fact("Platform secret")
    installation.register(platform, secret, "cd" * 32, "Keyboard", "kim", ["news"])
    keys.press("The platform")
    keys.press("Test the credentials")
    assert "The provider accepts the credentials." in browser.text(), browser.text()
    did("by keys alone: the login, an application, a platform and its test")
    return app


def compose(installation, browser, app):
    keys = Keyboard(browser)
    browser.open(f"/dashboard/apps/{app}/compose")
    keys.choose("audience", "topics")
    keys.field("names", "news")
    keys.field("body", "Written without a pointer")
    keys.press("Review")
    keys.press("Send it to")
    assert "Accepted" in browser.text(), browser.text()
    until("the push at the device", lambda: "Written without a pointer" in installation.ledger("cd" * 32))
    did("by keys alone: a push is written, counted and sent")


def search(installation, browser, app):
    keys = Keyboard(browser)
    browser.open(f"/dashboard/apps/{app}")
    keys.send(Keys.TAB)
    assert keys.focus()["words"] == "Skip to content", keys.focus()
    keys.find()
    is_open = "return !!document.querySelector('dialog.find[open]')"
    until("the search", lambda: browser.script(is_open))
    keys.send(Keys.ESCAPE)
    until("the end of the search", lambda: not browser.script(is_open))
    assert keys.focus()["words"] == "Skip to content", "the focus is back where it was"
    keys.find()
    keys.send("Keyb")
    results = "return [...document.querySelectorAll('dialog.find li')].map(one => one.innerText).join()"
    until("the device among the results", lambda: "Keyboard" in browser.script(results))
    until("the choice", lambda: move_to(browser, keys, "Keyboard"))
    browser.script("document.isLeft = true")
    keys.send(Keys.ENTER)
    browser.arrive("the page of the device")
    assert "/devices/" in browser.driver.current_url and "Keyboard" in browser.text(), browser.driver.current_url
    browser.open("/dashboard")
    keys.tab_to(lambda focus: focus["name"] == "q" and focus["words"] == "Search", "the search of the header")
    keys.send("Keyb")
    until("the device among the results", lambda: "Keyboard" in browser.script(results))
    until("the choice", lambda: move_to(browser, keys, "All results"))
    browser.script("document.isLeft = true")
    keys.send(Keys.ENTER)
    browser.arrive("the page of the search")
    assert "/search?" in browser.driver.current_url and "Keyboard" in browser.text(), browser.driver.current_url
    did("by keys alone: a device is searched for and found, from its application and from the overview")


def move_to(browser, keys, words):
    """Goes down by one until the choice with these words is the chosen one."""
    chosen = browser.script("""
        return document.querySelector('dialog.find [aria-selected="true"]')?.innerText ?? ''""")
    if chosen.startswith(words):
        return True
    keys.send(Keys.ARROW_DOWN)
    return False
