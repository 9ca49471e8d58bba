#!/usr/bin/env python3
"""docs/guide/adding.md against the tree (ctest: lint.recipes): each recipe's touch points are counted by the command
beside them, and code that names its file stands there. The code of first-contribution.md compiles."""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/adding.md").read_text(encoding="utf-8")
STORY = (ROOT / "docs/guide/first-contribution.md").read_text(encoding="utf-8")
POINTS = re.compile(r"\*\*(?:Touch points: )?(\d+)\*\*[^`]*`((?:grep -rl|find )[^`]+)`")
QUOTED = re.compile(r"^```cpp\n// (\S+)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)


class RecipesTest(unittest.TestCase):
    def test_every_recipe_says_how_many_files_it_touches(self) -> None:
        for recipe in PAGE.split("\n## ")[1:]:
            with self.subTest(recipe.split("\n")[0]):
                self.assertTrue(POINTS.search(recipe))

    def test_examples_stand_in_so_many_files(self) -> None:
        for number, command in POINTS.findall(PAGE):
            with self.subTest(command):
                done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
                files = done.stdout.split()
                self.assertEqual(len(files), int(number), f"{files} {done.stderr}")

    def test_code_is_that_of_its_file(self) -> None:
        quoted = QUOTED.findall(PAGE)
        self.assertEqual(len(quoted), 2)
        for name, code in quoted:
            with self.subTest(name):
                self.assertIn(code, (ROOT / name).read_text(encoding="utf-8"))

    @unittest.skipUnless(shutil.which("c++"), "no compiler")
    def test_the_first_contribution_compiles(self) -> None:
        written = QUOTED.findall(STORY)
        self.assertEqual([Path(name).stem for name, _ in written], ["idle_first_test", "idle_first"])
        for name, code in written:
            with self.subTest(name):
                self.assertFalse((ROOT / name).exists(), "the story's policy is not part of the product")
                command = ["c++", "-std=c++20", "-fsyntax-only", "-Isrc", "-Itests", "-x", "c++", "-"]
                done = subprocess.run(command, cwd=ROOT, input=code, capture_output=True, text=True, check=False)
                self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
