"""What operators do beside pushes: people and their roles, keys and tenants, imports, and changing what waits."""

import json
import os

from steps import did

NEWCOMER = "sam@example.org"


def people(installation, browser, other, app):
    """Somebody is invited, and given another role while they are logged in."""
    browser.open("/dashboard/admin/people")
    browser.fill("email", NEWCOMER)
    browser.fill("scope", "read-only")
    browser.fill("bounds", f"app:{app}")
    browser.press("Create the link")
    link = browser.fact("Link")
    other.open(link[link.index("/dashboard"):])
    other.fill("name", "Sam")
    other.fill("password", "the password of somebody new")
    other.fill("again", "the password of somebody new")
    other.press("Set the password and log in")
    role = "SELECT scope, application_id IS NOT NULL FROM person WHERE email = ?"
    assert installation.rows(role, NEWCOMER) == [("read-only", 1)], installation.rows(role, NEWCOMER)
    pushes = f"/dashboard/apps/{app}/pushes"
    other.open(pushes)
    assert "The bridge is open again" in other.text() and "Compose a push" not in other.text(), other.text()
    did("somebody is invited by a link, sets a password, and may only read")

    person = installation.rows("SELECT id FROM person WHERE email = ?", NEWCOMER)[0][0]
    browser.open(f"/dashboard/admin/people/{person}")
    browser.fill("scope", "operator")
    browser.press("Change the role")
    assert "does not fit the role" in browser.text(), browser.text()
    browser.fill("scope", "app-admin")
    browser.press("Change the role")
    assert "Saved" in browser.text(), browser.text()
    assert installation.rows(role, NEWCOMER) == [("app-admin", 1)]
    other.open(pushes)
    assert "Compose a push" in other.text(), other.text()
    other.open("/dashboard/admin/people")
    offered = other.script("return [...document.querySelectorAll('main [name=scope] option')].map(option => option.value)")
    assert offered == ["app-admin", "sender", "read-only"], offered
    assert installation.rows("SELECT 1 FROM audit WHERE action = 'person.set_role'")
    did("they get another role, which the page that they have open follows, and offers no more than they can give")

    browser.open("/dashboard/admin/people")
    browser.press("Disable")
    browser.press("Disable the account")
    other.open(pushes)
    assert "/dashboard/login" in other.driver.current_url, other.driver.current_url
    assert not installation.rows("SELECT 1 FROM dashboard_session WHERE person_id = ?", person)
    did("they are shut out, and what they had open ends")


def keys_and_tenants(installation, browser):
    browser.open("/dashboard/admin/keys")
    browser.fill("name", "Continuous integration")
    browser.press("Create the key")
    key = browser.fact("Key")
    assert key.startswith("bfy_") and installation.asked("/admin/v1/apps", key) == 200
    browser.open("/dashboard/admin/keys")
    browser.press("Revoke")
    assert "refused at once" in browser.text(), browser.text()
    browser.press("Revoke it")
    revoked = "SELECT count(*) FROM admin_key WHERE revoked_at_ms IS NOT NULL"
    assert installation.rows(revoked) == [(1,)], installation.rows(revoked)
    browser.open("/dashboard/admin/tenants")
    browser.fill("name", "Dairy")
    browser.press("Create")
    assert installation.rows("SELECT 1 FROM tenant WHERE name = 'Dairy'"), browser.text()
    did("a key is made, works and is revoked, and a tenant is created")


def devices_of_another_service(installation, browser, app):
    """A list of devices, looked at first."""
    file = os.path.join(installation.folder, "list.csv")
    with open(file, "w") as output:
        output.write("registration_token,custom_user_id\n" + f"{'c0' * 32},old-1\n{'c1' * 32},old-2\nnot a token,old-3\n")
    browser.open(f"/dashboard/apps/{app}/import")
    browser.fill("list", file)
    choice = browser.script("return document.querySelector('main [name=platform] option:nth-child(2)').value")
    browser.fill("platform", choice)
    browser.press("Import")
    users = "SELECT count(*) FROM device WHERE custom_user_id LIKE 'old-%'"
    assert installation.rows(users) == [(0,)], "dry run"
    browser.press("Import list.csv")
    assert installation.rows(users) == [(2,)], browser.text()
    did("devices of another service are looked at, and then brought in; a wrong row is refused")


