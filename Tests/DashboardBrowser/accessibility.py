"""Every page that a link leads to: what axe finds, whether it fits a phone, and whether the link leads anywhere."""

import importlib.util
import os
import re
import urllib.error
import urllib.request
from urllib.parse import parse_qsl, urljoin, urlsplit

from steps import did, until

# axe-core as a package of PyPI has it; the package's own code is for another driver, and is not used.
AXE = open(os.path.join(importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0], "axe.min.js")).read()

RUN = """
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }).then(
      result => done(result.passes.length < 10 ? ["axe hardly looked at it"] : result.violations.map(found => `${found.id}: ${found.help}: ` +
        found.nodes.slice(0, 4).map(node => `${node.target.join(" ")} ${node.html.slice(0, 160)}`).join(" | "))),
      error => done([String(error)]));
"""


def findings(browser):
    """What axe finds on the page that is open."""
    if not browser.script("return typeof axe === 'object'"):
        browser.script(AXE)
    return browser.steadily("axe", lambda: browser.driver.execute_async_script(RUN))


def look_at(browser, name):
    """The page in light, in dark, and as on a phone. Returns what is wrong, a line each."""
    wrong = []
    for width, dark in [(1280, False), (1280, True), (360, False)]:
        browser.look(width, dark)
        how = f"{name} at {width} px{' in dark' if dark else ''}"
        wrong += [f"{how}: {found}" for found in findings(browser)]
        if browser.too_wide() > 0:
            wrong.append(f"{how} is {browser.too_wide()} px too wide: {widest(browser)}")
    browser.look()
    return wrong


def widest(browser):
    """Which elements reach out of the window, to say so."""
    return browser.script("""
        const out = [...document.querySelectorAll("body *")].filter(one => one.getBoundingClientRect().right > innerWidth + 1);
        return out.slice(-3).map(one => one.outerHTML.slice(0, 120)).join(" | ");""")


def prove_the_watch(browser):
    """What axe should find, and what is too wide, is found."""
    browser.open("/dashboard")
    browser.script("""
        const wide = document.createElement("p");
        wide.textContent = "m".repeat(400);
        document.querySelector("main").append(document.createElement("img"), wide);""")
    found = look_at(browser, "planted")
    assert any("image-alt" in one for one in found) and any("too wide" in one for one in found), found


class Crawl:
    """The pages that links lead to from one another, one of each kind: ids of the same place count as one."""

    def __init__(self, browser):
        self.browser, self.seen, self.pages, self.wrong, self.dead = browser, {}, [], [], []

    def kind(self, url):
        parts = urlsplit(url)
        path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)[0-9]+(?=/|$)|(?<=/)[0-9a-f]{12,}(?=/|$)", "*", parts.path)
        # A topic of the name is as good as another.
        path = re.sub(r"/(topics|segments)/[^/]+", r"/\1/*", path)
        # Each type of a platform has a form of its own.
        query = [f"{name}={value}" if name == "type" else name for name, value in parse_qsl(parts.query)]
        return path + "?" + ",".join(sorted(query))

    def links(self):
        found = self.browser.script(
            "return [...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href'))")
        here = self.browser.driver.current_url
        urls = [urljoin(here, link).split("#")[0] for link in found]
        return [url for url in urls if url.startswith(self.browser.url + "/dashboard")]

    def is_page(self, url):
        """Whether it is a page and not a file to be stored; a link that leads nowhere is noted."""
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.browser.driver.get_cookies())
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers={"Cookie": cookies})) as answer:
                return answer.headers["Content-Type"].startswith("text/html")
        except urllib.error.HTTPError as error:
            self.dead.append(f"{url}: {error.code}")
            return False

    def run(self, pages_max):
        waiting = [self.browser.url + "/dashboard"]
        while waiting and len(self.seen) < pages_max:
            url = waiting.pop(0)
            kind = self.kind(url)
            if kind in self.seen:
                continue
            self.seen[kind] = url
            if not self.is_page(url):
                continue
            self.pages.append(kind)
            self.browser.open(url.removeprefix(self.browser.url))
            waiting += [link for link in self.links() if self.kind(link) not in self.seen]
            self.wrong += look_at(self.browser, kind)


def every_page(browser, pages_max=200):
    """Needs a browser that is logged in. axe runs within the page, which the policy of the pages would not let it."""
    browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    prove_the_watch(browser)
    crawl = Crawl(browser)
    crawl.run(pages_max)
    print("  looked at: " + " ".join(sorted(kind.removeprefix("/dashboard") for kind in crawl.pages)), flush=True)
    print("\n".join(crawl.wrong + crawl.dead), flush=True)
    assert len(crawl.pages) > 30, "links lead to few pages"
    assert not crawl.dead and not crawl.wrong, f"{len(crawl.wrong)} findings, {len(crawl.dead)} dead links"
    did(f"{len(crawl.pages)} kinds of pages that links lead to: axe finds nothing in light, in dark and on a phone, nothing is too wide at "
        f"360 px, and none of {len(crawl.seen)} kinds of links is dead")


def pages_of_forms(browser, app):
    """Pages that no link leads to: the login, and forms with faults in them."""
    browser.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    wrong = []
    browser.open(f"/dashboard/apps/{app}/compose")
    browser.press("Review")
    wrong += look_at(browser, "a message without a text")
    browser.fill("body", "What people read before it is sent")
    browser.fill("audience", "topics")
    browser.fill("names", "nothing")
    shown = "return !!document.querySelector('.beside .preview') && !!document.querySelector('.beside .warnings li')"
    until("what stands beside the form", lambda: browser.script(shown))
    wrong += look_at(browser, "what stands beside a push")
    browser.fill("audience", "where")
    browser.fill("where", "lang:de attr.plan:pro")
    until("the rows", lambda: browser.script("return document.querySelectorAll('.conditions [role=group]').length === 2"))
    wrong += look_at(browser, "an expression in rows")
    browser.fill("audience", "everyone")
    browser.press("Review")
    assert "Send it to" in browser.text(), browser.text()
    wrong += look_at(browser, "the review of a push")
    browser.script("dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }))")
    assert browser.script("return !!document.querySelector('dialog.find[open]')")
    wrong += look_at(browser, "the search")
    browser.open(f"/dashboard/search?q=phone&app={app}")
    wrong += look_at(browser, "the results of a search")
    browser.script("document.querySelector('.switcher').open = true")
    wrong += look_at(browser, "the list of applications")
    browser.open("/dashboard/apps/new")
    browser.fill("name", "An application with a name that is so long that no table and no heading has room for all of it on a telephone")
    browser.press("Create")
    wrong += look_at(browser, "secrets that are shown once")
    browser.open(f"/dashboard/apps/{app}/platforms/new?type=ios")
    browser.press("Add the platform")
    wrong += look_at(browser, "a platform without credentials")
    browser.open(f"/dashboard/apps/{app}/nothing")
    wrong += look_at(browser, "a page that is not there")
    browser.driver.delete_all_cookies()
    browser.open("/dashboard/login")
    wrong += look_at(browser, "the login")
    browser.fill("email", "nobody@example.org")
    browser.fill("password", "not the password")
    browser.press("Log in")
    wrong += look_at(browser, "a login that failed")
    browser.open("/dashboard/setup?token=" + "0" * 64)
    wrong += look_at(browser, "a link that is used up")
    print("\n".join(wrong), flush=True)
    assert not wrong, f"{len(wrong)} findings"
    did("axe finds nothing on the login, on forms with faults, in the search, nor on what is shown once")
