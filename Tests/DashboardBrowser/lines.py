"""A look at each thing that the dashboard is to do at a glance, in each browser at each width: a function for each."""

from jobs import World
from steps import did, until

# Keys as WebDriver numbers them.
CONTROL, ESCAPE, HOME, END = "\ue009", "\ue00c", "\ue011", "\ue010"
# So that a zone shows which is neither the server's nor the default.
ZONE = "Europe/Vienna"


def shows(browser, *all_words):
    for words in all_words:
        assert words in browser.text(), f"{words} is not in:\n{browser.text()}"


def in_file(browser, address):
    """The lines of a file that a link leads to."""
    return browser.script("const ask = new XMLHttpRequest(); ask.open('GET', arguments[0], false); ask.send(); return ask.responseText;",
                          address).splitlines()


def compose(world, browser, width):
    """Its column beside the form has the number of the review, pictures and the button; below the form on a phone."""
    browser.open(f"{world.page}/compose?topic={world.topic}")
    browser.fill("body", "Both numbers")
    until("the number beside the form", lambda: "Send it to 6 devices" in browser.text())
    assert browser.script("return document.querySelectorAll('.beside .preview').length") >= 2
    across, down = browser.script("""
        const [form, beside] = ["main form [name=body]", ".beside"].map(one => document.querySelector(one).getBoundingClientRect());
        return [beside.left - form.right, beside.top - form.bottom];""")
    assert across > 0 if width > 1000 else down > 0, (across, down)
    browser.press("Review")
    shows(browser, "Send it to 6 devices")


def why(world, browser, width):
    """A badge leads to the story of a device and a push; failures stand by their cause."""
    browser.open(f"{world.page}/pushes/{world.failing}")
    shows(browser, "Why devices did not get it", "Token refused", "What helps")
    browser.script("document.isLeft = true; [...document.querySelectorAll('td a.badge')].pop().click()")
    browser.arrive("the story")
    shows(browser, "Push accepted", "Put into a batch", "400 BadDeviceToken", "What helps", "Next")
    browser.open(f"{world.page}/pushes/{world.failing}?find={world.devices[4]}")
    shows(browser, "Phone 4")


def report(world, browser, width):
    """A bar while it is sent, steps from the audience to the opening, and what came before."""
    browser.open(f"{world.page}/pushes/{world.running}")
    bar = browser.script("return document.querySelector('main progress').getAttribute('aria-label')")
    assert "have their answer" in bar, bar
    browser.open(f"{world.page}/pushes/{world.failing}")
    steps = browser.script("return [...document.querySelectorAll('.funnel li')].map(one => one.innerText)")
    assert len(steps) >= 5 and "83.3 %" in steps[2], steps
    shows(browser, "By platform", "Compared with the pushes before it")
    rows = in_file(browser, f"{browser.url}{world.page}/pushes/{world.failing}/report.csv")
    assert len(rows) > 5, rows


def charts(world, browser, width):
    """Their values are read by keys, and stand in a table, which is sorted by their size."""
    browser.open(world.page)
    for key in [END, HOME]:
        browser.steadily("a key", lambda: browser.find(".plot svg").send_keys(key))
        words = browser.script("return document.querySelector('.reading').innerText")
        assert ("sent 12" if key == END else "sent 0") in words, words
    assert browser.script("return document.querySelectorAll('.chart details table').length") >= 3
    shows(browser, "Delivery rate", "Time to the provider")
    for column, values in [(0, ["0.0 s", "1.5 s", "90 s", "2 min"]), (1, ["900 ms", "about 1,000", "1.5 s", "2 min"])]:
        order = browser.script("""
            const [column, values] = arguments, table = document.querySelector('.chart details table'), rows = table.tBodies[0].rows;
            [...rows].slice(0, -values.length).forEach(row => row.remove());
            values.forEach((value, index) => { rows[index].cells[column].textContent = value; });
            table.tHead.rows[0].cells[column].querySelector('.sort').click();
            return [...rows].map(row => row.cells[column].textContent);""", column, values[::-1])
        assert order == values, order


def times(world, browser, width):
    """They are by the clock of the browser, which is named, and relative as well."""
    browser.open(f"{world.page}/pushes/{world.failing}")
    shows(browser, f"Times are by the clocks of {ZONE}")
    shown, told, clock = browser.script("""
        const time = document.querySelector("main time"), at = new Date(time.dateTime);
        return [time.innerText, time.querySelector("small").innerText, at.toTimeString().slice(0, 5)];""")
    assert clock in shown and told.endswith(("ago", "now")), (shown, told, clock)
    browser.open(f"{world.page}/compose")
    shows(browser, f"Time zone: {ZONE}")


def layout(world, browser, width):
    """The search opens by keys from everywhere; the menu goes by jobs; no table is clipped."""
    browser.open(f"{world.page}/devices")
    is_open = "return !!document.querySelector('dialog.find[open]')"
    for keys in ["/", CONTROL + "k"]:
        browser.steadily("keys", lambda: browser.find("body").send_keys(keys))
        until(f"the search by {keys!r}", lambda: browser.script(is_open))
        browser.steadily("Escape", lambda: browser.find("dialog.find input").send_keys(ESCAPE))
        until("its end", lambda: not browser.script(is_open))
    headings = browser.script("return [...document.querySelectorAll('#menu h2, #menu summary')].map(one => one.textContent)")
    assert headings == ["Application", "Send", "Audience", "Insights", "Set-up", "Administration"], headings
    assert browser.script("return document.querySelectorAll('.switcher li a').length") >= 1
    clipped = browser.script("return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1).length")
    assert browser.too_wide() <= 0 and not clipped, clipped


