#!/usr/bin/env python3
"""Breaks every rule of tools/lint.py in a tree of its own and sees it red (ctest: lint.selftest)."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import draw_layers  # noqa: E402  (found through the line above)
import lint  # noqa: E402  (found through the line above)

MIRRORED = "src/cli/start.cpp  tests/e2e/test_process.py  runs it\n"
# The smallest tree that keeps every rule.
CLEAN = {
    "README.md": "# Name\n\n```\n./dev build\nridgeline run --max-num-seqs 8\n```\n\n[docs](docs/README.md#start)\n",
    "docs/README.md": "# Docs\n\n## Start\n\n[deps](dependencies.md), ![picture](img/demo.svg), [code](../src)\n",
    "docs/dependencies.md": "# Dependencies\n\n`libfmt-dev`, `Time.Flows`\n",
    "docs/img/demo.svg": "<svg/>\n",
    "apt-packages.txt": "# Packages\n[build]\nlibfmt-dev  # text\n",
    "dev": "cmd_build() {\n  true\n}\n",
    "CMakeLists.txt": "project(x)  # never -march=native\n",
    "cmake/layers.txt": "# layers\ncore:\nengine: core\ncli: core engine\n",
    "src/core/time.hpp": "#include <cstdint>\n",
    "src/core/time.cpp": '#include "core/time.hpp"\n#include <fmt/core.h>\nint x = 1;  // never abort()\n',
    "src/engine/queue.hpp": "#include <unordered_map>\nstd::unordered_map<int, int> jobs_;\n",
    "src/engine/queue.cpp": '#include "engine/queue.hpp"\n#include "core/time.hpp"\nint f() { return jobs_.at(1); }\n',
    "src/cli/start.cpp": '#include <unistd.h>\nconst char* verb = "run";\nconst char* key = "max_num_seqs";\n',
    "src/engine/uses.hpp": '#include "core/time.hpp"\n',
    "src/cli/uses.hpp": '#include "core/time.hpp"\n#include "engine/queue.hpp"\n',
    "tests/unit/core/time_test.cpp": "TEST(Time, Flows) {}\n",
    "tests/property/engine/laws_prop.cpp": '#include "engine/queue.hpp"\n',
    "tools/mirror_exceptions.txt": "# 1 source\n" + MIRRORED,
    "tests/e2e/test_process.py": "",
    "fuzz/CMakeLists.txt": "ridgeline_fuzzer(text core)\n",
    "fuzz/text.cpp": "int b;\n",
    "fuzz/corpora/text/empty": "",
}


def findings_of(files: dict[str, str]) -> list[lint.Finding]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        tree = lint.Tree(Path(folder))
        return [finding for rule in lint.RULES for finding in rule(tree)]


class LintTest(unittest.TestCase):
    def assert_clean(self, changed: dict[str, str]) -> None:
        self.assertEqual([str(finding) for finding in findings_of(CLEAN | changed)], [])

    def assert_red(self, changed: dict[str, str | None], rule: str, where: str) -> None:
        """Exactly one finding, of this rule, at this `file:line`."""
        files = {name: text for name, text in (CLEAN | changed).items() if text is not None}
        found = findings_of(files)
        self.assertEqual(
            [(finding.rule, f"{finding.path}:{finding.line}") for finding in found],
            [(rule, where)],
            [str(finding) for finding in found],
        )

    def test_clean_tree_is_clean(self) -> None:
        self.assert_clean({})

    def test_siblings(self) -> None:
        to_b = {"src/core/a/x.hpp": '#include "core/b/y.hpp"\n', "src/core/b/y.hpp": ""}
        self.assert_clean(to_b)
        back = {"src/core/b/z.hpp": '\n#include "core/a/x.hpp"\n'}
        self.assert_red(to_b | back, "siblings", "src/core/a/x.hpp:1")

    def test_layer_picture(self) -> None:
        page = {
            "docs/internals/architecture.md": "| `core` |\n| `engine` |\n| `cli` |\n",
            "docs/README.md": CLEAN["docs/README.md"] + "\n[layers](internals/architecture.md)\n",
        }
        picture = {"docs/img/layers.svg": draw_layers.draw(CLEAN["cmake/layers.txt"])}
        self.assert_clean(page | picture)
        self.assert_red(page, "picture", "docs/img/layers.svg:1")
        self.assert_red(page | {"docs/img/layers.svg": "<svg/>"}, "picture", "docs/img/layers.svg:1")
        page["docs/internals/architecture.md"] = "| `core` |\n| `engine` |\n"
        self.assert_red(page | picture, "picture", "docs/internals/architecture.md:1")

    def test_functions(self) -> None:
        body = "  x();\n" * (lint.MAX_FUNCTION_LINES - 1)
        self.assert_clean({"src/core/long.hpp": f"void f() {{\n{body}}}\n"})
        self.assert_red({"src/core/long.hpp": f"\nvoid f() {{\n{body}  x();\n}}\n"}, "functions", "src/core/long.hpp:2")

    def test_layers(self) -> None:
        queue = '#include "engine/queue.hpp"\n'
        self.assert_red({"src/core/time.hpp": queue}, "layers", "src/core/time.hpp:1")
        self.assert_red({"src/core/time.hpp": '\n#include "time.hpp"\n'}, "layers", "src/core/time.hpp:2")
        self.assert_red({"src/core/time.hpp": '#include "core/gone.hpp"\n'}, "layers", "src/core/time.hpp:1")
        self.assert_red({"src/extra/a.hpp": ""}, "layers", "src/extra/a.hpp:1")
        cycle = "core: engine\nengine: core\ncli: core engine\n"
        self.assert_red({"cmake/layers.txt": cycle}, "layers", "cmake/layers.txt:1")
        unused = {"src/cli/uses.hpp": '#include "core/time.hpp"\n'}
        self.assert_red(unused, "layers", "cmake/layers.txt:1")
        lab = {"lab/records/a.hpp": '#include "core/time.hpp"\n'}
        self.assert_red(lab, "layers", "lab/records/a.hpp:1")
        listed = {"cmake/layers.txt": CLEAN["cmake/layers.txt"] + "lab/records: core\n"}
        self.assert_clean(lab | listed)
        self.assert_red(lab | listed | {"src/core/time.hpp": '#include "lab/records/a.hpp"\n'}, "layers", "src/core/time.hpp:1")

    def test_headers(self) -> None:
        for name in ("nlohmann/json.hpp", "CLI/CLI.hpp", "yaml-cpp/yaml.h", "simdjson.h", "xxhash.h",
                     "tsl/robin_map.h", "tl/expected.hpp", "boost/any.hpp", "unistd.h", "sys/stat.h"):
            with self.subTest(name):
                text = f"#include <{name}>\n"
                self.assert_red({"src/engine/queue.hpp": text}, "headers", "src/engine/queue.hpp:1")

    def test_banned_words(self) -> None:
        for code in ("std::cout << 1;", "abort();", "::_exit(1);", "printf(\"x\");", "fmt::print(\"x\");", "std::abort();", "exit(1);",
                     "auto e = std::getenv(\"HOME\");", "std::chrono::system_clock::now();",
                     "std::chrono::steady_clock::now();", "auto t = std::time(nullptr);",
                     "std::random_device d;", "std::mt19937 g;", "int r = rand();",
                     "std::uniform_int_distribution<int> d(0, 1);", "double y = std::exp(1.0);",
                     "double y = ::pow(2.0, 3.0);", "double y = log(2.0);", "throw 1;", "typedef int Count;", "int* p = NULL;", "long double z;",
                     "auto n = std::stoi(s);"):
            with self.subTest(code):
                self.assert_red({"src/engine/queue.hpp": f"\nvoid f() {{ {code} }}\n"}, "banned",
                                "src/engine/queue.hpp:2")

    def test_what_looks_banned_but_is_not(self) -> None:
        for code in ("// std::cout", "/* exit(1)\n */", 'auto s = "abort()";', "core::exp(1.0);", "batch.time(2);",
                     "fmt::format(\"{}\", 1);", "std::snprintf(b, 1, \"x\");", "double s = std::sqrt(2.0);",
                     "void abort(int id);", "engine.abort();", "auto r = R\"(throw 1)\";", "int n = 1'000; // it's", "spec.log(1);"):
            with self.subTest(code):
                self.assert_clean({"src/engine/queue.hpp": code + "\n"})
        self.assert_clean({"src/cli/start.cpp": 'auto t = std::getenv("run max_num_seqs");\n"run" "max_num_seqs"'})

    def test_build_flags(self) -> None:
        self.assert_red({"CMakeLists.txt": "add_compile_options(-march=native)\n"}, "flags", "CMakeLists.txt:1")
        self.assert_red({"src/CMakeLists.txt": "\nadd_compile_options(-ffast-math)\n"}, "flags", "src/CMakeLists.txt:2")

    def test_hash_order(self) -> None:
        head = '#include "engine/queue.hpp"\n'
        for code in ("void f() { for (auto& [a, b] : jobs_) {} }", "auto i = jobs_.begin();",
                     "tsl::robin_map<int, std::vector<int>> m;  void f() { for (auto& x : m) {} }"):
            with self.subTest(code):
                self.assert_red({"src/engine/queue.cpp": head + code + "\n"}, "hash-order", "src/engine/queue.cpp:2")
        self.assert_clean({"src/engine/queue.cpp": head + "std::vector<int> v; void f() { for (auto x : v) {} }\n"})

    def test_mirror(self) -> None:
        self.assert_red({"src/engine/new.cpp": ""}, "mirror", "src/engine/new.cpp:1")
        self.assert_red({"tests/unit/cli/start_test.cpp": ""}, "mirror", "tools/mirror_exceptions.txt:2")
        gone = "# 2 sources\n" + MIRRORED + "src/cli/gone.cpp  tests/e2e/test_process.py  why\n"
        self.assert_red({"tools/mirror_exceptions.txt": gone}, "mirror", "tools/mirror_exceptions.txt:3")
        for head in ("", "# source  test\n", "# 0 sources\n", "# 2 sources\n"):
            with self.subTest(head):
                self.assert_red({"tools/mirror_exceptions.txt": head + MIRRORED}, "mirror", "tools/mirror_exceptions.txt:1")
        for reason in ("", "tests/e2e/test_process.py", "tests/e2e/test_gone.py  runs it"):
            with self.subTest(reason):
                line = f"# 1 source\nsrc/cli/start.cpp  {reason}\n"
                self.assert_red({"tools/mirror_exceptions.txt": line}, "mirror", "tools/mirror_exceptions.txt:2")

    def test_pronouns(self) -> None:
        for word in ("who", "Whom", "whoever", "nobody's", "somebody", "anybody", "Anyone", "told"):
            with self.subTest(word):
                self.assert_red({"fuzz/text.cpp": f"int b;  // {word} waits\n"}, "pronouns", "fuzz/text.cpp:1")
        for path, text, line in (
            ("src/engine/queue.hpp", "/* Requests,\n   and who waits. */\n", 2),
            ("tests/unit/core/time_test.cpp", "TEST(Time, Flows) {}\n/// Users who wait, and blocks who wait.\n", 2),
            ("tests/e2e/test_process.py", "import os\n# nobody waits\n", 2),
            ("tests/e2e/test_process.py", 'def f():\n    """One line.\n\n    Nobody waits."""\n', 4),
            ("docs/dependencies.md", CLEAN["docs/dependencies.md"] + "\nIs told.\n", 5),
        ):
            with self.subTest(text):
                self.assert_red({path: text}, "pronouns", f"{path}:{line}")
        for text in ("// a user who waits, people who wait", "// the whole, whose, untold", 'auto who = "nobody";  // a name'):
            with self.subTest(text):
                self.assert_clean({"fuzz/text.cpp": text + "\n"})
        self.assert_clean({"tests/e2e/test_process.py": "told = 'nobody'\n"})

    def test_openings(self) -> None:
        for comment in ("// Of the file.", "///< Of the file.", "/// The same for a list.", "//Likewise.", "/* Of it. */"):
            for path in ("src/engine/queue.hpp", "include/ridgeline.h", "tests/unit/core/time_test.hpp", "fuzz/text.cpp"):
                with self.subTest(comment=comment, path=path):
                    self.assert_red({path: f"int b;\nint c;  {comment}\n"}, "openings", f"{path}:2")
        self.assert_red({"tests/e2e/test_process.py": "x = 1  # Of the page.\n"}, "openings", "tests/e2e/test_process.py:1")
        for comment in ("// Line of the file. Of the list: none.", "// Often.", "// the same", 'auto text = "// Of";'):
            with self.subTest(comment):
                self.assert_clean({"src/engine/queue.hpp": comment + "\n"})

    def test_pens(self) -> None:
        for line in ('f("<svg x");', 'f("<rect class");', 'f("fill:#0969da");', 'f("{:<9}", a);', 'f("{:>9}", a);', "pad_right(a, 9);"):
            with self.subTest(line):
                self.assert_red({"src/engine/queue.hpp": line + "\n"}, "pens", "src/engine/queue.hpp:1")
        self.assert_clean({"src/engine/queue.hpp": 'auto text = f("{:.2f} {:+.1f}");\n'})

    def test_members(self) -> None:
        forms = (
            "int x;", "int x = 0;", "int x{0};", "std::function<int()> f = [] { return 1; };", "int x[2] = {1, 2};",
            "void f();", "int f() { return 1; }", "Queue() : a_{1}, b_(2) {}", "template <class T>\n  void f(T x) { x(); }",
            "Queue(const Queue&) = delete;", "std::vector<int> v = {}, w = {};", "private:\n  int x;",
        )  # fmt: skip
        others = "  friend class Other;\n  using A = int;\n  enum class E { kA, kB };\n  struct In { int a; };\n"
        listed = "# 1 class\nsrc/engine/queue.hpp  Queue\n"
        for form in forms:
            with self.subTest(form):
                head = f"class Queue final : public Base {{\n public:\n{others}"
                most = head + f"  {form}\n" * lint.MAX_MEMBERS
                more = most + f"  {form}\n}};\nint y;\n"
                self.assert_clean({"src/engine/queue.hpp": most + "};\nint y;\n"})
                self.assert_red({"src/engine/queue.hpp": "\n" + more}, "members", "src/engine/queue.hpp:2")
                self.assert_clean({"src/engine/queue.hpp": more, "tools/class_exceptions.txt": listed})
        self.assert_red({"tools/class_exceptions.txt": listed}, "members", "tools/class_exceptions.txt:2")
        wrong = {"src/engine/queue.hpp": more, "tools/class_exceptions.txt": listed.replace("1", "2")}
        self.assert_red(wrong, "members", "tools/class_exceptions.txt:1")

    def test_tests_that_never_run(self) -> None:
        self.assert_red({"tests/unit/queue_test.cpp": ""}, "tests", "tests/unit/queue_test.cpp:1")
        self.assert_red({"tests/unit/cli/a_prop.cpp": ""}, "tests", "tests/unit/cli/a_prop.cpp:1")

    def test_named_tests(self) -> None:
        self.assert_red({"tests/unit/core/time_test.cpp": "TEST(Time, Stops) {}\n"}, "tests", "docs/dependencies.md:3")

    def test_named_functions(self) -> None:
        page = CLEAN["docs/dependencies.md"] + "`Time::flies` is not there.\n"
        line = f"docs/dependencies.md:{page.count(chr(10))}"
        self.assert_red({"docs/dependencies.md": page}, "names", line)

    def test_fuzzers(self) -> None:
        self.assert_red({"fuzz/CMakeLists.txt": ""}, "fuzz", "fuzz/text.cpp:1")
        self.assert_red({"fuzz/corpora/text/empty": None}, "fuzz", "fuzz/text.cpp:1")

    def test_links(self) -> None:
        self.assert_red({"docs/img/demo.svg": None}, "links", "docs/README.md:5")
        wrong_anchor = CLEAN["README.md"].replace("#start", "#stop")
        self.assert_red({"README.md": wrong_anchor}, "links", "README.md:8")
        self.assert_red({"src/core/time.hpp": "// See docs/gone.md\n"}, "links", "src/core/time.hpp:1")
        self.assert_red({"docs/orphan.md": "# Orphan\n"}, "links", "docs/orphan.md:1")

    def test_commands(self) -> None:
        for old, new, line in (("./dev build", "./dev fly", 4), ("ridgeline run", "ridgeline fly", 5),
                               ("--max-num-seqs", "--max-num-cats", 5)):
            with self.subTest(new):
                text = CLEAN["README.md"].replace(old, new)
                self.assert_red({"README.md": text}, "commands", f"README.md:{line}")

    def test_packages(self) -> None:
        bare = {"apt-packages.txt": "[build]\nlibfmt-dev\n"}
        self.assert_red(bare, "packages", "apt-packages.txt:2")
        extra = {"apt-packages.txt": CLEAN["apt-packages.txt"] + "g++  # compiler\n"}
        self.assert_red(extra, "packages", "apt-packages.txt:4")

    def test_text(self) -> None:
        for path in ("/" + rest for rest in ("tmp", "root/x", "work/data", "home/ann/x")):
            with self.subTest(path):
                text = f'TEST(Time, Flows) {{ "{path}"; }}\n'
                self.assert_red({"tests/unit/core/time_test.cpp": text}, "paths", "tests/unit/core/time_test.cpp:1")
        self.assert_red({"fuzz/text.cpp": "// TODO later\n"}, "unfinished", "fuzz/text.cpp:1")
        self.assert_red({"fuzz/text.cpp": "\n" * (lint.MAX_LINES + 1)}, "length", "fuzz/text.cpp:601")

    def test_program(self) -> None:
        """The exit code: 0 with warnings only, 1 with a problem."""
        for text, code in (("\n" * 601, 0), ("// TODO\n", 1)):
            with self.subTest(code), tempfile.TemporaryDirectory() as folder:
                for name, content in (CLEAN | {"fuzz/text.cpp": text}).items():
                    path = Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content, encoding="utf-8")
                command = [sys.executable, str(ROOT / "tools/lint.py"), folder]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, code, done.stdout)


if __name__ == "__main__":
    unittest.main()
