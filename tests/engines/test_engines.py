"""tools/engines on a made-up engine of a few releases, which a made-up pip serves: no network."""

import hashlib
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "engines"
sys.path.insert(0, str(TOOL))

from cited import Cited, Record, order  # noqa: E402
from sources import Package, Place  # noqa: E402

CITED = """
package = "toy-engine"
folder = "toy/srt"
search = ["core/", "args.py"]
[files]
sched = "core/sched.py"
pool = "core/pool.py"
[rules]
Step.says = "a step"
Step.cites = ["sched Scheduler.schedule"]
Free.says = "blocks are freed"
Free.cites = ["pool free", "sched Scheduler.schedule"]
Limit.says = "a constant"
Limit.cites = ["sched LIMIT"]
[defaults]
Args = ["args.py Args"]
Config = ["core/*.py *Config"]
"""

SCHED = '''
"""What it is."""
LIMIT = 4
class Scheduler:
    """A class."""
    def schedule(self, budget):
        """Forms a step."""
        while budget > 0:  # As long as anything is left.
            budget -= 1
        return budget
'''
POOL = """
def free(blocks):
    for block in reversed(blocks):
        block.count -= 1
        if block.count == 0:
            yield block
"""
ARGS = """
class Args:
    seats: int = Config.seats
    policy: str = "fcfs"
    old: int = 1
"""
CONFIG = """
class Config:
    DEFAULT: ClassVar[int] = 16
    seats: int = Field(default=DEFAULT, ge=1)
    names: list = field(default_factory=list)
"""
FIRST = {"core/sched.py": SCHED, "core/pool.py": POOL, "args.py": ARGS, "core/config.py": CONFIG}

# Serves wheels from a folder, and says what pip says where there is none.
PIP = """
import os, shutil, sys
from pathlib import Path
shelf = Path(os.environ["SHELF"])
name, version = sys.argv[-1].split("==")
into = Path(sys.argv[sys.argv.index("--dest") + 1])
if not shelf.is_dir():
    sys.exit(f"WARNING: Retrying\\nERROR: Could not find a version that satisfies the requirement {name} (from versions: none)")
wheel = shelf / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
if not wheel.is_file():
    sys.exit(f"ERROR: Could not find a version that satisfies the requirement {name}=={version} (from versions: 1.0, 2.0)")
shutil.copy(wheel, into)
"""


class Toy:
    """An engine `toy`, its releases, and the program run on it."""

    def __init__(self, folder):
        self.folder = folder
        self.data = folder / "data"
        self.shelf = folder / "shelf"
        for one in (self.data, self.shelf, folder / "pip"):
            one.mkdir()
        (self.data / "toy.toml").write_text(CITED)
        (folder / "pip" / "__init__.py").write_text("")
        (folder / "pip" / "__main__.py").write_text(PIP)

    def release(self, version, **changed):
        """The first release with other files: `core_pool=None` leaves core/pool.py out."""
        files = FIRST | {f"{name.replace('_', '/')}.py": text for name, text in changed.items()}
        with zipfile.ZipFile(self.shelf / f"toy_engine-{version}-py3-none-any.whl", "w") as wheel:
            for name, text in files.items():
                if text is not None:
                    wheel.writestr(f"toy/srt/{name}", textwrap.dedent(text))
            wheel.writestr("toy/other.py", "left = 'out'")
            wheel.writestr("toy/srt/core/kernel.so", "not Python")

    def run(self, *words, **environment):
        return subprocess.run(
            [sys.executable, str(TOOL), "--data", str(self.data), "--build", str(self.folder / "build"), *words],
            env={"PYTHONPATH": str(self.folder), "SHELF": str(self.shelf), "PATH": "", **environment},
            capture_output=True, text=True, timeout=60, check=False)

    def check(self, *words, version="2.0", **changed):
        """The second release, against the first."""
        self.release("1.0")
        assert self.run("--record", "toy@1.0").returncode == 0
        self.release(version, **changed)
        return self.run("--check", f"toy@{version}", *words)


@pytest.fixture
def toy(tmp_path):
    return Toy(tmp_path)


def states(done):
    """What is said of each name."""
    return {name: state.strip() for state, name in re.findall(r"^([a-z, ]{14}) \S+ (\S+)", done.stdout, re.MULTILINE)}


