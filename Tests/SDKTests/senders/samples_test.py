"""The samples of docs/Senders.md, as they stand there, against the real server: each sends one push, however often it runs.

    python3 samples_test.py BELFRY

A language whose tool is missing is said and counts as failed: `Scripts/setup senders` installs them.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "SDKTests" / "web"))

from belfry_server import Belfry

#: The language of a block, the file it is saved as, and the command that runs it.
LANGUAGES = {
    "python": ("send.py", ["python3", "send.py"]),
    "javascript": ("send.mjs", ["node", "send.mjs"]),
    "go": ("send.go", ["go", "run", "send.go"]),
    "java": ("Send.java", ["java", "Send.java"]),
    "php": ("send.php", ["php", "send.php"]),
}


def blocks(text):
    """The samples by their languages; those of curl stand indented below their heading."""
    found = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))
    curl = re.search(r"## curl\n\n((?:    .*\n)+)", text)[1]
    return {"curl": re.sub(r"^    ", "", curl, flags=re.MULTILINE), **found}


def run(command, folder, environment):
    answer = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert answer.returncode == 0, f"{command} ended with {answer.returncode}:\n{answer.stdout}"
    return answer.stdout


def sender(server):
    """An application, and a key that the command of the document makes."""
    app = server.admin("POST", "apps", {"name": "Shop"})["app_uuid"]
    server.admin("POST", f"apps/{app}/platforms", {"type": "web", "name": "Web", "credentials": {}})
    made = subprocess.run(
        [server.binary, "admin", "create", "--name", "back-end", "--scope", "sender", "--app", app], env=server.environment,
        stdout=subprocess.PIPE, text=True, check=True)
    return app, re.search(r"bfy_\S+", made.stdout)[0]


def try_sample(language, text, server, folder):
    app, key = sender(server)
    environment = {
        **os.environ, "B": server.url, "APP": app, "KEY": key, "HOME": str(folder), "GOCACHE": str(folder / "go"),
    }
    pushes = lambda: server.admin("GET", f"apps/{app}/pushes")["pushes"]
    if language == "curl":
        post, get = re.split(r"\n(?=curl)", text.strip())
        shell = lambda line: run(["bash", "-euc", line], folder, environment)
        said = [shell(post) for _ in range(2)]
        receipt = json.loads(shell(get.replace("RECEIPT_ID", pushes()[0]["receipt_id"])))
        assert receipt["receipt_id"] == pushes()[0]["receipt_id"], receipt
    else:
        name, command = LANGUAGES[language]
        (folder / name).write_text(text)
        said = [run(command, folder, environment) for _ in range(2)]
    assert len(pushes()) == 1, f"{len(pushes())} pushes after two runs: {said}"
    if language not in ("python", "javascript"):
        assert all(pushes()[0]["receipt_id"] in text for text in said), said
        return
    # These two look at the receipt, and end with an error where the server refuses.
    assert said[0].lstrip().startswith("{"), said
    refused = subprocess.run(
        command, cwd=folder, env={**environment, "KEY": "bfy_wrong"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert refused.returncode != 0, refused.stdout


def main(binary):
    samples = blocks((ROOT / "docs" / "Senders.md").read_text())
    assert set(samples) >= {"curl", *LANGUAGES}, sorted(samples)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="belfry-samples-") as home:
        server = Belfry(binary, pathlib.Path(home))
        try:
            for language in ["curl", *LANGUAGES]:
                tool = "curl" if language == "curl" else LANGUAGES[language][1][0]
                folder = pathlib.Path(home) / language
                folder.mkdir()
                try:
                    assert shutil.which(tool), f"{tool} is missing: Scripts/setup senders installs it"
                    try_sample(language, samples[language], server, folder)
                    print(f"ok    {language}", flush=True)
                except Exception as error:
                    failed += 1
                    print(f"FAIL  {language}\n{error}", flush=True)
        finally:
            server.stop()
    print(f"samples: {len(LANGUAGES) + 1 - failed} passed, {failed} failed")
    return failed


sys.exit(1 if main(sys.argv[1]) else 0)
