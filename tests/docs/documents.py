"""Runs the commands of a document and compares what they print with what the document says; follows its links.

    /usr/bin/python3 tests/docs/documents.py ROOT DOCUMENT PROGRAMS

Commands stand in ```sh blocks and run one block after the other, in a folder that looks like the project's root after
the set-up: the scenarios, the scripts of tests/equivalence, and PROGRAMS as build/release/bin. Set-up commands
themselves are left out.

    command                      must exit with 0
    command  # exit status 3     must exit with 3

An ```output block after an ```sh block is what its last command prints, standard error included; `...` stands for any
text within a line, and alone on a line for any lines. Exit status 1 when something does not hold.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

SET_UP = re.compile(r"(?:\./)?(?:cmake|ctest|sudo|apt-get|git clone|cd|\.ci/run)\b")
STATUS = re.compile(r"\s+# exit status (\d+)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    line: int  # of the opening fence, from 1
    language: str
    lines: list


def blocks_of(text: str) -> list:
    blocks, current = [], None
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r"```(.*)$", line)
        if fence and current is None:
            current = Block(number, fence[1].strip(), [])
        elif fence:
            blocks.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
    if current is not None:
        raise ValueError(f"line {current.line}: the block does not end")
    return blocks


def commands_of(block: Block) -> list:
    """(line, command, expected status); a line that ends in a backslash continues."""
    commands, pending, start = [], "", 0
    for number, line in enumerate(block.lines, block.line + 1):
        start = start if pending else number
        pending += line
        if line.endswith("\\"):
            pending += "\n"
            continue
        command, pending = pending, ""
        if not command.strip() or command.lstrip().startswith("#") or SET_UP.match(command.lstrip()):
            continue
        status = STATUS.search(command)
        commands.append((start, STATUS.sub("", command), int(status[1]) if status else 0))
    return commands


def matches(shown: list, printed: str) -> bool:
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
    return re.fullmatch(pattern, printed) is not None


def check_commands(text: str, folder: pathlib.Path) -> list:
    """Runs what the text tells to run, in `folder`; returns what is wrong, as (line, message)."""
    wrong, printed = [], None
    for block in blocks_of(text):
        if block.language == "sh":
            for line, command, expected in commands_of(block):
                done = subprocess.run(["sh", "-c", command], cwd=folder, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
                printed = done.stdout.decode("utf-8", "replace")
                if done.returncode != expected:
                    wrong.append((line, f"'{command}' exits with {done.returncode}, not {expected}; it printed:\n{printed}"))
        elif block.language == "output":
            if printed is None:
                wrong.append((block.line, "no command before this output"))
            elif not matches(block.lines, printed):
                wrong.append((block.line, f"the command before prints something else:\n{printed}"))
    return wrong


def anchors_of(text: str) -> set:
    """The names GitHub gives to headings."""
    headings = re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def check_links(root: pathlib.Path, document: pathlib.Path, text: str) -> list:
    wrong = []
    for number, line in enumerate(text.split("\n"), 1):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (document.parent / path).resolve() if path else document
            if not target.exists() or root not in [target, *target.parents]:
                wrong.append((number, f"the link leads nowhere: {link}"))
            elif anchor and anchor not in anchors_of(target.read_text()):
                wrong.append((number, f"no heading for the link {link}"))
    return wrong


def main() -> int:
    root, programs = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    document = root / sys.argv[2]
    text = document.read_text()
    wrong = check_links(root, document, text)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        shutil.copytree(root / "scenarios", place / "scenarios", ignore=shutil.ignore_patterns("*.cpp", "*.h"))
        for scripts in ("scripts", "fabrics"):
            shutil.copytree(root / "tests" / "equivalence" / scripts, place / "tests" / "equivalence" / scripts)
        (place / "build" / "release").mkdir(parents=True)
        (place / "build" / "release" / "bin").symlink_to(programs)
        wrong += check_commands(text, place)
    for line, message in sorted(wrong):
        print(f"{sys.argv[2]}:{line}: error: {message}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
