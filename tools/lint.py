#!/usr/bin/env python3
"""The house rules that no compiler checks. Standard library only; ctest runs it as lint.house.

Every rule is a function from a Tree to Findings, listed in RULES. tests/lint/test_lint.py breaks each of them
in a tree of its own and sees it red. A finding reads `file:line: rule: what is wrong`.
"""

import argparse
import fnmatch
import io
import re
import shutil
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Callable, Iterator

import draw_layers

MAX_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_MEMBERS = 60

# Third-party headers, by prefix, and the files that may include them. Heavy headers cost seconds per file and
# hold exceptions; one adapter each keeps both in one place. fmt is free everywhere.
ADAPTERS = {
    "fmt/": ("src/*", "lab/*"),
    "tl/expected.hpp": ("src/core/result.hpp", "src/openai/api_error.hpp"),
    "yaml-cpp/": ("src/document/yaml_document.cpp",),
    "simdjson.h": ("src/document/json_document.cpp", "src/openai/*", "src/openai/text/tokenizer_file.cpp"),
    "boost/": ("src/serve/net/http_parser.cpp",),
    "tsl/": ("src/engine/vllm/fast/prefix_cache.cpp",),
    "xxhash.h": ("src/core/digest.cpp",),
    # libstdc++'s stream over an open descriptor.
    "ext/": ("src/cli/output_file.cpp",),
    "protozero/pbf_writer.hpp": ("src/sim/logs/perfetto.cpp",),
    "zlib.h": ("src/document/gzip.cpp", "src/document/gzip_writer.cpp"),
    "zstd.h": ("src/workload/traces/reading/zstd_input.cpp",),
    "curl/": ("src/observe/http_client.cpp",),
    "malloc.h": ("src/cli/program.cpp",),
}
# What only POSIX has: people and files, and how memory is backed; never the simulation.
PLATFORM_HEADERS = ("sys/", "arpa/", "netinet/", "netdb.h", "dlfcn.h", "unistd.h", "fcntl.h", "poll.h", "termios.h", "signal.h")
PLATFORM_FILES = (
    "src/cli/*",
    "src/observe/*",
    "src/sweep/shard_file.cpp",
    "src/core/system_library.cpp",
    "src/document/save.cpp",
    "src/document/temporary.cpp",
    "src/verbs/run.cpp",
    "src/api/c_api.cpp",
    "src/metrics/byte_slabs.cpp",
    "src/sim/live/arrival_log.cpp",
    "src/openai/arrival_time.hpp",
    "src/serve/net/*",
)


@dataclass(frozen=True)
class Ban:
    """A word that src/ may not hold, but for the files named."""

    pattern: str
    why: str
    allowed: tuple[str, ...] = ()


LIBM = (
    "log|log2|log10|log1p|exp|exp2|expm1|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|cbrt|hypot"
    "|erf|erfc|tgamma|lgamma|fma"
)

