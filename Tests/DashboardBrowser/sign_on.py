"""A login by the OpenID Connect provider of others: https://pypi.org/project/oidc-provider-mock/"""

import json
import os
import subprocess
import sys
import urllib.request

from steps import NotYet, did, until

CLAIMS = {"sub": "ann-1", "email": "Ann.Sign@example.org", "email_verified": True, "name": "Ann Sign", "groups": ["staff", "ops"]}


class Provider:
    def __init__(self, port, folder):
        self.url = f"http://127.0.0.1:{port}"
        self.log = os.path.join(folder, "provider.log")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce", "true",
             "--user-claims", json.dumps(CLAIMS)],
            stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        until("the provider", self.answers)

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/.well-known/openid-configuration").status == 200
        except OSError:
            return False

    def claim(self, **claims):
        """What the provider says of the person from now on."""
        body = json.dumps({**{name: value for name, value in CLAIMS.items() if name != "sub"}, **claims}).encode()
        request = urllib.request.Request(f"{self.url}/users/{CLAIMS['sub']}", body, {"Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(request).close()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def settings(port, folder):
    """Of a server whose people log in by the provider alone."""
    secret = os.path.join(folder, "secret")
    with open(secret, "w") as file:
        file.write("any secret will do\n")
    return {
        "BELFRY_DASHBOARD_SSO_CORP_CLIENT_SECRET_FILE": secret,
        "BELFRY_DASHBOARD_SSO_ISSUERS": "corp", "BELFRY_DASHBOARD_SSO_CORP_TITLE": "Corp",
        "BELFRY_DASHBOARD_SSO_CORP_ISSUER": f"http://127.0.0.1:{port}", "BELFRY_DASHBOARD_SSO_CORP_PRIVATE": "true",
        "BELFRY_DASHBOARD_SSO_CORP_CLIENT_ID": "belfry", "BELFRY_DASHBOARD_SSO_CORP_ROLES": "groups=ops:operator",
        "BELFRY_DASHBOARD_PASSWORD_LOGIN": "false",
    }


def choose(browser, words):
    """Presses a button of the provider's page."""
    def click():
        browser.driver.execute_script("document.isLeft = true")
        for button in browser.driver.find_elements("css selector", "button"):
            if button.text == words:
                return button.click()
        raise NotYet(f"the provider has no button {words}: {browser.driver.page_source}")

    browser.steadily(f"the provider's {words}", click)
    browser.arrive(f"the page after {words}")


def scenario(installation, browser, provider):
    browser.open("/dashboard/admin/people")
    assert "/dashboard/login?next=" in browser.driver.current_url
    assert browser.script("return document.querySelectorAll('input[type=password]').length") == 0, "passwords are off"
    browser.press("Log in with Corp")
    assert browser.driver.current_url.startswith(provider.url + "/"), browser.driver.current_url
    choose(browser, "Deny")
    # This provider says so without the state that it got, so the answer is nobody's.
    assert "Not logged in" in browser.text(), browser.text()
    browser.open("/dashboard/admin/people")
    browser.press("Log in with Corp")
    choose(browser, CLAIMS["sub"])
    assert browser.driver.current_url == browser.url + "/dashboard/admin/people", browser.driver.current_url
    assert "ann.sign@example.org" in browser.text(), browser.text()
    people = "SELECT email, name, scope, password_hash FROM person WHERE email = 'ann.sign@example.org'"
    assert installation.rows(people) == [("ann.sign@example.org", "Ann Sign", "operator", "")], installation.rows(people)
    assert installation.rows("SELECT subject FROM person_identity") == [("ann-1",)]
    browser.open("/dashboard/admin/audit")
    assert "person.create" in browser.text() and "ann.sign@example.org" in browser.text(), browser.text()
    did("a person denies, and then gets in by single sign-on: where they wanted to go, with the role of their claims")

    open_page = browser.driver.get_cookies()
    browser.driver.delete_all_cookies()
    provider.claim(groups=["staff"])
    browser.open("/dashboard")
    browser.press("Log in with Corp")
    choose(browser, CLAIMS["sub"])
    assert "gives you no role here" in browser.text(), browser.text()
    assert not installation.rows("SELECT 1 FROM dashboard_session")
    browser.driver.delete_all_cookies()
    for cookie in open_page:
        browser.driver.add_cookie(cookie)
    browser.open("/dashboard")
    assert "/dashboard/login" in browser.driver.current_url, "what was open has ended too"
    provider.claim(groups=["ops"])
    browser.open("/dashboard")
    browser.press("Log in with Corp")
    choose(browser, CLAIMS["sub"])
    assert browser.driver.current_url == browser.url + "/dashboard", browser.driver.current_url
    assert len(installation.rows(people)) == 1
    did("who is in no group any more does not get in, what they had open ends, and they get in again after")
