"""A plugin of pytest: of several processes that share files of tests, each runs its part (run_pytest.py --parts)."""

import os


def pytest_collection_modifyitems(items):
    part, parts = (int(number) for number in os.environ["RIDGELINE_TEST_PART"].split("/"))
    items[:] = items[part::parts]
