"""Databases made by each release, small and with rows in every table.

    python3 Tests/Upgrades/fixtures.py make BELFRY            makes those of the binary's own version
    python3 Tests/Upgrades/fixtures.py check BELFRY           opens, migrates and serves from those of every release
"""

import gzip
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "Documents"))

from fill import BY_HAND, TOKEN, Node, call, cli, fill, settings, uncrowd
from postgres import Postgres
from workspace import Belfry, Workspace

TABLES_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
TABLES_POSTGRES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename;"
#: What a release may not lose, whatever else it tidies up.
KEPT = ("application", "platform", "device", "topic", "push", "schedule", "person", "geofence", "location", "user_attribute", "admin_key",
        "audit", "carma_app", "broker_binding", "gateway_credential", "acrobits_registration", "import_job")


class SQLite:
    name = "sqlite"

    def __init__(self, data):
        self.path = pathlib.Path(data) / "belfry.sqlite"
        self.database = None

    def query(self, text):
        connection = sqlite3.connect(self.path)
        try:
            return connection.execute(text).fetchall()
        finally:
            connection.commit()
            connection.close()

    def tables(self):
        return [row[0] for row in self.query(TABLES_SQLITE)]

    def blob(self, count):
        return f"X'{'00' * count}'"

    def pack(self, file):
        self.query("PRAGMA wal_checkpoint(TRUNCATE)")
        self.query("VACUUM INTO '%s'" % f"{self.path}.packed")
        write(file, pathlib.Path(f"{self.path}.packed").read_bytes())

    def unpack(self, file):
        self.path.write_bytes(gzip.decompress(file.read_bytes()))
        self.path.chmod(0o600)


class PostgreSQL:
    name = "postgres"

    def __init__(self, postgres):
        self.postgres, self.base = postgres, f"fixture{time.monotonic_ns()}"
        self.database = postgres.create(self.base)

    def query(self, text):
        return self.postgres.sql(self.base, text + ";")

    def tables(self):
        return [row[0] for row in self.postgres.sql(self.base, TABLES_POSTGRES)]

    def blob(self, count):
        return f"'\\x{'00' * count}'"

    def pack(self, file):
        write(file, self.postgres.dump(self.base).encode())

    def unpack(self, file):
        self.postgres.sql(self.base, gzip.decompress(file.read_bytes()).decode())


def write(file, data):
    """The same bytes for the same data."""
    file.write_bytes(gzip.compress(data, 9, mtime=0))


def count(engine, table):
    return int(engine.query(f'SELECT count(*) FROM "{table}"')[0][0])


def empty(engine):
    return [table for table in engine.tables() if count(engine, table) == 0]