def test_comments_docstrings_and_formatting_change_nothing(toy):
    done = toy.check(core_sched='''
        LIMIT = (4)
        class Scheduler:
            def schedule(self,
                         budget):
                "Other words."
                while (budget > 0):
                    budget -= 1
                "and here"
                return budget
        ''')
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "toy 2.0 against 1.0: 3 same"
    assert "same           core/sched.py Scheduler.schedule  [Step Free]" in done.stdout


def test_a_changed_function_shows_its_diff(toy):
    done = toy.check("--diff", core_sched=SCHED.replace("budget -= 1", "budget -= 2"))
    assert done.returncode == 1
    assert "toy 2.0 against 1.0: 1 changed, 2 same" in done.stdout
    assert "changed        core/sched.py Scheduler.schedule  [Step Free]" in done.stdout
    assert "--- 1.0\n+++ 2.0\n" in done.stdout
    assert "-        budget -= 1\n+        budget -= 2\n" in done.stdout


def test_a_changed_constant(toy):
    assert states(toy.check(core_sched=SCHED.replace("LIMIT = 4", "LIMIT = 8")))["LIMIT"] == "changed"


def test_a_function_in_another_file_has_moved(toy):
    done = toy.check(core_pool=None, core_blocks=POOL)
    assert done.returncode == 1
    assert "moved          core/pool.py free -> core/blocks.py free  [Free]" in done.stdout


def test_a_function_with_another_name_is_known_by_its_hash(toy):
    done = toy.check(core_pool=POOL.replace("def free", "def give_back"))
    assert "moved          core/pool.py free -> core/pool.py give_back  [Free]" in done.stdout


def test_a_function_that_becomes_a_private_method_and_changes(toy):
    done = toy.check(core_pool="""
        class Pool:
            def _free(self, blocks):
                yield from blocks
        """)
    assert "moved, changed core/pool.py free -> core/pool.py Pool._free  [Free]" in done.stdout


def test_a_function_of_which_two_could_be_meant_is_gone(toy):
    done = toy.check(core_pool=None, core_one=POOL.replace("0", "1"), core_two=POOL.replace("0", "2"))
    assert done.returncode == 1
    assert states(done)["free"] == "gone"


def test_of_two_with_its_name_the_one_with_its_hash_is_meant(toy):
    done = toy.check(core_pool=None, core_one=POOL.replace("0", "1"), core_two=POOL)
    assert "moved          core/pool.py free -> core/two.py free" in done.stdout


def test_a_missing_function_is_gone(toy):
    done = toy.check("--diff", core_pool="")
    assert done.returncode == 1
    assert states(done)["free"] == "gone"
    assert "-def free(blocks):" in done.stdout


def test_a_function_that_the_first_release_lacks_is_new(toy):
    toy.release("1.0", core_pool="")
    toy.run("--record", "toy@1.0")
    toy.release("2.0")
    assert states(toy.run("--check", "toy@2.0"))["free"] == "new"


def test_a_file_that_cannot_be_parsed_is_named(toy):
    done = toy.check(core_pool="def free(:\n")
    assert done.returncode == 1
    assert re.search(r"^unreadable     core/pool.py free  \[Free\]  core/pool.py: .*line 1", done.stdout, re.MULTILINE), done.stdout
    refused = toy.run("--record", "toy@2.0")
    assert refused.returncode == 2
    assert "toy 2.0 cannot be recorded: core/pool.py" in refused.stderr


def test_another_broken_file_does_not_matter(toy):
    assert toy.check(core_other="def (:\n").returncode == 0


def test_without_a_registry_it_is_skipped(toy):
    toy.check()
    done = toy.run("--check", "toy@3.0", SHELF="/nowhere")
    assert done.returncode == 77
    assert done.stdout.startswith("skipped: toy-engine 3.0 cannot be had here: ERROR")


def test_what_is_unpacked_is_not_downloaded_again(toy):
    toy.check()
    assert toy.run("--check", "toy@2.0", SHELF="/nowhere").returncode == 0


def test_a_release_that_does_not_exist_is_refused(toy):
    toy.check()
    done = toy.run("--check", "toy@9.0")
    assert done.returncode == 2
    assert "the registry has no wheel of toy-engine 9.0" in done.stderr


def test_another_file_than_the_recorded_one_is_refused(toy):
    toy.check()
    toy.release("1.0", core_pool="")
    done = toy.run("--check", "toy@1.0", "--against", "1.0", "--build", str(toy.folder / "elsewhere"))
    assert done.returncode == 2
    assert "is recorded" in done.stderr