BANS = (
    Ban(
        r"\bstd::(cout|cerr|clog|puts|printf|fprintf|fputs|putchar)\b|(?<![\w:.>])f?printf\s*\(|\bfmt::print\b",
        "only the command line prints",
        ("src/cli/*", "src/core/check.cpp"),
    ),
    Ban(
        r"(?<!\w)(std|)::(exit|_exit|_Exit|quick_exit|abort|terminate)\s*\(|(?<![\w.>:])_?exit\s*\("
        r"|(?<![\w.>:])(?<![\w.>:] )abort\s*\(\s*\)",
        "only main ends the process; use Result, or RIDGELINE_CHECK for a bug of ours",
        ("src/cli/main.cpp", "src/cli/faults.cpp", "src/core/check.cpp"),
    ),
    Ban(
        r"\b(secure_getenv|getenv|setenv|putenv|setlocale)\b",
        "only the command line reads the environment",
        ("src/cli/*",),
    ),
    Ban(
        r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|clock_gettime|utc_clock)\b"
        r"|(?<![\w.>])(std::|::)(time|clock)\s*\(",
        "simulated time only; the wall clock is for progress, run_info and servers",
        ("src/cli/*", "src/verbs/clock.hpp", "src/observe/run_clock.hpp", "src/openai/arrival_time.hpp", "src/sim/live/clock.*"),
    ),
    Ban(
        r"\b(random_device|mt19937(_64)?|minstd_rand0?|default_random_engine|knuth_b|ranlux\w+)\b"
        r"|\bstd::\w+_distribution\b|\bstd::(random_)?shuffle\b|(?<![\w.>:])(std::|::)?s?rand\s*\(",
        "differs by library or by run; draw from core's streams and distributions",
    ),
    Ban(
        rf"(?<!\w)(std|)::({LIBM})[fl]?\s*\(",
        "the library's differ by machine; use core/math.hpp",
        ("src/core/math.cpp", "src/report/*", "lab/pages/*"),
    ),
    Ban(
        rf"(?<![\w:.>])({LIBM})[fl]?\s*\(",
        "looks like the library's, which differ by machine; write core::",
        ("src/core/*", "src/report/*", "lab/pages/*"),
    ),
    Ban(r"\bstd::sto(i|l|ll|ul|ull|f|d|ld)\b", "throws, and stops at rubbish; use std::from_chars"),
    Ban(r"(?<!\w)throw\b", "no exception of ours: return core::Result", ("src/api/guard.cpp",)),
    Ban(r"\btypedef\b", "write using"),
    Ban(r"(?<![\w.])NULL\b", "write nullptr"),
    Ban(r"\blong\s+double\b", "has another width on other machines"),
    Ban(r"<execution>|\bstd::execution\b", "parallelism is across runs, and merges in index order"),
)

BUILD_BAN = re.compile(r"-march=native|-mtune=native|-ffast-math|-Ofast|-funsafe-math\w*|-mfma\b")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# A path that exists on one machine only.
MACHINE_PATH = re.compile(r"(?<![\w.$})/*~-])/(?:work|tmp|root|home/\w+|mnt)(?=/|[\s\"'`:;,)]|$)")
# These two spell out what the others may not say.
LINTS_OWN = ("tools/lint.py", "tests/lint/test_lint.py")
BINARY = {".gz", ".png", ".ico", ".woff2"}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.is_warning else ""
        return f"{self.path}:{self.line}: {kind}{self.rule}: {self.message}"


class Tree:
    """The files that are, or could be, committed below a root."""

    def __init__(self, root: Path):
        self.root = root
        self.files = sorted(self._list())

    def _list(self) -> list[str]:
        git = ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        if (self.root / ".git").exists() and shutil.which("git"):
            done = subprocess.run(git, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return [name for name in done.stdout.split("\0") if (self.root / name).is_file()]
        skipped = {".git", "build", "out", "node_modules", "__pycache__"}
        found = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return [path.as_posix() for path in found if not skipped & set(path.parts)]

    @cache
    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    @cache
    def code(self, path: str) -> str:
        """C++ with comments and the insides of literals blanked; lines keep their numbers."""
        return blank_literals(self.text(path))

    def below(self, folder: str, *suffixes: str) -> list[str]:
        return [f for f in self.files if f.startswith(folder) and (not suffixes or f.endswith(suffixes))]

    def sources(self, *suffixes: str) -> list[str]:
        """The product's files and the laboratory's, without tests."""
        return self.below("src/", *suffixes) + [f for f in self.below("lab/", *suffixes) if not f.startswith("lab/tests/")]

    def tests(self, *suffixes: str) -> list[str]:
        return self.below("tests/", *suffixes) + self.below("lab/tests/", *suffixes)

    def has(self, path: str) -> bool:
        return path in self._file_set()

    @cache
    def _file_set(self) -> frozenset[str]:
        return frozenset(self.files)


LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)


