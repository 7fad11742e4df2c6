"""Runs every command that README, the documents, the demo and the dashboard print, as it stands there, against the real program.

    python3 Tests/Documents/run.py BELFRY [DOCUMENT…]

A block of commands is run line by line, with what the lines before set. Words for ids and secrets (`APP_UUID`, `…`) are replaced, and so are the
addresses of samples. What cannot run here is in not-run.txt with the reason; a line there that no command matches is a failure too. Commands
within prose are compared with what the program itself says of its commands and options.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from commands import commands, inline
from workspace import ROOT, Workspace, free_port, pem
from setups import OTHERS, SETUPS
from dashboard import printed as printed_by_dashboard

HERE = pathlib.Path(__file__).parent


class NotRun:
    """The list of commands that are not run: a document, a part of the command, the reason."""

    def __init__(self, path):
        self.rows = [line.split(" | ") for line in path.read_text().splitlines() if line and not line.startswith("#")]
        assert all(len(row) == 3 for row in self.rows), "a row of not-run.txt is: document | part of the command | reason"
        self.used = set()

    def has(self, document, command):
        found = [row for row in self.rows if row[0] == document and row[1] in command]
        self.used.update(tuple(row) for row in found)
        return bool(found)

    def unused(self, documents):
        return [row for row in self.rows if row[0] in documents and tuple(row) not in self.used]


class Tree:
    """The program's commands and options, by its own account."""

    def __init__(self, binary):
        dump = subprocess.run([binary, "--experimental-dump-help"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.root = json.loads(dump)["command"]

    def fault(self, text):
        """What is wrong with `belfry …`, or None."""
        words = re.sub(r"\s(#|\||>|&|;).*", "", text).split()[1:]
        node, path = self.root, ["belfry"]
        if words and words[0] == "help":
            words = words[1:]
        while words and not words[0].startswith("-"):
            choices = [word for word in words[0].split("|")]
            children = {child["commandName"]: child for child in node.get("subcommands", [])}
            if not children:
                break
            if re.fullmatch(r"…|\.\.\.", words[0]):
                return None
            unknown = [choice for choice in choices if choice not in children]
            if unknown:
                return f"`{' '.join(path)}` has no command `{unknown[0]}`"
            node = children[choices[0]]
            path.append(choices[0])
            words = words[1:]
        names = {f"--{name['name']}" for argument in node.get("arguments", []) for name in argument.get("names", [])}
        for word in words:
            option = re.match(r"(--[a-z][a-z-]*)(?=$|[=\],)])", word.strip("[]"))
            if option and option[1] not in names:
                return f"`{' '.join(path)}` has no option `{option[1]}`"
        return None


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, place, command, attempt):
        try:
            attempt()
            self.passed += 1
        except AssertionError as error:
            self.failed += 1
            print(f"FAIL  {place}: {command}\n      {error}", flush=True)


def run_blocks(name, blocks, workspace, not_run, report, more=lambda command, above: {}):
    for block in blocks:
        above = ""
        for number, command in block:
            if command.startswith("#"):
                above = command
                continue
            if not_run.has(name, command):
                continue
            # Says which variables there are; what comes next uses them.
            variable = re.match(r"export (\w+)=…|export (\w+)=", command)
            if variable and variable[1]:
                report.add(f"{name}:{number}", command, lambda: expect(variable[1] in workspace.environment, "no such variable here"))
                for other in re.findall(r"\b(\w+)=…", command):
                    report.add(f"{name}:{number}", command, lambda: expect(other in workspace.environment, f"no variable {other} here"))
                continue
            if variable and variable[2] in workspace.environment:
                continue
            report.add(f"{name}:{number}", command, lambda: workspace.run(command, **more(command, above)))


def expect(condition, message):
    assert condition, message


def with_workspace(binary, prepare, do):
    with tempfile.TemporaryDirectory(prefix="belfry-documents-") as home:
        workspace = Workspace(binary, home)
        try:
            prepare(workspace)
            do(workspace)
        finally:
            workspace.end()


def starts_server(block):
    return any(re.match(r"belfry serve *(&|#|$)", command) for _, command in block)


def run_document(name, binary, not_run, report):
    text = (ROOT / name).read_text()
    found = commands(text)
    if not found and "$" not in "".join(command for _, command in inline(text)):
        return
    prepare = SETUPS.get(name)
    if prepare is None:
        needed = [command for block in found for _, command in block if not command.startswith("#") and not not_run.has(name, command)]
        needed += [command for _, command in inline(text) if "$" in command and not not_run.has(name, command)]
        for command in needed:
            report.add(name, command, lambda: expect(False, "this document has no entry in setups.py, and the command is not in not-run.txt"))
        return
    # A document that starts servers in several blocks begins anew with each.
    groups = [[]]
    for block in found:
        if prepare is Workspace.alone and starts_server(block) and any(starts_server(old) for old in groups[-1]):
            groups.append([])
        groups[-1].append(block)

    def play(workspace, blocks, is_last):
        more = lambda command, above: OTHERS.get(name, lambda *_: {})(workspace, command, above)
        run_blocks(name, blocks, workspace, not_run, report, more)
        if is_last:
            rest = [[(number, command)] for number, command in inline(text) if "$" in command]
            run_blocks(name, rest, workspace, not_run, report, more)

    for index, blocks in enumerate(groups):
        with_workspace(binary, prepare, lambda workspace: play(workspace, blocks, index == len(groups) - 1))


def check_prose(name, text, tree, report):
    """The commands within prose are commands, with options that they have."""
    for number, command in inline(text):
        if command.startswith("belfry "):
            report.add(f"{name}:{number}", command, lambda: expect(tree.fault(command) is None, tree.fault(command)))


def check_sources(tree, report):
    """So are those in messages of the program: `belfry …` between backquotes, or after `run`."""
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for command in re.findall(r"`(belfry [a-z][^`\"]*)", line):
                command = re.sub(r"\\\(.*", "", command).strip()
                if command:
                    report.add(f"{path.relative_to(ROOT)}:{number}", command, lambda: expect(tree.fault(command) is None, tree.fault(command)))


def run_demo(binary, not_run, report):
    def play(workspace):
        log = workspace.home / "demo.log"
        workspace.start(["demo", "--devices", "200", "--port", str(free_port()), "--management-port", str(free_port())], log, r"platforms, with their secrets:\n(.+\n)+")
        text = log.read_text()
        text = text[text.index("Try next"):text.index("  application  ")]
        text = text.replace(f"{binary} ", "belfry ")
        lines = [re.sub(r"^  ", "    ", line) for line in text.splitlines()]
        run_blocks("demo", commands("\n".join(lines)), workspace, not_run, report)

    with_workspace(binary, lambda workspace: None, play)


def run_dashboard(binary, not_run, report):
    def play(workspace):
        workspace.environment |= {"KEY": workspace.server.admin_key}
        for place, code in printed_by_dashboard(workspace):
            block = "\n".join(f"    {line}" for line in html.unescape(code).splitlines())
            run_blocks(place, commands(block), workspace, not_run, report)

    with_workspace(binary, Workspace.serve, play)


def main(binary, chosen):
    documents = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
        text=True).stdout.split()
    documents = [name for name in documents if name != "CHANGELOG.md" and (not chosen or name in chosen)]
    report, not_run, tree = Report(), NotRun(HERE / "not-run.txt"), Tree(binary)
    for name in documents:
        run_document(name, binary, not_run, report)
        check_prose(name, (ROOT / name).read_text(), tree, report)
    if not chosen or "demo" in chosen:
        run_demo(binary, not_run, report)
    if not chosen or "dashboard" in chosen:
        run_dashboard(binary, not_run, report)
    if not chosen or "sources" in chosen:
        check_sources(tree, report)
    for row in not_run.unused(documents):
        report.failed += 1
        print(f"FAIL  not-run.txt: no command of {row[0]} has {row[1]!r}")
    print(f"printed commands: {report.passed} passed, {report.failed} failed")
    return report.failed or (not chosen and report.passed < 300)


if __name__ == "__main__":
    sys.exit(1 if main(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]) else 0)
