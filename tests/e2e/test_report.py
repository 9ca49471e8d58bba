"""`run --series`, `run -o page.html` and `report`: a run over simulated time, and the page that shows it."""

import json
import math
import re
from html import unescape

import jsonschema
import pytest

RUN = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "8", "--num-prompts", "300",
       "--input-len", "512", "--output-len", "128", "--slo-ttft", "50ms", "--slo-tpot", "10ms"]
FLEET = [*RUN, "--instances", "3"]
MOST_BYTES = 1_500_000
NUMBER = re.compile(r'<span data-key="([^"]+)">([^<]*)</span>')


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def page_of(ridgeline, *words):
    done = ridgeline(*words, "-o", "run.html", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    return (ridgeline.folder / "run.html").read_text(encoding="utf-8")


def at(tree, key):
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


@pytest.mark.parametrize("words", [RUN, FLEET, [*RUN, "--max-concurrency", "4"]])
def test_series_are_the_same_from_every_engine(ridgeline, words):
    expected = result_of(ridgeline, *words, "--series")
    jsonschema.validate(expected, json.loads(ridgeline("schema", "result").stdout))
    for variant in (["--no-jump"], ["--engine-core", "reference"], ["--threads", "2"]):
        assert result_of(ridgeline, *words, "--series", *variant)["series"] == expected["series"]
    assert "series" not in result_of(ridgeline, *words)


@pytest.mark.parametrize("words", [RUN, FLEET])
def test_sums_of_the_windows_are_the_summary(ridgeline, words):
    result = result_of(ridgeline, *words, "--series-buckets", "200")
    series, summary = result["series"], result["summary"]
    assert series["windows"] <= 200
    rates = series["rates"]
    assert all(len(values) == series["windows"] for values in rates.values())
    assert sum(rates["completions"]) == summary["completed"] == sum(rates["arrivals"])
    assert sum(rates["steps"]) == summary["steps"]
    for kind, seconds in summary["time_by_bottleneck"].items():
        assert sum(series["busy_ps"][kind]) / 1e12 == seconds
    for gauge in ("running", "kv_tokens"):
        least, mean, most = (series["gauges"][gauge][name] for name in ("min", "mean", "max"))
        assert all(low <= middle + 1e-3 and middle <= high + 1e-3 for low, middle, high in zip(least, mean, most))
    assert sum(series["slo"]["good"]) / sum(series["slo"]["requests"]) == pytest.approx(summary["good_share"])
    quantiles = series["quantiles"]
    for probability, name in ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (1, "max")):
        place = quantiles["probabilities"].index(probability)
        assert quantiles["ttft_ms"][place] == summary["ttft_ms"][name]
    counts = series["latency_counts"]["ttft"]
    assert sum(sum(window[1:]) for window in counts) == summary["completed"]
    worst = series["requests"]["worst_ttft"]
    assert len(worst) == 20 and worst[0]["ttft_ms"] == summary["ttft_ms"]["max"]


def test_fewer_windows_are_neighbours_added_up(ridgeline):
    many = result_of(ridgeline, *RUN, "--series-buckets", "512")["series"]
    few = result_of(ridgeline, *RUN, "--series-buckets", "256")["series"]
    assert few["window_s"] == 2 * many["window_s"]
    for name, values in many["rates"].items():
        values = [*values, 0]
        assert few["rates"][name] == [values[2 * i] + values[2 * i + 1] for i in range(few["windows"])]


@pytest.mark.parametrize("number", ["63", "4097", "0", "many", "-1"])
def test_a_number_of_windows_out_of_range_is_refused(ridgeline, number):
    done = ridgeline(*RUN, f"--series-buckets={number}")
    assert done.returncode == 2 and "--series-buckets" in done.stderr
    assert number in done.stderr


