"""The commands of a text in Markdown."""

import re
import subprocess

#: A block with such a line is one for a shell.
SHELL = re.compile(
    r"(sudo (-u \S+ )?|[A-Z_]+=\S* )?(belfry|curl|make|apt|apt-get|systemctl|cf|psql|pg_dump|pg_restore|docker|podman|kubectl|"
    r"openssl|export|until|git|python3|swift \w+|Scripts/\S+)( |$)")
#: Samples of other languages, and of what is answered.
LANGUAGES = ("", "sh", "bash", "shell", "console")


def blocks(text):
    """The indented and fenced blocks, each with its first line's number and its lines."""
    block, start, fence = [], 0, None
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            if fence is None:
                if block:
                    yield start, block
                fence, block, start = line.strip().strip("`"), [], number + 1
            else:
                if fence in LANGUAGES:
                    yield start, block
                fence, block = None, []
        elif fence is not None:
            block.append(line)
        elif line.startswith("    ") and not line.lstrip().startswith(("|", "- ")):
            if not block:
                start = number
            block.append(line[4:])
        elif block and line.strip():
            yield start, block
            block = []
        elif block:
            block.append("")
    if block:
        yield start, block


def commands(text):
    """The complete commands of each block for a shell: a list of blocks, each a list of (line number, command)."""
    found = []
    for start, lines in blocks(text):
        if not any(SHELL.match(line.strip()) for line in lines):
            continue
        block, pending = [], []
        for number, line in enumerate(lines, start):
            if not pending and (not line.strip() or line.lstrip().startswith("#")):
                if line.strip():
                    block.append((number, line.strip()))
                continue
            pending.append(line)
            if is_complete("\n".join(pending)):
                block.append((number - len(pending) + 1, "\n".join(pending).strip()))
                pending = []
        assert not pending, f"a command has no end: {pending}"
        found.append(block)
    return found


def is_complete(command):
    if command.rstrip().endswith("\\"):
        return False
    return subprocess.run(["bash", "-n", "-c", command], stderr=subprocess.DEVNULL).returncode == 0


def inline(text):
    """The commands between backquotes, each with its line's number; they may go over two lines of a paragraph."""
    prose, fence = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fence = not fence
            prose.append("")
        else:
            prose.append("" if fence or line.startswith("    ") else line)
    whole = "\n".join(prose)
    for match in re.finditer(r"(?<!`)`((?:belfry|curl)\s[^`]+)`", whole):
        yield whole.count("\n", 0, match.start()) + 1, re.sub(r"\s+", " ", match[1])
