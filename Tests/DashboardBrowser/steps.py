"""What every part of a scenario uses."""

import time

EMAIL, PASSWORD = "ann@example.org", "correct horse battery"
# How long a step waits for a state, in seconds: longer than a loaded machine takes.
PATIENCE = 60


class NotYet(Exception):
    """The page is not yet in the state that a step waits for."""


def did(words):
    print("✓", words, flush=True)


def until(what, find):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: not in time")