def blank_literals(text: str) -> str:
    return LITERALS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def includes(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    """(line, kind, name) of every include; kind is '<' or '"'."""
    text = tree.text(path)
    for match in INCLUDE.finditer(text):
        yield line_of(text, match.start()), match.group(1), match.group(2)


def layer_table(tree: Tree) -> dict[str, list[str]]:
    table = {}
    for line in tree.text("cmake/layers.txt").splitlines():
        if match := re.match(r"([a-z/]+):(.*)$", line):
            table[match.group(1)] = match.group(2).split()
    return table


def layer_of(name: str, table: dict[str, list[str]]) -> str:
    """The layer of a file, by its name in an include: "sim/driver.hpp", "lab/records/campaign.hpp"."""
    parts = name.split("/")
    return "/".join(parts[:2]) if "/".join(parts[:2]) in table else parts[0]


def included_path(name: str) -> str:
    return name if name.startswith("lab/") else f"src/{name}"


def check_layers(tree: Tree) -> Iterator[Finding]:
    """A layer includes what cmake/layers.txt lists for it, all of it and no more, and the table has no cycle."""
    table = layer_table(tree)
    used: dict[str, set[str]] = {layer: set() for layer in table}
    seen: set[str] = set()
    above: dict[str, set[str]] = {}
    for layer, allowed in table.items():
        above[layer] = set(seen)
        for other in allowed:
            if other not in seen:
                yield Finding("cmake/layers.txt", 1, "layers", f"{layer} may not use {other}: list it above")
        seen.add(layer)
    for path in tree.sources(".hpp", ".cpp"):
        layer = layer_of(path.removeprefix("src/"), table)
        if layer not in table:
            yield Finding(path, 1, "layers", f"folder '{layer}' has no line in cmake/layers.txt")
            continue
        for line, kind, name in includes(tree, path):
            if kind != '"':
                continue
            target = layer_of(name, table)
            if layer == "api" and tree.has(f"include/{name}"):
                continue  # The library's own face.
            if target not in table:
                yield Finding(path, line, "layers", f'"{name}" does not start with a layer')
            elif target != layer and target not in table[layer]:
                yield Finding(path, line, "layers", f"{layer} may not use {target} (cmake/layers.txt)")
            elif not tree.has(included_path(name)):
                yield Finding(path, line, "layers", f"{included_path(name)} does not exist")
            used[layer].add(target)
    for layer, allowed in table.items():
        for other in allowed:
            if other in above[layer] and other not in used[layer]:
                yield Finding("cmake/layers.txt", 1, "layers", f"{layer}: no file of it uses {other}: take it out")


def check_siblings(tree: Tree) -> Iterator[Finding]:
    """Of two folders beside each other in one layer, only one includes from the other."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for path in tree.sources(".hpp", ".cpp"):
        folder = PurePosixPath(path).parent
        for line, kind, name in includes(tree, path):
            other = PurePosixPath(included_path(name)).parent
            if kind == '"' and other != folder and other.parent == folder.parent and len(folder.parts) > 2:
                first.setdefault((folder.name, str(other)), (path, line))
    for (folder, other), (path, line) in first.items():
        parent = PurePosixPath(other)
        back = (parent.name, str(parent.parent / folder))
        if back in first and folder < parent.name:
            yield Finding(path, line, "siblings", f"{folder} and {parent.name} include each other ({first[back][0]})")


def check_layer_picture(tree: Tree) -> Iterator[Finding]:
    """The picture of the layers is the one that cmake/layers.txt gives, and each layer has a row beside it."""
    picture, page = "docs/img/layers.svg", "docs/internals/architecture.md"
    if not tree.has(page):
        return
    if not tree.has(picture) or tree.text(picture) != draw_layers.draw(tree.text("cmake/layers.txt")):
        yield Finding(picture, 1, "picture", "not the picture of cmake/layers.txt: run tools/draw_layers.py")
    for layer in layer_table(tree):
        if f"| `{layer}` |" not in tree.text(page):
            yield Finding(page, 1, "picture", f"no row for the layer `{layer}`")


def check_headers(tree: Tree) -> Iterator[Finding]:
    """Third-party headers stay in their adapters."""
    for path in tree.sources(".hpp", ".cpp"):
        for line, kind, name in includes(tree, path):
            if kind != "<" or not re.search(r"[./]", name):
                continue
            if name.startswith(PLATFORM_HEADERS):
                allowed: tuple[str, ...] | None = PLATFORM_FILES
            else:
                allowed = next((files for head, files in ADAPTERS.items() if name.startswith(head)), None)
            if allowed is None:
                yield Finding(path, line, "headers", f"<{name}> is not in the list of tools/lint.py")
            elif not matches(path, allowed):
                yield Finding(path, line, "headers", f"<{name}> belongs in {', '.join(allowed)}")


def check_bans(tree: Tree) -> Iterator[Finding]:
    """Calls that would make a simulated result depend on the machine, or end it behind our back."""
    compiled = [(ban, re.compile(ban.pattern)) for ban in BANS]
    for path in tree.sources(".hpp", ".cpp"):
        code = tree.code(path)
        for ban, pattern in compiled:
            if matches(path, ban.allowed):
                continue
            for match in pattern.finditer(code):
                word = match.group().strip().rstrip("( \t")
                yield Finding(path, line_of(code, match.start()), "banned", f"{word}: {ban.why}")


def check_build_flags(tree: Tree) -> Iterator[Finding]:
    """The same bits on every machine: no flag that lets the compiler choose."""
    for path in tree.files:
        if path.startswith(("cmake/", "CMake")) or PurePosixPath(path).name == "CMakeLists.txt":
            for number, line in enumerate(tree.text(path).splitlines(), 1):
                if match := BUILD_BAN.search(line.split("#")[0]):
                    yield Finding(path, number, "flags", f"{match.group()} changes results by machine")


HASHED = re.compile(r"\b(?:unordered_(?:multi)?(?:map|set)|robin_(?:pg_)?(?:map|set))\s*<")


def hashed_names(code: str) -> set[str]:
    """Names declared with a hash container's type."""
    names = set()
    for match in HASHED.finditer(code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            at += 1
        if name := re.match(r"\s*[&*]?\s*(\w+)\s*[;={(,)]", code[at:]):
            names.add(name.group(1))
    return names


def check_hash_order(tree: Tree) -> Iterator[Finding]:
    """Nothing walks a hash container: its order is the library's business."""
    for path in tree.sources(".hpp", ".cpp"):
        code = tree.code(path)
        names = hashed_names(code)
        own_header = path.removesuffix(".cpp") + ".hpp"
        if path.endswith(".cpp") and tree.has(own_header):
            names |= hashed_names(tree.code(own_header))
        for name in sorted(names):
            walk = re.compile(rf"for\s*\([^;()]*:\s*[\w.>()-]*\b{name}\s*\)|\b{name}(?:\.|->)c?begin\s*\(")
            for match in walk.finditer(code):
                message = f"walks '{name}' in hash order"
                yield Finding(path, line_of(code, match.start()), "hash-order", message)


# Pronouns that leave the reader to guess what is meant. A comment names the request, block, step, row or caller.
PRONOUN = re.compile(r"\b(who|whom|whoever|nobody|somebody|anybody|anyone|told)\b", re.IGNORECASE)
# "who" is plain English where it means people.
PEOPLE = re.compile(r"\b(person|people|users?|readers?|newcomers?|authors?|operators?|contributors?),?\s+who\b", re.IGNORECASE)


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment."""
    for match in LITERALS.finditer(text):
        if match.group().startswith(("//", "/*")):
            yield line_of(text, match.start()), match.group()


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every comment and every string in triple quotes, docstrings among them."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.endswith(('"""', "'''"))):
            yield token.start[0], token.string


def check_pronouns(tree: Tree) -> Iterator[Finding]:
    """Comments and pages name the thing: no "who", "nobody" or "told" for requests, blocks, steps and rows."""
    readers = {".cpp": cpp_comments, ".hpp": cpp_comments, ".py": python_comments, ".md": lambda text: [(1, text)]}
    for path in tree.files:
        read = readers.get(PurePosixPath(path).suffix)
        if read is None or path in LINTS_OWN:
            continue
        for line, comment in read(tree.text(path)):
            comment = PEOPLE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), comment)
            for match in PRONOUN.finditer(comment):
                message = f"'{match.group()}': name the request, block, step, row or caller"
                yield Finding(path, line + comment.count("\n", 0, match.start()), "pronouns", message)


