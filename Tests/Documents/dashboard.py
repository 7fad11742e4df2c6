"""What the dashboard prints for a shell: the page Set-up, and the review of a push."""

import html
import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request

from setups import cli


class Browser:
    """Cookies, and forms as they stand in a page."""

    def __init__(self, address):
        self.address = address
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def get(self, path):
        with self.opener.open(f"{self.address}{path}", timeout=30) as answer:
            return answer.read().decode()

    def submit(self, page, action, fields):
        """Sends the form of the page whose action ends so, with its hidden fields and checked boxes."""
        for form in re.findall(r"<form\b.*?</form>", page, re.S):
            target = html.unescape(re.search(r'action="([^"]*)"', form)[1])
            if not target.endswith(action):
                continue
            hidden = {}
            for tag in re.findall(r"<input\b[^>]*>", form):
                if 'type="hidden"' in tag or 'type="checkbox"' in tag and " checked" in tag:
                    value = re.search(r'value="([^"]*)"', tag)
                    hidden[re.search(r'name="([^"]*)"', tag)[1]] = html.unescape(value[1]) if value else "on"
            request = urllib.request.Request(
                f"{self.address}{target}", urllib.parse.urlencode({**hidden, **fields}).encode(), {"Origin": self.address})
            try:
                with self.opener.open(request, timeout=30) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                text = re.sub(r"<[^>]+>|\s+", " ", error.read().decode().partition("aria-invalid")[2])[:400]
                raise AssertionError(f"{target}: {error.code}: {text}") from None
        raise AssertionError(f"no form of the page goes to {action}: {re.findall('<form[^>]*>', page)}")


def codes(page):
    return re.findall(r"<pre[^>]*>(?:<code[^>]*>)?(.*?)(?:</code>)?</pre>", page, re.S)


def printed(workspace):
    """(place, text) of each block of code."""
    cli(workspace, "admin", "user", "create", "--email", "boss@example.org", "--role", "operator", "--password-file", "password")
    browser = Browser(workspace.server.url)
    browser.submit(browser.get("/dashboard/login"), "/login", {"email": "boss@example.org", "password": workspace.environment["PASSWORD"]})
    app = f"/dashboard/apps/{workspace.app}"
    # The page is about the application's first platform.
    first = re.search(r"curl -u ([0-9a-f-]{36}):PLATFORM_SECRET", "".join(codes(browser.get(f"{app}/setup"))))[1]
    workspace.words["PLATFORM_SECRET"] = next(
        platform["platform_secret"] for platform in workspace.platforms.values() if platform["platform_uuid"] == first)
    found = [("dashboard, Set-up", code) for code in codes(browser.get(f"{app}/setup"))]
    review = browser.submit(browser.get(f"{app}/compose"), "/compose", {
        "title": "It's here", "body": "Fresh cheese", "audience": "topics", "names": "dairy"})
    found += [("dashboard, Compose", code) for code in codes(review) if "curl" in code]
    assert len(found) == 3, f"the dashboard prints {len(found)} commands, this test knows of 3: {review}"
    return found