def test_numbers_of_a_page_are_those_of_the_result(ridgeline):
    page = page_of(ridgeline, *RUN, "-o", "run.json")
    result = json.loads((ridgeline.folder / "run.json").read_text())
    numbers = [(key, unescape(text), at(result, key)) for key, text in NUMBER.findall(page)]
    assert len([value for _, _, value in numbers if value is not None]) >= 60
    for key, text, value in numbers:
        if value is None:
            assert text == "\u2013", key
            continue
        shown = float(re.sub(r"[ %<]", "", text))
        expected = value * 100 if text.endswith("%") else value
        assert math.isclose(shown, expected, rel_tol=6e-3, abs_tol=0.06), (key, text, value)


def test_a_page_holds_its_result(ridgeline):
    page_of(ridgeline, *RUN, "-o", "run.json")
    saved = (ridgeline.folder / "run.json").read_text()
    assert ridgeline("report", "run.html", "--format", "json").stdout == saved
    again = ridgeline("report", "run.json", "-o", "again.html", "--format", "quiet")
    assert again.returncode == 0, again.stderr
    assert ridgeline("report", "again.html", "--format", "json").stdout == saved


def test_the_command_of_a_page_gives_the_same_digest(ridgeline):
    page = page_of(ridgeline, *RUN, "--no-enable-prefix-caching", "--seed", "3")
    command = unescape(re.search(r"<pre>(.*?)</pre>", page, re.DOTALL).group(1))
    words = command.split()
    assert words[0] == "ridgeline"
    digest = re.search(r"Digest ([0-9a-f]{32})", page).group(1)
    assert result_of(ridgeline, *words[1:])["digest"] == digest


def test_only_the_run_info_differs_between_two_pages(ridgeline):
    one, two = page_of(ridgeline, *RUN), page_of(ridgeline, *RUN)
    element = re.compile(r'<script type="application/json" id="run-info">.*?</script>', re.DOTALL)
    assert element.sub("", one) == element.sub("", two)
    assert element.search(one)


@pytest.mark.parametrize("requests, rate", [(10, 1), (1000, 8), (100_000, 20)])
def test_a_page_does_not_grow_with_the_run(ridgeline, requests, rate):
    page = page_of(ridgeline, "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", rate, "--num-prompts",
                   requests, "--input-len", 256, "--output-len", 64, "--slo-ttft", "50ms")
    assert len(page.encode()) <= MOST_BYTES
    for section in ("distributions", "clock", "attainment", "time", "requests", "latencies", "totals", "errors", "repeat"):
        assert f'<section id="{section}">' in page


def test_a_stall_of_ten_seconds_in_a_day_is_seen(ridgeline):
    day = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "0.2", "--duration", "86400s",
           "--input-len", "256", "--output-len", "32", "--instances", "1", "--fault", "hang@40000s+10s:0"]
    series = result_of(ridgeline, *day, "--series")["series"]
    counts = series["latency_counts"]
    bounds = counts["bin_bounds_ms"]
    greatest = [bounds[window[0] + len(window) - 1] if window else 0.0 for window in counts["ttft"]]
    at_stall = int(40_000 / counts["window_s"])
    assert max(range(len(greatest)), key=greatest.__getitem__) == at_stall
    others = sorted(greatest[:at_stall] + greatest[at_stall + 1:])
    assert greatest[at_stall] > 20 * others[-1]


@pytest.mark.parametrize("text, said", [
    ("<!doctype html>\n<p>hello</p>", "without a result"),
    ("{}", "no result"),
    ("[1, 2]", "no result"),
    ("not JSON", "wrong.json"),
    ('<!doctype html>\n<script type="application/json" id="result">{"summary": </script>', "wrong.json"),
])
def test_a_file_that_is_no_result_is_refused(ridgeline, text, said):
    ridgeline.write("wrong.json", text)
    done = ridgeline("report", "wrong.json", "-o", "out.html")
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert "wrong.json" in done.stderr
    assert ridgeline.files() == {"wrong.json"}


def test_report_says_what_it_takes(ridgeline):
    assert ridgeline("report").returncode == 2
    done = ridgeline("report", "nowhere.json")
    assert done.returncode == 2 and "nowhere.json" in done.stderr
    assert "report FILE" in ridgeline("report", "--help").stdout