# Openings that leave the reader to guess the subject: "Of the file, from 1" where "Line in the file, from 1" is meant.
OPENING = re.compile(r"(?:///?<?|/\*+|#+) ?(Of|The same|Likewise)\b")


def check_openings(tree: Tree) -> Iterator[Finding]:
    """A comment begins with the thing that it is about."""
    readers = {".cpp": cpp_comments, ".hpp": cpp_comments, ".h": cpp_comments, ".py": python_comments}
    for path in tree.files:
        read = readers.get(PurePosixPath(path).suffix)
        if read is None or not path.startswith(("src/", "lab/", "include/", "tests/", "fuzz/", "bench/", "tools/")):
            continue
        for line, comment in read(tree.text(path)):
            if match := OPENING.match(comment):
                yield Finding(path, line, "openings", f"begins with '{match.group(1)}': name the thing, or delete it")


def check_mirror(tree: Tree) -> Iterator[Finding]:
    """Every source has a test that names it. tools/mirror_exceptions.txt lists those that another test covers,
    `source  test  how`; its first line says how many they are, and that number only falls."""
    listed = "tools/mirror_exceptions.txt"
    exceptions = {}
    if tree.has(listed):
        for number, line in enumerate(tree.text(listed).splitlines(), 1):
            words = line.split(maxsplit=2)
            if words and not line.startswith("#"):
                exceptions[words[0]] = number
                if len(words) < 3 or not words[1].startswith(("tests/", "lab/tests/")) or not tree.has(words[1]):
                    yield Finding(listed, number, "mirror", f"{words[0]}: name the test that covers it, and how")
        stated = re.match(r"# (\d+) ", tree.text(listed))
        if stated is None or int(stated.group(1)) != len(exceptions):
            message = f"{len(exceptions)} sources are listed: the first line is to say so, and a lower number than before"
            yield Finding(listed, 1, "mirror", message)
    tests = tree.tests(".cpp")
    stems = {PurePosixPath(test).stem for test in tests}
    included = {name for test in tests for _, kind, name in includes(tree, test) if kind == '"'}
    for path in tree.sources(".cpp"):
        stem = PurePosixPath(path).stem
        header = path.removeprefix("src/").removesuffix(".cpp") + ".hpp"
        if PurePosixPath(path).name == "main.cpp":
            continue
        tested = f"{stem}_test" in stems or f"{stem}_prop" in stems or header in included
        if tested and path in exceptions:
            yield Finding(listed, exceptions[path], "mirror", f"{path} has a test now: take this line out")
        elif not tested and path not in exceptions:
            yield Finding(path, 1, "mirror", f"no tests/unit file {stem}_test.cpp, and none includes {header}")
    for path, number in exceptions.items():
        if not tree.has(path):
            yield Finding(listed, number, "mirror", f"{path} does not exist: take this line out")


