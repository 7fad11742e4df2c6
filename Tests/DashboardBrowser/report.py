"""A push's report, and the story of one of its devices."""

from steps import did


def read(browser, app, receipt, device):
    path = f"/dashboard/apps/{app}/pushes/{receipt}"
    browser.open(f"{path}?answer=accepted")
    text = browser.text()
    for words in ["From audience to opening", "By platform", "100 % of the step before", "Compared with the pushes before it"]:
        assert words in text, f"{words}\n{text}"
    assert "Why devices did not get it" not in text
    browser.script("document.querySelector('td a.badge').click(); document.isLeft = true")
    browser.arrive("the story of a device")
    for words in ["Push accepted", "Put into a batch", "What happened", "Nothing: the device has its answer."]:
        assert words in browser.text(), browser.text()
    browser.open(path)
    browser.fill("find", device)
    browser.press("Show")
    assert "Ann's phone" in browser.text(), browser.text()
    browser.open(f"/dashboard/apps/{app}/devices/{device}")
    assert "The bridge is open again" in browser.text() and "accepted" in browser.text()
    did("a push's report leads to the story of a device, which is found by its id, too")
