"""The pages of the studies, which tools/study_pages.sh writes by `study run -o`."""

import pytest

from conftest import SANITIZED, SHARED, SOURCE

TABLES = SHARED / "kernels" / "blis_h100"
MEASURED = SHARED / "groundtruth" / "experiments.jsonl"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((SOURCE / "lab/docs/studies").glob("*.md"))}
# These simulate every measured run; together they do it once for the arms that they share.
ON_SERVERS = ("h1", "h2b", "h3", "h4", "h5")


def test_every_study_has_a_page(ridgeline):
    listed = [line.split()[0] for line in ridgeline("study", "list").stdout.splitlines()]
    assert sorted(listed) == sorted(PAGES)


@pytest.mark.parametrize("names", [ON_SERVERS, *((name,) for name in PAGES if name not in ON_SERVERS)], ids=" ".join)
def test_a_page_is_what_the_study_prints(ridgeline, names):
    if not TABLES.is_dir() or not MEASURED.is_file():
        pytest.skip("the measured kernels and runs are not beside the checkout")
    if SANITIZED:
        pytest.skip("sanitizers take minutes for whole ladders")
    done = ridgeline("study", "run", *names, "--bench-data", TABLES, "--measured", MEASURED)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n".join(PAGES[name] for name in names)