def forms(world, browser, width):
    """A fault stands with its field, in the words of its label, and a chosen file stays."""
    browser.open(f"{world.page}/platforms/new?type=ios")
    browser.fill("apns_key", world.installation.path("key.p8"))
    browser.fill("name", "Kept")
    browser.press("Add the platform")
    shows(browser, "Kept: key.p8")
    label, fault, filled = browser.script("""
        const field = document.querySelector(".field.wrong, .wrong");
        return [field.querySelector("label, span").innerText, field.querySelector(".fault").innerText,
                document.querySelector("main [name=name]").value];""")
    assert label and fault and "_" not in fault and filled == "Kept", (label, fault, filled)


def places(world, browser, width):
    """A circle that is drawn fills the fields, and one that is dragged changes them; a code that is pasted is found."""
    fields = "return ['place', 'radius'].map(name => document.querySelector(`main form [name=${name}]`).value).join(', ').split(', ').map(Number)"
    browser.open(f"{world.page}/places?lat=48.2&lon=16.37&zoom=14")
    latitude, longitude, radius = browser.script(fields)
    assert (latitude, longitude, radius) == (48.2, 16.37, 100)
    browser.drag(".map svg[data-frame]", 60, 100)
    drawn = browser.script(fields)
    assert abs(drawn[0] - latitude) < .001 and .001 < drawn[1] - longitude < .05 and 120 < drawn[2] < 5_000, drawn
    browser.drag(".map svg[data-frame]", 60, 0)
    moved = browser.script(fields)
    assert abs(moved[1] - longitude) < .001 and moved[2] == drawn[2], (drawn, moved)
    browser.open(f"{world.page}/places?q=Salzb")
    shows(browser, "Salzburg")
    browser.open(f"{world.page}/places?q=8FWR6926%2BXX")
    assert browser.script("return document.querySelector('main form [name=place]').value.startsWith('48.2')")


def changes(world, browser, width):
    """A list is sorted, a device is changed, users are merged, and devices come as a file."""
    browser.open(f"{world.page}/devices")
    heads = "[...document.querySelectorAll('main th')].find(one => one.textContent.includes('User'))"
    users = browser.script(f"""
        const head = {heads}, column = head.cellIndex;
        head.querySelector('.sort').click(); head.querySelector('.sort').click();
        return [head.ariaSort, ...[...head.closest('table').tBodies[0].rows].map(row => row.cells[column].textContent.trim())];""")
    assert users[0] == "descending" and users[1:] == sorted(users[1:], reverse=True) and len(set(users[1:])) > 1, users
    browser.open(f"{world.page}/devices/{world.devices[0]}")
    browser.fill("device_alias", f"Renamed {world.name}")
    browser.press("Save")
    assert world.rows("SELECT count(*) FROM device JOIN platform ON platform.id = platform_id WHERE application_id = OWN AND alias = ?",
                      f"Renamed {world.name}") == [(1,)], browser.text()
    rows = in_file(browser, f"{browser.url}{world.page}/devices.csv")
    assert len(rows) == 7 and any(f"Renamed {world.name}" in row for row in rows), rows
    browser.open(f"{world.page}/users?id=user-1-{world.mark}")
    browser.fill("into", f"user-2-{world.mark}")
    browser.press("Merge")
    browser.press("Merge them")
    shows(browser, "Merged.", "Phone 1", "Phone 2")


def words(world, browser, width):
    """Buttons say what they do to how many, and one page is called Settings."""
    browser.open(f"{world.page}/pushes/{world.running}/cancel")
    shows(browser, "Skip 5 devices", "Keep sending")
    links = browser.script("return [...document.querySelectorAll('#menu a')].map(one => one.textContent)")
    assert links.count("Settings") == 1 and "Configuration" in links, links


def live(world, browser, width):
    """A list that shows itself anew stays sorted, and the focus stays on its link."""
    browser.open(f"{world.page}/pushes")
    head = "[...document.querySelectorAll('main th')].find(one => one.textContent.includes('Push'))"
    link = browser.script(f"""
        {head}.querySelector('.sort').click();
        const link = document.querySelector('main table tbody tr:last-child a');
        link.focus();
        return link.getAttribute('href');""")
    push = world.send("Another market")
    until("the new push", lambda: browser.script(f"return !!document.querySelector('main table a[href$=\"{push}\"]')"))
    after = browser.script(f"return [{head}.ariaSort, document.activeElement.getAttribute('href')]")
    assert after == ["ascending", link], (after, link)


LINES = [compose, why, report, charts, times, layout, forms, places, changes, words, live]


def look_at_all(installation, browser, width):
    """Needs a browser that is logged in."""
    world = World(installation, browser, f"lines {browser.NAME} {width}")
    world.page = f"/dashboard/apps/{world.app}"
    world.deliver("All is well")
    world.fail(5)
    world.failing = world.deliver("The market is shut")
    world.running = world.send("Slow news", throttle_per_minute=1)
    until("the first device", lambda: world.receipt(world.running)["counts"].get("accepted"))
    browser.open("/dashboard")
    wrong = []
    for line in LINES:
        try:
            line(world, browser, width)
        except Exception as error:
            wrong.append(f"{line.__name__}: {error!r}")
    assert not wrong, "\n\n".join(wrong)
    did(f"{browser.NAME} at {width} px: {', '.join(line.__name__ for line in LINES)}")