def check_tests_run(tree: Tree) -> Iterator[Finding]:
    """A test outside the folders that the build globs would never run."""
    layers = layer_table(tree)
    for path in tree.tests("_test.cpp", "_prop.cpp"):
        kind = "unit" if path.endswith("_test.cpp") else "property"
        tests, found, rest = path.partition(f"tests/{kind}/")
        if not found or "/" not in rest or layer_of(f"{tests}{rest}", layers) not in layers:
            yield Finding(path, 1, "tests", f"is never built: expected {tests}tests/{kind}/<layer>/")


def check_fuzzers(tree: Tree) -> Iterator[Finding]:
    """Every fuzzer is built and has seeds."""
    cmake = tree.text("fuzz/CMakeLists.txt") if tree.has("fuzz/CMakeLists.txt") else ""
    for path in tree.below("fuzz/", ".cpp"):
        stem = PurePosixPath(path).stem
        if stem == "replay_main":
            continue
        if not re.search(rf"^ridgeline_fuzzer\({stem} ", cmake, re.MULTILINE):
            yield Finding(path, 1, "fuzz", f"fuzz/CMakeLists.txt lacks ridgeline_fuzzer({stem} <layer>)")
        if not tree.below(f"fuzz/corpora/{stem}/"):
            yield Finding(path, 1, "fuzz", f"fuzz/corpora/{stem}/ holds no seed")


LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The names that GitHub gives the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower().replace("`", ""))
        found.add(plain.replace(" ", "-"))
    return found


def links(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    """(line, file, anchor) of every link to something of ours."""
    text = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), tree.text(path))
    for match in LINK.finditer(text):
        target = match.group(1)
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        parts: list[str] = []
        for part in (PurePosixPath(path).parent / name).parts if name else PurePosixPath(path).parts:
            if part == ".." and parts:
                parts.pop()
            elif part != ".":
                parts.append(part)
        yield line_of(text, match.start()), "/".join(parts), anchor


def check_links(tree: Tree) -> Iterator[Finding]:
    """Every link resolves, and every page is reached from the README."""
    pages = [path for path in tree.files if path.endswith(".md")]
    folders = {str(parent) for path in tree.files for parent in PurePosixPath(path).parents}
    reached, todo = set(), ["README.md"]
    for path in pages:
        for line, target, anchor in links(tree, path):
            if not tree.has(target) and target.rstrip("/") not in folders:
                yield Finding(path, line, "links", f"{target} does not exist")
            elif anchor and target.endswith(".md") and anchor not in anchors(tree.text(target)):
                yield Finding(path, line, "links", f"{target} has no heading '{anchor}'")
    for path in tree.sources(".hpp", ".cpp"):
        for match in re.finditer(r"(?<![\w/])(?:lab/)?docs/[\w./-]+\.md\b", tree.text(path)):
            if not tree.has(match.group()):
                line = line_of(tree.text(path), match.start())
                yield Finding(path, line, "links", f"{match.group()} does not exist")
    while todo:
        path = todo.pop()
        if path in reached or path not in pages:
            continue
        reached.add(path)
        todo += [target for _, target, _ in links(tree, path)]
    for path in pages:
        if path.startswith("docs/") and path not in reached:
            yield Finding(path, 1, "links", "no page that the README leads to links here")


def check_commands(tree: Tree) -> Iterator[Finding]:
    """Commands that the pages show exist: ./dev's, and the verbs and flags of the binary."""
    dev = set(re.findall(r"^cmd_(\w+)\(\)", tree.text("dev"), re.MULTILINE)) if tree.has("dev") else set()
    sources = "\n".join(tree.text(path) for path in tree.sources(".cpp", ".hpp"))
    strings = set(re.findall(r'"(?:--)?([a-z0-9][a-z0-9_-]*)', sources))
    for path in tree.below("data/flags/", ".yaml"):
        strings.update(re.findall(r"[a-z0-9][a-z0-9_-]*", tree.text(path)))
    for path in (path for path in tree.files if path.endswith(".md")):
        text = tree.text(path)
        for match in re.finditer(r"\./dev ([a-z]+)", text):
            if match.group(1) not in dev:
                line = line_of(text, match.start())
                yield Finding(path, line, "commands", f"./dev has no command '{match.group(1)}'")
        for block in FENCE.finditer(text):
            joined = block.group().replace("\\\n", "  ")
            for offset, line_text in running_lines(joined):
                line = line_of(text, block.start() + offset)
                for word in unknown_words(line_text, strings):
                    yield Finding(path, line, "commands", f"src/ knows no '{word}'")


def running_lines(block: str) -> Iterator[tuple[int, str]]:
    """Lines of a fenced block that call the binary, with their offsets."""
    for match in re.finditer(r"^\s*(?:\$ )?(?:time )?(?:\S*/)?ridgeline(?:-lab)? (.*)$", block, re.MULTILINE):
        yield match.start(1), match.group(1).split(" #")[0]


def unknown_words(command: str, strings: set[str]) -> Iterator[str]:
    verb = command.split()[0]
    if not verb.startswith(("-", "[", "<")) and verb not in strings:
        yield verb
    for flag in re.findall(r"(?<!\S)--([a-z][a-z0-9-]*)", command):
        if flag not in strings and flag.replace("-", "_") not in strings:
            yield f"--{flag}"


