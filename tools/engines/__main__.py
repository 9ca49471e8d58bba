"""Watches the engines that Ridgeline models: what a release changed of the functions that our rules cite, and which
defaults it has. `./dev engines` runs it; docs/guide/adding.md says when."""

import argparse
import difflib
import sys
from dataclasses import dataclass
from pathlib import Path

import defaults
from cited import Cited, Record, Seen, order
from registry import Unknown, Unreachable, fetch
from sources import Package, Place

HERE = Path(__file__).resolve().parent
CHANGED, USAGE, SKIPPED = 1, 2, 77


class Refused(Exception):
    """The words given cannot be meant."""


@dataclass
class Engine:
    """What is cited of an engine, what is recorded of it, and where its releases are unpacked."""

    cited: Cited
    record: Record
    build: Path

    def package(self, version: str) -> Package:
        folder, digest = fetch(self.cited.package, version, self.cited.folder, self.cited.search, self.record.wheels.get(version), self.build)
        self.record.wheels.setdefault(version, digest)
        return Package(folder)

    def seen(self, package: Package, place: Place, known: str | None) -> Seen | None:
        at = place if package.node(place) is not None else package.moved(place, known)
        return Seen(package.digest(at), at) if at else None


@dataclass
class Outcome:
    """One cited definition in two releases."""

    place: Place
    state: str
    before: Seen | None
    after: Seen | None
    problem: str = ""

    def line(self, rules: list[str]) -> str:
        where = str(self.place)
        if self.state.startswith("moved") and self.before and self.after:
            where = f"{self.before.place} -> {self.after.place}"
        return f"{self.state:<14} {where}  [{' '.join(rules)}]{self.problem and f'  {self.problem}'}"


def state_of(before: Seen | None, after: Seen | None) -> str:
    if before is None or after is None:
        return "absent" if before == after else "new" if before is None else "gone"
    changed = before.digest != after.digest
    if before.place != after.place:
        return "moved, changed" if changed else "moved"
    return "changed" if changed else "same"


def compare(engine: Engine, package: Package, base: str) -> list[Outcome]:
    outcomes = []
    for place in engine.cited.places:
        before = engine.record.seen[base].get(place)
        problem = package.module(place.file).problem
        if problem:
            outcomes.append(Outcome(place, "unreadable", before, None, problem))
            continue
        after = engine.seen(package, place, before.digest if before else None)
        outcomes.append(Outcome(place, state_of(before, after), before, after))
    states = ("unreadable", "gone", "moved, changed", "moved", "changed", "new", "same", "absent")
    return sorted(outcomes, key=lambda one: states.index(one.state))


def diff(before: Package, after: Package, one: Outcome, versions: tuple[str, str]) -> str:
    def side(package: Package, seen: Seen | None) -> list[str]:
        return package.text(seen.place) if seen else []
    return "\n".join(difflib.unified_diff(side(before, one.before), side(after, one.after), *versions, lineterm=""))


def check(engine: Engine, version: str, base: str | None, with_diff: bool) -> int:
    base = base or engine.record.before(version)
    if base not in engine.record.seen:
        raise Refused(f"no hashes of {engine.cited.engine} {base or f'before {version}'} are recorded: "
                      f"expected one of {', '.join(engine.record.versions()) or 'none so far'}")
    package = engine.package(version)
    outcomes = compare(engine, package, base)
    count = {state: sum(one.state == state for one in outcomes) for state in dict.fromkeys(one.state for one in outcomes) if state != "absent"}
    print(f"{engine.cited.engine} {version} against {base}: {', '.join(f'{number} {state}' for state, number in count.items())}")
    for one in outcomes:
        if one.state != "absent":
            print(one.line(engine.cited.places[one.place]))
        if with_diff and one.state not in ("same", "absent", "moved", "unreadable"):
            print(diff(engine.package(base), package, one, (base, version)))
    return 0 if set(count) <= {"same"} else CHANGED