def make(binary, release):
    folder = HERE / release
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory(prefix="belfry-fixtures-") as scratch:
        # Others have to come to PostgreSQL's folder within it.
        pathlib.Path(scratch).chmod(0o755)
        postgres = Postgres(f"{scratch}/postgres")
        try:
            for name in ("sqlite", "postgres"):
                home = pathlib.Path(scratch) / f"{name}-home"
                home.mkdir()
                data = home / "data"
                engine = SQLite(data) if name == "sqlite" else PostgreSQL(postgres)
                workspace = Workspace(binary, home)
                try:
                    if name == "postgres":
                        data.mkdir(mode=0o700)
                        shutil.copy(folder / "key-ring", data / "key-ring")
                    workspace.serve(engine.database, settings(home))
                    facts = fill(workspace)
                    settle(engine)
                    uncrowd(workspace)
                    # A fixture is what a crash leaves: the node stands in its table, the outbox is full.
                    workspace.server.kill()
                finally:
                    workspace.end()
                for table in empty(engine):
                    if table in BY_HAND:
                        text = BY_HAND[table].replace("{blob16}", engine.blob(16)).replace("{blob}", engine.blob(32))
                        engine.query(text)
                left = empty(engine)
                assert not left, f"{name}: these tables have no rows, fill.py has to put some there: {', '.join(left)}"
                if name == "sqlite":
                    shutil.copy(data / "key-ring", folder / "key-ring")
                engine.pack(folder / f"{name}.gz")
                (folder / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
        finally:
            postgres.stop()
    print(f"fixtures of {release}: " + ", ".join(f"{file.name} {file.stat().st_size}" for file in sorted(folder.iterdir())))


def settle(engine):
    """Waits until what the server does by itself is done: answers, the search index, a heartbeat."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (count(engine, "tally") == 0 or "heartbeat" in empty(engine) or "search_index_segment" in empty(engine)):
        time.sleep(0.2)


def check(binary):
    releases = sorted(path for path in HERE.iterdir() if (path / "key-ring").exists())
    assert releases, "there are no fixtures: Scripts/fixtures make BELFRY"
    lines = (HERE.parents[1] / "packaging" / "releases").read_text().splitlines()
    named = {line.split()[0] for line in lines if line and not line.startswith("#")}
    missing = named - {path.name for path in releases}
    assert not missing, f"releases without databases: {', '.join(sorted(missing))}"
    with tempfile.TemporaryDirectory(prefix="belfry-fixtures-") as scratch:
        pathlib.Path(scratch).chmod(0o755)
        postgres = Postgres(f"{scratch}/postgres")
        try:
            for folder in releases:
                for name in ("sqlite", "postgres"):
                    home = pathlib.Path(scratch) / f"{folder.name}-{name}"
                    home.mkdir()
                    open_one(binary, folder, name, home, postgres)
                    print(f"✓ {name} of {folder.name} is opened, migrated and served, and goes on with what a later release adds")
        finally:
            postgres.stop()


def open_one(binary, folder, name, home, postgres):
    data = home / "data"
    data.mkdir(mode=0o700)
    shutil.copy(folder / "key-ring", data / "key-ring")
    (data / "key-ring").chmod(0o600)
    engine = SQLite(data) if name == "sqlite" else PostgreSQL(postgres)
    engine.unpack(folder / f"{name}.gz")
    assert not empty(engine), f"{folder.name}, {name}: without rows: {', '.join(empty(engine))}"
    before = {table: count(engine, table) for table in KEPT}
    facts = json.loads((folder / f"{name}.json").read_text())

    workspace = Workspace(binary, home)
    try:
        # The files of a simulator that is not the one of then.
        log = home / "simulate.log"
        workspace.start(["simulate", "apns", "--port", "0", "--control-port", "0", "--ca-out", "ca.pem", "--key-out", "key.p8"], log, r"^create ")
        words = dict(line.split(" ", 1) for line in log.read_text().splitlines())
        workspace.server = server = Belfry(binary, home, engine.database)
        server.admin_key = facts["admin_key"]
        lost = {table: (rows, count(engine, table)) for table, rows in before.items() if count(engine, table) < rows}
        assert not lost, f"rows are gone: {lost}"
        app, device = facts["app_uuid"], facts["device_uuid"]
        shown = server.admin("GET", f"apps/{app}/devices/{device}")
        assert shown["device_uuid"] == device and shown["custom_user_id"] == "emma", shown
        assert server.receipt(facts["receipt_id"])["state"], "an old receipt"
        server.admin("PUT", f"platforms/{facts['platform_uuid']}/credentials", {"credentials": {
            "apns_key": (home / "key.p8").read_text(), "key_id": words["key-id"], "team_id": words["team-id"], "topic": "org.example.shop",
            "endpoint": f"https://localhost:{words['port']}", "trust_root": (home / "ca.pem").read_text()}})
        # By the secrets of then: the platform's, and the application's.
        call(workspace, "PUT", f"/v1/registration/{device}", {"registration_token": TOKEN, "os": "ios"}, (facts["platform_uuid"], facts["platform_secret"]))
        push = call(workspace, "POST", "/v1/push", {"message": {"body": "After the upgrade"}, "target": {"devices": [device]}}, (app, facts["api_key"]))
        # A batch that was claimed with the credentials of then tries their address to its end.
        deadline = time.monotonic() + 90
        while server.receipt(push["receipt_id"])["state"] != "settled":
            assert time.monotonic() < deadline, f"the push is not settled: {server.receipt(push['receipt_id'])}"
            time.sleep(0.1)
        counts = server.receipt(push["receipt_id"])["counts"]
        assert counts.get("accepted") == 1, counts
        assert server.stop() == 0, "it does not stop in good order"
        errors = [line for line in (home / "belfry.log").read_text().splitlines() if " error " in line and "no heartbeat" not in line]
        assert not errors, "\n".join(errors)
        # The key ring of then opens what it sealed.
        workspace.environment |= {name: value for name, value in server.environment.items() if name.startswith("BELFRY_")}
        cli(workspace, "check")
        go_back(binary, home, engine, facts)
    finally:
        workspace.end()


def go_back(binary, home, engine, facts):
    """The program as the release before: it works beside what a later one has added, and refuses to where the later one did more."""
    table = "grdb_migrations" if engine.name == "sqlite" else "belfry_migration"
    engine.query(f"INSERT INTO {table} (identifier) VALUES ('9998 labels (additive)')")
    engine.query("CREATE TABLE label (id INTEGER PRIMARY KEY)")
    engine.query("ALTER TABLE device ADD COLUMN label_count INTEGER NOT NULL DEFAULT 0")
    server = Belfry(binary, home, engine.database)
    platform = (facts["platform_uuid"], facts["platform_secret"])
    call(Node(server.url), "POST", "/v1/registration", {"registration_token": "ef" * 32, "os": "ios", "tags": ["town"]}, platform)
    assert server.stop() == 0
    engine.query(f"INSERT INTO {table} (identifier) VALUES ('9999 no labels')")
    try:
        Belfry(binary, home, engine.database).stop()
        raise AssertionError("it serves with the schema of a newer program")
    except RuntimeError as error:
        assert "9999 no labels" in str(error) and "9998" not in str(error), error


if __name__ == "__main__":
    task, binary = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve())
    if task == "make":
        import subprocess

        make(binary, subprocess.run([binary, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    else:
        check(binary)