def what_waits(installation, browser, other, app):
    """A schedule is changed and loses its end; somebody else who edits the same is told."""
    browser.open(f"/dashboard/apps/{app}/compose")
    browser.fill("body", "Market tomorrow")
    browser.fill("urgency", "bulk")
    browser.script("""document.querySelector('[name=send_at]').value = '2098-01-31T08:30';
                   document.querySelector('[name=expires_at]').value = '2098-01-31T18:30'""")
    browser.press("Review")
    browser.press("Schedule it for")
    waits = "SELECT id, lane IS NULL, expires_at_ms IS NULL, version FROM schedule WHERE ended_at_ms IS NULL"
    (key, *facts), = installation.rows(waits)
    assert facts == [0, 0, 1], facts
    path = browser.script("return document.querySelector('main td a[href*=\"/schedules/\"]').getAttribute('href')")
    other.log_in()
    for editor in [browser, other]:
        editor.open(path + "/edit")
        editor.fill("urgency", "")
        editor.script("document.querySelector('[name=expires_at]').value = ''")
        editor.press("Review")
    browser.press("Save it for")
    assert "Saved." in browser.text(), browser.text()
    assert installation.rows(waits) == [(key, 1, 1, 2)], installation.rows(waits)
    other.press("Save it for")
    assert "somebody else changed the schedule" in other.text(), other.text()
    assert installation.rows(waits) == [(key, 1, 1, 2)], installation.rows(waits)
    did("a schedule loses its end and its urgency, and who saves second is told")

    location, = installation.rows("SELECT id FROM location WHERE name = 'Market'")[0]
    for editor, name in [(browser, "Old market"), (other, "New market")]:
        editor.open(f"/dashboard/apps/{app}/places/{location}")
        editor.fill("name", name)
    browser.press("Save")
    assert "Saved." in browser.text(), browser.text()
    other.press("Save")
    assert "Somebody else has changed this" in other.text() and "Old market" in other.text(), other.text()
    assert installation.rows("SELECT name FROM location") == [("Old market",)]
    other.press("Save")
    assert installation.rows("SELECT name FROM location") == [("New market",)], other.text()
    did("who saves a place second is told what is stored, and decides")


def geofence(installation, browser, app):
    browser.open(f"/dashboard/apps/{app}/geofences/new")
    browser.fill("body", "Welcome to the market")
    browser.script("""document.querySelector('[name=expires_at]').value = '2098-01-31T18:30';
                   document.querySelector('[name^=at-location-]').checked = true""")
    browser.press("Create the geofence")
    data, = installation.rows("SELECT data FROM geofence")[0]
    assert json.loads(data)["ios"]["alertBody"] == "Welcome to the market", data
    did("a geofence is created at a location")


def webhook(installation, browser, app):
    """A webhook whose receiver is not there is made, tested and paused."""
    browser.open(f"/dashboard/apps/{app}/webhooks")
    browser.fill("name", "crm")
    browser.fill("url", "https://crm.invalid/belfry")
    browser.press("Create")
    assert "is empty" in browser.text(), browser.text()
    browser.script("document.querySelector('[name=\"push.settled\"]').checked = true")
    browser.press("Create")
    assert browser.fact("Secret").startswith("whsec_")
    browser.press("Done")
    browser.press("Send a test")
    assert "The receiver did not take the test" in browser.text(), browser.text()
    assert "webhook.test" in browser.text(), browser.text()
    browser.press("Pause")
    assert "events wait until you resume" in browser.text(), browser.text()
    assert installation.rows("SELECT name, paused FROM webhook") == [("crm", "asked")]
    did("a webhook is made with its secret, tested, and paused")
