"""Releases of a package: downloaded by pip, and unpacked to the sources that are read."""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Wheels for other machines hold the same Python sources; one kind is taken everywhere, so that its hash can be recorded.
TARGET = ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp",
          *(f"--platform={name}_x86_64" for name in ("manylinux1", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 41))))]


class Unreachable(Exception):
    """The registry cannot be had here."""


class Unknown(Exception):
    """There is no such release, or it is another file than the one recorded."""


def download(package: str, version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
               *TARGET, "--dest", str(folder), f"{package}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return next(folder.glob("*.whl"))
    # pip gives the same line for a release that does not exist and where it reaches no registry, but for the list.
    if "from versions:" in done.stderr and "(from versions: none)" not in done.stderr:
        raise Unknown(f"the registry has no wheel of {package} {version}")
    reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "pip fails")
    raise Unreachable(f"{package} {version} cannot be had here: {reason.strip()}")


def unpack(wheel: Path, folder: Path, top: str, search: list[str]) -> None:
    """The Python files below these folders of the package."""
    wanted = tuple(f"{top}/{one}" for one in search)
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if info.filename.endswith(".py") and info.filename.startswith(wanted) and ".." not in info.filename.split("/"):
                target = folder / info.filename.removeprefix(f"{top}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(info))


def fetch(package: str, version: str, top: str, search: list[str], pinned: str | None, build: Path) -> tuple[Path, str]:
    """The unpacked release, below the folder of builds, and its wheel's sha256. What was unpacked before is taken."""
    folder = build / f"{package}-{version}"
    mark = folder / "unpacked.json"
    asked = {"top": top, "search": search}
    if mark.is_file():
        found = json.loads(mark.read_text(encoding="utf-8"))
        if found["asked"] == asked and pinned in (None, found["sha256"]):
            return folder, found["sha256"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=build) as temporary:
        wheel = download(package, version, Path(temporary))
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if pinned not in (None, digest):
            raise Unknown(f"{wheel.name} has the sha256 {digest}, and {pinned} is recorded")
        unpack(wheel, folder, top, search)
    mark.write_text(json.dumps({"asked": asked, "sha256": digest}), encoding="utf-8")
    return folder, digest
