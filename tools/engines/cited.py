"""What our rules cite of an engine (`<engine>.toml`, by hand) and the hashes of it by release (`<engine>.json`)."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from sources import Place


def order(version: str) -> tuple[int, ...]:
    """0.5.9 before 0.5.15 before 0.5.15.post1."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


@dataclass
class Cited:
    """An engine's rules, and the places that they cite."""

    engine: str
    package: str
    folder: str  # In the wheel; places are below it.
    search: list[str]  # What is unpacked, and searched for what has moved.
    says: dict[str, str]
    places: dict[Place, list[str]]  # The rules that cite each.
    defaults: dict[str, list[str]]  # Groups of options: files and classes, both with wildcards.

    @classmethod
    def read(cls, path: Path) -> "Cited":
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        places: dict[Place, list[str]] = {}
        for rule, entry in document["rules"].items():
            for cite in entry["cites"]:
                short, _, name = cite.partition(" ")
                places.setdefault(Place(document["files"][short], name), []).append(rule)
        return cls(path.stem, document["package"], document["folder"], document["search"],
                   {rule: entry["says"] for rule, entry in document["rules"].items()}, places, document["defaults"])


@dataclass(frozen=True)
class Seen:
    """A cited definition in one release: its hash, and where it stands if not where it is cited."""

    digest: str
    place: Place

    def text(self, cited: Place) -> str:
        return self.digest if self.place == cited else f"{self.digest} {self.place}"

    @classmethod
    def parse(cls, text: str, cited: Place) -> "Seen":
        digest, _, place = text.partition(" ")
        return cls(digest, Place.parse(place) if place else cited)


@dataclass
class Record:
    """Hashes by release. The file holds of each definition only the releases that changed it; "" says that it has none."""

    path: Path
    wheels: dict[str, str] = field(default_factory=dict)  # sha256 by release.
    seen: dict[str, dict[Place, Seen | None]] = field(default_factory=dict)  # By release.

    @classmethod
    def read(cls, path: Path) -> "Record":
        record = cls(path)
        if not path.is_file():
            return record
        document = json.loads(path.read_text(encoding="utf-8"))
        record.wheels = document["wheels"]
        for text, changes in document["cited"].items():
            place, last = Place.parse(text), ""
            for version in record.versions():
                last = changes.get(version, last)
                record.seen.setdefault(version, {})[place] = Seen.parse(last, place) if last else None
        return record

    def versions(self) -> list[str]:
        return sorted(self.wheels, key=order)

    def before(self, version: str) -> str | None:
        """The newest recorded release that is older."""
        return next((one for one in reversed(self.versions()) if order(one) < order(version)), None)

    def write(self) -> None:
        lines = []
        for place in sorted({place for seen in self.seen.values() for place in seen}, key=str):
            changes, last = {}, ""
            for version in self.versions():
                seen = self.seen[version].get(place)
                if (now := seen.text(place) if seen else "") != last:
                    changes[version] = last = now
            lines.append(f"{json.dumps(str(place))}: {json.dumps(changes)}")
        wheels = ",\n".join(f"{json.dumps(version)}: {json.dumps(self.wheels[version])}" for version in self.versions())
        cited = ",\n".join(lines)
        self.path.write_text(f'{{"wheels": {{\n{wheels}\n}},\n"cited": {{\n{cited}\n}}}}\n', encoding="utf-8")
