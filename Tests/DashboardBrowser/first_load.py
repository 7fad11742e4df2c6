"""What the first visit of a page transfers, and the policy that it comes with."""

from steps import did, until

BYTES_MAX = 120 * 1024
# No inline script or style, no other origin, and no text that becomes markup.
POLICY = {
    "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'",
    "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"}


def check(browser, app):
    """Needs Chromium, logged in."""
    sizes = []
    for name, page, is_there in [
        ("the overview", "/dashboard", "!!document.querySelector('.stats')"),
        ("Compose", f"/dashboard/apps/{app}/compose", "document.querySelector('.beside')?.innerText.includes('device')"),
    ]:
        browser.check()
        browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        browser.open(page)
        until(name, lambda: browser.script(f"return document.readyState === 'complete' && {is_there}"))
        loaded = browser.loaded()
        size = sum(loaded.values())
        assert len(loaded) >= 4 and 10_000 < size <= BYTES_MAX, f"{name}: {size:,} bytes: {loaded}"
        assert all(address.startswith((browser.url + "/", "data:", "blob:" + browser.url)) for address in loaded), loaded
        browser.script("""
            document.policy = null;
            fetch(location.href).then(answer => { document.policy = answer.headers.get("content-security-policy") });""")
        policy = until("the policy", lambda: browser.script("return document.policy"))
        assert {one.strip() for one in policy.split(";")} == POLICY, policy
        sizes.append(f"{name} {size / 1024:.0f} KiB")
    did(f"a first visit transfers {' and '.join(sizes)} of {BYTES_MAX // 1024}, under the strict policy, and leaves the origin for nothing")