@pytest.mark.parametrize("words, message", [
    (["--check", "tox@1.0"], "unknown engine 'tox': expected one of toy"),
    (["--check", "toy"], "which version of toy? As in toy@1.0"),
    (["--check", "toy@main"], "'main' is no version"),
    (["--check", "toy@1.0"], "no hashes of toy before 1.0 are recorded"),
    (["--check", "toy@1.0", "--against", "0.5"], "no hashes of toy 0.5 are recorded: expected one of 1.0"),
    (["--defaults", "toy@1.0", "tox@1.0"], "unknown engine"),
    ([], "one of the arguments"),
])
def test_bad_words(toy, words, message):
    toy.check()
    done = toy.run(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_record_holds_changes_alone_and_no_source(toy):
    toy.release("1.0")
    toy.release("1.9", core_pool=None, core_blocks=POOL)
    toy.release("1.10", core_sched=SCHED.replace("budget -= 1", "budget -= 2"), core_pool=None)
    assert toy.run("--record", "toy@1.10", "toy@1.0").returncode == 0
    assert toy.run("--record", "toy@1.9").returncode == 0
    document = json.loads((toy.data / "toy.json").read_text())
    wheel = (toy.shelf / "toy_engine-1.0-py3-none-any.whl").read_bytes()
    assert list(document["wheels"]) == ["1.0", "1.9", "1.10"]
    assert document["wheels"]["1.0"] == hashlib.sha256(wheel).hexdigest()
    cited = document["cited"]
    assert list(cited["core/sched.py LIMIT"]) == ["1.0"]
    assert list(cited["core/sched.py Scheduler.schedule"]) == ["1.0", "1.10"]
    free = cited["core/pool.py free"]
    assert free == {"1.0": free["1.0"], "1.9": f"{free['1.0']} core/blocks.py free", "1.10": ""}
    assert "budget" not in (toy.data / "toy.json").read_text()


def test_all_recorded_releases_are_recorded_anew(toy):
    toy.check()
    toy.run("--record", "toy@2.0")
    before = (toy.data / "toy.json").read_text()
    (toy.data / "toy.toml").write_text(CITED.replace('"sched LIMIT"', '"sched LIMIT", "sched Scheduler"'))
    assert toy.run("--record", "toy").returncode == 0
    after = (toy.data / "toy.json").read_text()
    assert list(json.loads(after)["cited"]["core/sched.py Scheduler"]) == ["1.0"]
    assert [line for line in after.splitlines() if "Scheduler\"" not in line] == before.splitlines()


def test_defaults_that_are_new_gone_or_changed(toy):
    toy.release("1.0")
    toy.release("2.0", args=ARGS.replace("old: int = 1", "new: int | None = get_field(Config, 'names')"),
                core_config=CONFIG.replace("16", "32"))
    done = toy.run("--defaults", "toy@1.0", "toy@2.0")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        "toy 1.0 -> 2.0: 4 of 6 defaults are new, gone or changed",
        "changed  Args.seats: 16 -> 32",
        "new      Args.new: list()",
        "changed  Config.DEFAULT: 16 -> 32",
        "gone     Args.old: 1",
    ]
    assert toy.run("--defaults", "toy@1.0", "toy@1.0").returncode == 0


def test_a_hash_does_not_depend_on_how_python_reads(tmp_path):
    """Pinned: what is recorded by one version of Python is found by another."""
    (tmp_path / "one.py").write_text("@cached\ndef take(a, *, b: int = 2):\n    return f'{a!r:>{b}}' + 'x' 'y' if a else [b, 1.5, None]\n")
    assert Package(tmp_path).digest(Place("one.py", "take")) == "540f451118eb"


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_all_that_our_rules_cite_is_recorded(name):
    cited = Cited.read(TOOL / f"{name}.toml")
    record = Record.read(TOOL / f"{name}.json")
    newest = record.versions()[-1]
    assert record.seen[newest].keys() == cited.places.keys()
    lost = [str(place) for place, seen in record.seen[newest].items() if seen is None or seen.place != place]
    assert not lost, f"not at its place in {newest}: cite where it stands now"


def test_rules_of_vllm_are_numbered_without_a_gap():
    rules = Cited.read(TOOL / "vllm.toml").says
    assert {f"R{number}" for number in range(1, 34)} | {f"C{number}" for number in range(1, 17)} <= rules.keys()


def test_versions_are_ordered_by_number():
    assert sorted(["0.5.15", "0.5.9", "0.5.15.post1", "0.27.0"], key=order) == ["0.5.9", "0.5.15", "0.5.15.post1", "0.27.0"]
