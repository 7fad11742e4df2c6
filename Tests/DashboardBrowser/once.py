"""A person's second click does nothing a second time, and what they typed is not lost."""

import time

from steps import EMAIL, PASSWORD, did, until

# A second click before the first one is answered, where no script holds it back.
CLICK_TWICE = """
    const button = [...document.querySelectorAll("main button")].find(one => one.innerText.trim().startsWith(arguments[0]));
    const form = button.form, copy = new FormData(form, button);
    document.isLeft = true;
    const second = fetch(form.getAttribute("action"), {
        method: "POST", redirect: "manual",
        body: form.enctype === "multipart/form-data" ? copy : new URLSearchParams(copy) });
    button.click();
"""


def press_twice(browser, words):
    browser.steadily(f"two clicks on {words}", lambda: browser.driver.execute_script(CLICK_TWICE, words))
    browser.arrive(f"the page after {words}")


def reload(browser):
    browser.script("document.isLeft = true")
    browser.refresh()
    browser.arrive("the page again")


def back(browser):
    browser.script("document.isLeft = true")
    browser.back()
    browser.steadily("the page before", lambda: browser.driver.execute_script("return document.readyState"))


def scenario(installation, browser, kind):
    name = kind.NAME
    browser.log_in()
    browser.open("/dashboard/apps/new")
    browser.fill("name", f"Once {name}")
    press_twice(browser, "Create")
    made = "SELECT count(*) FROM application WHERE name = ?"
    assert installation.rows(made, f"Once {name}") == [(1,)], browser.text()
    app = uuid_of(installation, f"Once {name}")
    for _ in range(2):
        reload(browser)
    assert installation.rows(made, f"Once {name}") == [(1,)]
    did(f"{name}: an application is made once by two clicks and two reloads")

    keys(installation, browser, app, name)
    compose(installation, browser, app, name)
    login(installation, browser, app, name)


def uuid_of(installation, name):
    raw, = installation.rows("SELECT uuid FROM application WHERE name = ?", name)[0]
    text = raw.hex() if isinstance(raw, bytes) else raw.replace("-", "")
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def keys(installation, browser, app, name):
    """The old key lives for its day, whatever is clicked."""
    settings, changes = f"/dashboard/apps/{app}/settings", "SELECT count(*) FROM audit WHERE action LIKE '%api_key%'"
    before, = installation.rows(changes)[0]

    def made():
        return installation.rows(changes)[0][0] - before

    browser.open(settings)
    first = browser.tab()
    second = browser.new_tab()
    browser.open(settings)
    browser.switch(first)
    press_twice(browser, "New API key")
    assert made() == 1, made()
    for _ in range(2):
        reload(browser)
    assert made() == 1 and "shown once" in browser.text(), browser.text()
    browser.switch(second)
    browser.press("New API key")
    assert made() == 1 and "Nothing was done" in browser.text(), browser.text()
    browser.close_tab(first)
    did(f"{name}: “New API key” is done once by two clicks, two reloads, and in two tabs")
    browser.press("New API key")
    assert made() == 2, "who has seen the new one may make another"


def compose(installation, browser, app, name):
    page, text = f"/dashboard/apps/{app}/compose", f"The market opens {name}"
    installation.rows("SELECT 1 FROM application")
    browser.open(f"/dashboard/apps/{app}/platforms/new?type=ios")
    browser.fill("name", "iPhones")
    browser.fill("topic", "org.example.news")
    browser.fill("key_id", installation.apns["key-id"])
    browser.fill("team_id", installation.apns["team-id"])
    browser.fill("apns_key", installation.path("key.p8"))
    browser.fill("trust_root", installation.path("ca.pem"))
    browser.fill("endpoint", f"https://localhost:{installation.apns['port']}")
    browser.press("Add the platform")
    pushes = "SELECT count(*) FROM push WHERE application_id = (SELECT id FROM application WHERE name = ?)"
    sent = lambda: installation.rows(pushes, f"Once {name}")[0][0]
    kept = lambda: browser.script("return document.querySelector('main [name=body]')?.value")
    drafts = lambda: installation.rows("SELECT form FROM compose_draft")

    browser.open(page)
    browser.fill("body", text)
    until("the draft", lambda: any(text.split()[-1] in form for form, in drafts()))
    browser.open("/dashboard")
    browser.open(page)
    assert kept() == text and "not sent it" in browser.text(), browser.text()
    did(f"{name}: what was typed in Compose and left is there again")

    browser.press("Review")
    assert "Send it to" in browser.text(), browser.text()
    back(browser)
    assert browser.steadily("the form", lambda: kept()) == text, kept()
    did(f"{name}: Back from the review keeps the form")

    browser.press("Review")
    first = browser.tab()
    second = browser.new_tab()
    browser.open(page)
    browser.press("Review")
    browser.switch(first)
    press_twice(browser, "Send it to")
    assert sent() == 1, sent()
    for _ in range(2):
        reload(browser)
    assert sent() == 1, sent()
    browser.switch(second)
    browser.press("Send it to")
    assert sent() == 1 and "another tab" in browser.text(), browser.text()
    browser.press("Send it anyway")
    assert sent() == 2, browser.text()
    browser.close_tab(first)
    browser.open(page)
    assert kept() == "", "what was sent is no draft"
    did(f"{name}: a push is sent once by two clicks and two reloads, and the other tab is asked before it sends a second")


def login(installation, browser, app, name):
    """A session that ends in the middle of a form."""
    browser.open(f"/dashboard/apps/{app}/topics")
    browser.fill("names", f"late-{name.lower()}")
    browser.end_session()
    browser.press("Create")
    assert "You had been logged out" in browser.text(), browser.text()
    browser.fill("email", EMAIL)
    browser.fill("password", "not the password")
    browser.press("Log in")
    assert "is wrong" in browser.text(), browser.text()
    browser.fill("password", PASSWORD)
    browser.press("Log in")
    topics = "SELECT count(*) FROM topic WHERE name = ?"
    assert browser.script("return document.querySelector('main [name=names]').value") == f"late-{name.lower()}", browser.text()
    assert installation.rows(topics, f"late-{name.lower()}") == [(0,)], "nothing is done by the login"
    browser.press("Create")
    assert installation.rows(topics, f"late-{name.lower()}") == [(1,)], browser.text()
    did(f"{name}: a session that ends in the middle of a form leads through the log-in back to it, filled")
