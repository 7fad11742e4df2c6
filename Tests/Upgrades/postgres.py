"""A PostgreSQL of the test's own, behind a socket in its folder."""

import os
import pathlib
import shutil
import subprocess


def tools():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    assert found, "PostgreSQL is not installed: Scripts/setup test"
    return found[-1].parent


class Postgres:
    def __init__(self, folder):
        self.folder, self.bin = pathlib.Path(folder), tools()
        self.folder.mkdir()
        # PostgreSQL does not run as root.
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self.prefix:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "--pgdata", f"{self.folder}/pg", "--auth", "trust", "--username", "belfry", "--encoding", "UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=100"
        self.run("pg_ctl", "--pgdata", f"{self.folder}/pg", "--log", f"{self.folder}/log", "--wait", "--options", options, "start")
        self.folder.chmod(0o755)

    def run(self, tool, *arguments, **more):
        return subprocess.run(
            [*self.prefix, str(self.bin / tool), *arguments], check=True, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            **more).stdout

    def create(self, name):
        """A new database; returns its address."""
        self.run("createdb", "--host", str(self.folder), "--username", "belfry", name)
        return f"postgres:///{name}?host={self.folder}&user=belfry"

    def sql(self, name, text):
        """The rows of the last statement, a list of texts each."""
        out = self.run(
            "psql", "--host", str(self.folder), "--username", "belfry", "--dbname", name, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
            "--set", "ON_ERROR_STOP=1", "--file", "-", input=text)
        return [line.split("|") for line in out.splitlines() if line]

    def dump(self, name):
        return self.run("pg_dump", "--host", str(self.folder), "--username", "belfry", "--no-owner", "--no-privileges", name)

    def stop(self):
        self.run("pg_ctl", "--pgdata", f"{self.folder}/pg", "--mode", "immediate", "--wait", "stop")