def check_named_tests(tree: Tree) -> Iterator[Finding]:
    """A test that a page names (`Suite.Case`) exists."""
    tests = "\n".join(tree.text(path) for path in tree.tests(".cpp"))
    cases = set(re.findall(r"^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\((\w+),\s*(\w+)", tests, re.MULTILINE))
    for path in (path for path in tree.files if path.endswith(".md")):
        text = tree.text(path)
        for match in re.finditer(r"`([A-Z][A-Za-z]+)\.([A-Z]\w+)`", text):
            if match.groups() not in cases:
                yield Finding(path, line_of(text, match.start()), "tests", f"no test {match.group()}")


def check_named_functions(tree: Tree) -> Iterator[Finding]:
    """The words of a member that a page names (`Class::function`) stand in src/."""
    words = {word for path in tree.sources(".cpp", ".hpp") for word in re.findall(r"\w+", tree.text(path))}
    for path in (path for path in tree.files if path.endswith(".md")):
        text = tree.text(path)
        for match in re.finditer(r"`([A-Z]\w+)::(\w+)(?:\(\))?`", text):
            if not words.issuperset(match.groups()):
                yield Finding(path, line_of(text, match.start()), "names", f"src/ has no {match.group()}")


def check_packages(tree: Tree) -> Iterator[Finding]:
    """apt-packages.txt gives each package a reason, and docs/dependencies.md lists the same ones."""
    table = "docs/dependencies.md"
    documented = set(re.findall(r"`([a-z0-9][a-z0-9+.-]+)`", tree.text(table))) if tree.has(table) else set()
    if not tree.has("apt-packages.txt"):
        return
    for number, line in enumerate(tree.text("apt-packages.txt").splitlines(), 1):
        if match := re.match(r"([a-z0-9][a-z0-9+.-]+)(\s+# \S.*)?$", line):
            if not match.group(2):
                yield Finding("apt-packages.txt", number, "packages", f"{match.group(1)} has no reason")
            if match.group(1) not in documented:
                yield Finding("apt-packages.txt", number, "packages", f"{table} lacks {match.group(1)}")


def check_text(tree: Tree) -> Iterator[Finding]:
    """No path of one machine, nothing unfinished, files of a size that one reads."""
    for path in tree.files:
        if PurePosixPath(path).suffix in BINARY or path.startswith(("fuzz/corpora/", *LINTS_OWN)):
            continue
        text = tree.text(path)
        for match in MACHINE_PATH.finditer(text):
            yield Finding(path, line_of(text, match.start()), "paths", f"'{match.group()}' is one machine's")
        if not path.endswith((".cpp", ".hpp", ".py")):
            continue
        for match in UNFINISHED.finditer(text):
            yield Finding(path, line_of(text, match.start()), "unfinished", match.group())
        if (lines := text.count("\n")) > MAX_LINES and not text.startswith("# Generated by"):
            yield Finding(path, lines, "length", f"{lines} lines: split it", is_warning=True)


# A function's first line at namespace or class scope: the end of its parameters and an opening brace.
FUNCTION_START = re.compile(r"^( {0,2})\S.*\).*\{$")
NOT_A_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|return|if|for|while|switch|else|do|///?|static const |\})")


def check_functions(tree: Tree) -> Iterator[Finding]:
    """Functions of a length that one reads. Tables of constants are data."""
    for path in tree.sources(".hpp", ".cpp"):
        lines = tree.text(path).splitlines()
        for number, line in enumerate(lines, 1):
            match = FUNCTION_START.match(line)
            if not match or NOT_A_FUNCTION.match(line) or "](" in line:
                continue
            end = next((at for at, other in enumerate(lines[number:], 1) if other == match.group(1) + "}"), 0)
            if end > MAX_FUNCTION_LINES:
                yield Finding(path, number, "functions", f"{end} lines: split the function")


CLASS_START = re.compile(r"(?<!enum )\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)(?:\s+final)?\s*(?::[^;{}()]*)?\{")
ACCESS = re.compile(r"\s*(?:(?:public|protected|private)\s*:\s*)*")
NOT_A_MEMBER = re.compile(r"(?:template\s*<.*>\s*)?(?:using|friend|typedef|static_assert|class|struct|union|enum)\b", re.DOTALL)