def record(engine: Engine, versions: list[str]) -> int:
    """Newest first: what an older release has elsewhere is known by its hash in the next newer one."""
    last = engine.record.before(max(versions, key=order))
    newer: dict[Place, Seen | None] = engine.record.seen[last] if last else {}
    for version in sorted(versions, key=order, reverse=True):
        package = engine.package(version)
        problems = {place.file: package.module(place.file).problem for place in engine.cited.places}
        if unreadable := [problem for problem in problems.values() if problem]:
            raise Refused(f"{engine.cited.engine} {version} cannot be recorded: {'; '.join(unreadable)}")
        newer = {place: engine.seen(package, place, seen.digest if (seen := newer.get(place)) else None) for place in engine.cited.places}
        engine.record.seen[version] = newer
        print(f"{engine.cited.engine} {version}: {sum(seen is not None for seen in newer.values())} of {len(newer)} recorded")
    engine.record.write()
    return 0


def show_defaults(engine: Engine, versions: tuple[str, str]) -> int:
    (before, problems), (after, more) = (defaults.read(engine.package(one), engine.cited.defaults) for one in versions)
    for problem in problems + more:
        print(f"unreadable     {problem}")
    found = defaults.changes(before, after)
    print(f"{engine.cited.engine} {versions[0]} -> {versions[1]}: {len(found)} of {len(after)} defaults are new, gone or changed")
    for option, old, new in found:
        state = "new" if old is None else "gone" if new is None else "changed"
        print(f"{state:<8} {option}: {' -> '.join(one for one in (old, new) if one is not None)}")
    return CHANGED if found or problems or more else 0


def named(text: str, data: Path) -> tuple[str, str]:
    engine, _, version = text.partition("@")
    known = sorted(path.stem for path in data.glob("*.toml"))
    if engine not in known:
        raise Refused(f"unknown engine '{engine}': expected one of {', '.join(known)}, as in vllm@0.33.0")
    if version and not order(version):
        raise Refused(f"'{version}' is no version: expected one as in vllm@0.33.0")
    return engine, version


def run(words: argparse.Namespace) -> int:
    asked = words.check or words.record or words.defaults
    pairs = [named(text, words.data) for text in ([asked] if isinstance(asked, str) else asked)]
    names, versions = {engine for engine, _ in pairs}, [version for _, version in pairs]
    if len(names) > 1:
        raise Refused("one engine at a time")
    cited = Cited.read(words.data / f"{pairs[0][0]}.toml")
    engine = Engine(cited, Record.read(words.data / f"{cited.engine}.json"), words.build)
    if words.record:
        return record(engine, engine.record.versions() if versions == [""] else versions)
    if "" in versions:
        raise Refused(f"which version of {cited.engine}? As in {cited.engine}@{(engine.record.versions() or ['1.0'])[-1]}")
    if words.check:
        return check(engine, versions[0], words.against, words.diff)
    return show_defaults(engine, (versions[0], versions[1]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev engines", description=__doc__)
    verbs = parser.add_mutually_exclusive_group(required=True)
    verbs.add_argument("--check", metavar="ENGINE@VERSION", help="what a release changed of what our rules cite")
    verbs.add_argument("--record", metavar="ENGINE[@VERSION]", nargs="+", help="write a release's hashes; without a version, all anew")
    verbs.add_argument("--defaults", metavar=("OLD", "NEW"), nargs=2, help="defaults that are new, gone or changed between two releases")
    parser.add_argument("--against", metavar="VERSION", help="with --check: the recorded release to compare with (default: the one before)")
    parser.add_argument("--diff", action="store_true", help="with --check: how each definition changed")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build" / "engines", help="where releases are unpacked")
    parser.add_argument("--data", type=Path, default=HERE, help="where the files of cited rules and hashes stand")
    try:
        return run(parser.parse_args())
    except Unreachable as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except (Refused, Unknown) as reason:
        print(f"engines: {reason}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
