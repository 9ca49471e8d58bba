#!/usr/bin/env python3
"""Runs what the pages show: every fenced block of a .md file that begins with `$ ridgeline ...`.

    tools/transcripts.py BINARY            exit 1 if a page shows something else than BINARY prints
    tools/transcripts.py BINARY --update   write what it prints into the pages, and the pictures

Wall time is the one thing that may differ. A block beginning with `$ ./dev demo` shows the demo's own run. A
picture is written by the command in the comment above it: `<!-- picture: ridgeline ... -o docs/img/x.svg -->`.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^(```\w*\n)(\$ (?:ridgeline(?:-lab)?|\./dev demo)(?:[^\n]*\\\n)*[^\n]*\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"<!-- picture: (ridgeline .*?) -o (\S+\.svg) -->", re.DOTALL)
WALL_TIME = re.compile(r" in [\d. hms]+ \([\d .]+×\)")


def demo_arguments() -> str:
    """The run that ./dev demo ends with."""
    script = (ROOT / "dev").read_text(encoding="utf-8")
    found = re.search(r"^readonly demo=\((.*?)\)$", script, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit("transcripts: ./dev has no line 'readonly demo=(...)'")
    return " ".join(found.group(1).split())


def run(command: str, binary: Path) -> str:
    command = command.replace("./dev demo", f"ridgeline {demo_arguments()}")
    environment = {"PATH": f"{binary.parent}:{os.environ['PATH']}", "LANG": "C.UTF-8", "COLUMNS": "100"}
    # A folder that looks like the checkout, so that files which a command writes do not stay in it.
    with tempfile.TemporaryDirectory() as folder:
        for entry in ROOT.iterdir():
            (Path(folder) / entry.name).symlink_to(entry)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").split("\n")) + "\n"


def without_wall_time(text: str) -> list[str]:
    return WALL_TIME.sub(" in _", text).splitlines()


def check_picture(match: re.Match[str], binary: Path, update: bool) -> int:
    """Compares the words in a picture; their places follow the length of the wall time."""
    command, name = " ".join(match.group(1).split()), match.group(2)
    path = ROOT / name
    printed = run(f"{command} --format svg", binary)
    shown = path.read_text(encoding="utf-8") if path.exists() else ""
    words = [without_wall_time(re.sub(r"<[^>]*>", "", picture)) for picture in (shown, printed)]
    if words[0] == words[1]:
        return 0
    if update:
        path.write_text(printed, encoding="utf-8")
    else:
        print(f"{name}: not what the program draws")
    return 1


def check_page(page: Path, binary: Path, update: bool) -> int:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    differing = 0

    def refreshed(match: re.Match[str]) -> str:
        nonlocal differing
        fence, prompt, shown = match.groups()
        printed = run(prompt[2:], binary)
        if without_wall_time(shown) == without_wall_time(printed):
            return match.group()
        differing += 1
        if not update:
            line = text.count("\n", 0, match.start()) + 1
            print(f"{name}:{line}: {prompt[2:].strip()}: not what the program prints")
            rows = difflib.unified_diff(without_wall_time(shown), without_wall_time(printed), "page", "program", lineterm="")
            print("\n".join(rows))
        return f"{fence}{prompt}{printed}```"

    new = BLOCK.sub(refreshed, text)
    if update:
        page.write_text(new, encoding="utf-8")
    return differing + sum(check_picture(match, binary, update) for match in PICTURE.finditer(text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = sum(len(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in pages)
    differing = sum(check_page(page, arguments.binary.resolve(), arguments.update) for page in pages)
    verb = "rewritten" if arguments.update else "differ"
    print(f"transcripts: {blocks} blocks, {differing} {verb}")
    if blocks == 0:
        print("transcripts: found none, which cannot be right")
        return 1
    return 1 if differing and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
