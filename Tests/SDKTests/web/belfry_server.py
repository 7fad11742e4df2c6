"""The real program, and what its callers do, over HTTP alone."""

import json
import os
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.request


class Belfry:
    def __init__(self, binary, folder, database=None, settings=None):
        self.binary, self.data = str(binary), str(folder / "data")
        self.log = open(folder / "belfry.log", "w")
        self.environment = {
            **os.environ, "BELFRY_DATA_DIRECTORY": self.data, "BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0",
            "BELFRY_PROVIDERS_ADDRESSES_ALLOW": "127.0.0.1,::1", "BELFRY_LIMIT_BROWSERS_PER_SECOND": "1000",
            "BELFRY_LIMIT_BROWSERS_BURST": "1000", "BELFRY_PCF_VERIFY_CUSTOM_USER_ID": "false",
        }
        if database:
            self.environment["BELFRY_DATABASE_URL"] = database
        self.environment |= settings or {}
        self.process = subprocess.Popen(
            [self.binary, "serve"], env=self.environment, stdout=self.log, stderr=subprocess.STDOUT)
        self.url = self._address(folder / "belfry.log")
        key = pathlib.Path(self.data) / "admin.key"
        self.admin_key = key.read_text().strip() if key.exists() else None

    def _address(self, log):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = re.search(r"address=(http://\S+)", log.read_text()) or re.search(
                r'"address":"(http:[^"]+)"', log.read_text())
            if found:
                return found[1].replace("\\/", "/")
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("the server does not serve:\n" + log.read_text())

    def stop(self):
        self.process.terminate()
        return self.process.wait(30)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def admin(self, method, path, body=None):
        request = urllib.request.Request(
            f"{self.url}/admin/v1/{path}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.admin_key}", "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()}") from None
        return json.loads(text) if text else None

    def push(self, app, message, target=None, **more):
        body = {"message": message, "target": target or {"everyone": True}, **more}
        return self.admin("POST", f"apps/{app}/pushes", body)["receipt_id"]

    def receipt(self, receipt_id):
        return self.admin("GET", f"pushes/{receipt_id}")