def num_members(code: str, start: int) -> int:
    """Functions and data of the class whose body begins at `start`, without types, friends and assertions."""
    count, depth = 0, 0
    for at, sign in enumerate(code[start:], start + 1):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            break
        # A brace that something follows is an initialiser's; else it ends a function.
        if depth or sign not in ";}" or (sign == "}" and code[at:].lstrip()[:1] in (*";,({.",)):
            continue
        member = code[start:at].strip(" \n;")
        member = member[ACCESS.match(member).end() :]
        count += bool(member) and not NOT_A_MEMBER.match(member)
        start = at
    return count


# One pen for pictures, one for tables: what looks like either elsewhere in src.
PICTURE = re.compile(r"<(?:svg|rect)\b|#[0-9a-f]{6}\b")
PADDING = re.compile(r"\{:[<>]|\bpad_right\(")
# Help texts, logs and lines that no table holds yet: the list only gets shorter.
PADDING_FILES = (
    "src/report/table/*",
    "src/report/format.?pp",
    "src/report/terminal_plot.cpp",
    "src/report/run_changes.cpp",
    "src/cli/*",
    "src/sim/live/arrival_log.cpp",
    "src/observe/summary.cpp",
    "src/verbs/plan_measurements.cpp",
    "src/verbs/validate_*.cpp",
)


def check_pens(tree: Tree) -> Iterator[Finding]:
    """Pictures are drawn in src/report/chart, columns are laid out in src/report/table."""
    for path in tree.below("src/", ".hpp", ".cpp"):
        pens = [(PICTURE, "drawn by hand; use report/chart")] if not path.startswith("src/report/chart/") else []
        if not matches(path, PADDING_FILES):
            pens.append((PADDING, "padded by hand; declare a report::TableView or a report::Sheet"))
        for pattern, why in pens:
            for match in pattern.finditer(tree.text(path)):
                yield Finding(path, line_of(tree.text(path), match.start()), "pens", f"{match.group()}: {why}")


def check_members(tree: Tree) -> Iterator[Finding]:
    """Classes of a size that one keeps in mind. tools/class_exceptions.txt lists those that are larger, `source  class`;
    its first line says how many they are, and that number only falls."""
    listed = "tools/class_exceptions.txt"
    lines = tree.text(listed).splitlines() if tree.has(listed) else []
    exceptions = {tuple(line.split()): number for number, line in enumerate(lines, 1) if line and line[0] != "#"}
    stated = re.match(r"# (\d+) ", lines[0]) if lines else None
    if exceptions and (stated is None or int(stated.group(1)) != len(exceptions)):
        message = f"{len(exceptions)} classes are listed: the first line is to say so, and a lower number than before"
        yield Finding(listed, 1, "members", message)
    for path in tree.sources(".hpp", ".cpp"):
        code = tree.code(path)
        for match in CLASS_START.finditer(code):
            count = num_members(code, match.end())
            if count > MAX_MEMBERS and exceptions.pop((path, match.group(1)), None) is None:
                message = f"{match.group(1)} has {count} members: split the class"
                yield Finding(path, line_of(code, match.start()), "members", message)
    for words, number in exceptions.items():
        yield Finding(listed, number, "members", f"{' '.join(words)} needs no exception: no such class is too large")


RULES: tuple[Callable[[Tree], Iterator[Finding]], ...] = (
    check_layers,
    check_siblings,
    check_layer_picture,
    check_headers,
    check_bans,
    check_build_flags,
    check_hash_order,
    check_pronouns,
    check_openings,
    check_mirror,
    check_tests_run,
    check_fuzzers,
    check_links,
    check_commands,
    check_named_tests,
    check_named_functions,
    check_packages,
    check_text,
    check_functions,
    check_pens,
    check_members,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    tree = Tree(parser.parse_args().root.resolve())
    findings = [finding for rule in RULES for finding in rule(tree)]
    for finding in findings:
        print(finding)
    errors = sum(not finding.is_warning for finding in findings)
    print(f"lint: {len(tree.files)} files, {len(RULES)} rules, {errors} problems")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
