"""`run --series`, `run -o page.html` and `report`: a run over simulated time, and the page that shows it."""

import base64
import hashlib
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
        for metric in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "queue_time_ms"):
            assert quantiles[metric][place] == summary[metric][name]
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
        if key.endswith((".from_s", ".to_s")):
            assert re.fullmatch(r"[\d.]+ s|\d+ m \d\d s|\d+ h \d\d m|\d+ d \d\d h", text), (key, text)
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
    command = unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL).group(1))
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
    for section in ("distributions", "clock", "attainment", "time", "operators", "roofline", "memory", "requests",
                    "latencies", "totals", "errors", "repeat"):
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


def step_heights(path):
    """x and y of the corners of a path in relative steps."""
    x = y = 0.0
    spots = []
    for command, numbers in re.findall(r"([Mlhvz])([^Mlhvz]*)", path):
        values = [float(value) for value in re.findall(r"-?[0-9.]+", numbers)]
        if command == "M":
            x, y = values
        elif command == "l":
            x, y = x + values[0], y + values[1]
        elif command == "h":
            x += values[0]
        elif command == "v":
            y += values[0]
        spots.append((x, y))
    return spots


def test_a_stall_of_ten_seconds_in_a_day_is_drawn(ridgeline):
    """The band of requests running reaches what piled up during the stall, within a pixel."""
    day = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "2", "--duration", "86400s",
           "--input-len", "256", "--output-len", "32", "--instances", "1", "--fault", "hang@40000s+10s:0"]
    page = page_of(ridgeline, *day, "-o", "run.json")
    gauges = json.loads((ridgeline.folder / "run.json").read_text())["series"]["gauges"]
    most = gauges["running"]["max"]
    stalled = most.index(max(most))
    others = most[:stalled] + most[stalled + 1:]
    assert max(most) > 1.5 * max(others)
    clock = page[page.index('<section id="clock">'):]
    band = re.search(r'<path class="ba" d="([^"]+)"', clock).group(1)
    spots = step_heights(band)
    bottom = max(y for _, y in spots)
    top = min(y for _, y in spots)
    second = (bottom - top) * max(others) / max(most)
    reached = [x for x, y in spots if abs(y - top) <= 1.0]
    assert bottom - top > second + 5.0
    end = json.loads((ridgeline.folder / "run.json").read_text())["series"]["end_s"]
    expected = 56.0 + (944.0 - 56.0) * 40_010 / end
    assert all(abs(x - expected) <= 2.0 for x in reached), (reached, expected)


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


@pytest.mark.parametrize("path, value, said", [
    (("summary", "ttft_ms", "p99"), [1], "summary.ttft_ms.p99: found a list, expected number"),
    (("warnings",), 3, "warnings: found 3, expected array"),
    (("config",), None, "no result"),
    (("series", "windows"), 1, "series.gauges.running.mean: found"),
    (("series", "rates", "steps"), [1], "series.rates.steps: found 1 items, expected"),
    (("series", "busy_ps"), {}, "series.busy_ps.compute: is missing"),
    (("series", "latency_counts", "bin_bounds_ms"), [], "series.latency_counts.bin_bounds_ms: is empty"),
    (("series", "latency_counts", "ttft", 0), [10**9, 1], "series.latency_counts.ttft[0]: names a bin beyond"),
    (("series", "quantiles", "e2e_ms"), [2, 1], "series.quantiles.e2e_ms: found 2 items, expected"),
])
def test_a_damaged_result_is_refused(ridgeline, path, value, said):
    result = result_of(ridgeline, *RUN, "--series")
    ridgeline.write("run.json", json.dumps(result))
    place = result
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    ridgeline.write("wrong.json", json.dumps(result))
    for words in (["wrong.json"], ["run.json", "wrong.json"]):
        done = ridgeline("report", *words, "-o", "out.html")
        assert done.returncode == 2 and said in done.stderr and "wrong.json" in done.stderr, done.stderr
    assert ridgeline.files() == {"run.json", "wrong.json"}


def sides_of(page):
    """Numbers of a page of several runs: by run and key."""
    numbers = {}
    for key, text in NUMBER.findall(page):
        run, _, path = key.partition(":")
        numbers[int(run), path] = unescape(text)
    return numbers


def test_runs_side_by_side(ridgeline):
    for name, words in (("one", []), ("two", ["--max-num-seqs", "4"]), ("three", ["--seed", "5"])):
        done = ridgeline(*RUN, *words, "--series", "-o", f"{name}.json", "-o", f"{name}.html", "--format", "quiet")
        assert done.returncode == 0, done.stderr
    done = ridgeline("report", "one.json", "two.html", "-o", "page.html", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    page = (ridgeline.folder / "page.html").read_text()
    assert "the baseline is one.json" in page and "Paired: same seed" in page
    assert "<td>engine.max_num_seqs</td>" in page and "<td>seed</td>" not in page
    numbers = sides_of(page)
    assert len(numbers) >= 40
    for run, name in enumerate(("one", "two")):
        result = json.loads((ridgeline.folder / f"{name}.json").read_text())
        assert float(numbers[run, "summary.ttft_ms.p99"].replace(" ", "")) == pytest.approx(
            result["summary"]["ttft_ms"]["p99"], rel=6e-3)
    assert '<section id="clock">' in page and len(page.encode()) <= MOST_BYTES
    assert "Not paired" in ridgeline("report", "one.json", "three.json").stdout
    both = json.loads(ridgeline("report", "one.json", "two.html", "--format", "json").stdout)
    assert [run["name"] for run in both["runs"]] == ["one.json", "two.html"]


BENCH = {"date": "d", "model_id": "llama-3.1-8b", "completed": 8, "request_rate": "inf", "max_concurrency": 4,
         "total_input_tokens": 1024, "total_output_tokens": 128, "mean_ttft_ms": 20.0, "median_ttft_ms": 20.0,
         "mean_tpot_ms": 7.0, "median_tpot_ms": 7.0, "mean_e2el_ms": 125.0, "input_lens": [128] * 8,
         "output_lens": [16] * 8, "duration": 1.0, "output_throughput": 128.0}


def test_a_measured_file_stands_beside_its_prediction(ridgeline):
    ridgeline.write("bench.json", json.dumps(BENCH))
    assert ridgeline(*RUN, "-o", "run.json", "--format", "quiet").returncode == 0
    done = ridgeline("report", "run.json", "bench.json")
    assert done.returncode == 0, done.stderr
    assert "(measured)" in done.stdout and 'class="lb measured"' in done.stdout
    assert float(sides_of(done.stdout)[1, "summary.ttft_ms.mean"]) == 20.0
    alone = ridgeline("report", "bench.json")
    assert alone.returncode == 2 and "a measured file ('bench.json')" in alone.stderr


def test_a_sweep_has_its_front(ridgeline):
    done = ridgeline("sweep", "run", "--model", "llama-3.1-8b", "--gpu", "h100", "--num-prompts", "50", "--input-len",
                     "256", "--output-len", "32", "--axis", "tensor_parallel_size=1,2,3", "--axis", "request_rate=2,20",
                     "--store", "store", "-o", "sweep.ndjson")
    assert done.returncode == 1, done.stderr  # Three GPUs do not share 32 heads.
    page = ridgeline("report", "sweep.ndjson")
    assert page.returncode == 0, page.stderr
    assert '<section id="interactivity">' in page.stdout and '<section id="e2e">' in page.stdout
    rows = [json.loads(line) for line in (ridgeline.folder / "sweep.ndjson").read_text().splitlines()]
    good = [row for row in rows if row["status"] == "ok"]
    assert sorted({row["result"]["gpus"] for row in good}) == [1, 2]
    assert "Left out: 2" in page.stdout
    refused = ridgeline("report", "sweep.ndjson", "--format", "json")
    assert refused.returncode == 2 and "is JSON already" in refused.stderr


def test_files_that_do_not_go_together_are_one_error(ridgeline):
    assert ridgeline(*RUN, "-o", "run.json", "--format", "quiet").returncode == 0
    ridgeline.write("plan.json", json.dumps({"candidates": [], "ranking": [], "answer": {"id": None}}))
    done = ridgeline("report", "run.json", "plan.json")
    assert done.returncode == 2
    assert "found a run ('run.json'), a plan ('plan.json')" in done.stderr
    assert done.stderr.count("error") <= 1
    assert ridgeline("report", *["run.json"] * 7).returncode == 2
    assert ridgeline("report", "plan.json").returncode == 0


def test_a_plot_stands_below_the_table(ridgeline):
    done = ridgeline(*RUN, "--plot", "--ascii")
    assert done.returncode == 0 and done.stdout.isascii()
    for line in ("TTFT ms", "TPOT ms", "running", "waiting", "KV %", "decode tok/s"):
        assert f"\n{line}" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "\u2588" in ridgeline(*RUN, "--plot").stdout
    refused = ridgeline(*RUN, "--plot", "--format", "json")
    assert refused.returncode == 2 and "--plot" in refused.stderr


@pytest.mark.parametrize("load", [("--request-rate", 8), ("--max-concurrency", 4)])
def test_requests_per_second_are_the_same_number_on_both_sides(ridgeline, load):
    """A run and what a client measured of it: completed requests by its duration, not the rate that was offered."""
    words = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", *load, "--num-prompts", 40, "--input-len", 512, "--output-len", 200)
    files = ("vllm-bench=v.json", "aiperf=a", "guidellm=g.json", "inference-perf=i")
    done = ridgeline(*words, "-o", "run.json", "--format", "quiet", *[w for f in files for w in ("--client-results", f)])
    assert done.returncode == 0, done.stderr
    expected = json.loads((ridgeline.folder / "run.json").read_text())["summary"]["request_throughput"]
    assert ridgeline("report", "run.json", "v.json", "-o", "both.html", "--format", "quiet").returncode == 0
    page = (ridgeline.folder / "both.html").read_text()
    shown = [float(re.search(rf'data-key="{i}:summary.request_throughput">([0-9.]+)<', page).group(1)) for i in (0, 1)]
    assert shown[0] == shown[1] == pytest.approx(expected, rel=5e-3)


def test_a_picture_stands_alone(ridgeline):
    assert ridgeline(*RUN, "--series", "-o", "run.json", "--format", "quiet").returncode == 0
    done = ridgeline("report", "run.json", "--figure", "clock", "-o", "clock.svg")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.returncode == 0, done.stderr
    picture = (ridgeline.folder / "clock.svg").read_text()
    assert picture.startswith("<svg") and "<style>" in picture and "requests per second" in picture
    assert "var(" not in picture
    (ridgeline.folder / "t.csv").write_text("arrival_s,input_tokens,output_tokens\n0,9,9\n1,9,9\n")
    for words in (["step", "--model", "llama-3.1-8b", "--gpu", "h100", "--decode", "64"], ["trace", "t.csv"]):
        refused = ridgeline(*words, "--svg", "x.pdf")
        assert refused.returncode == 2 and "expected .svg" in refused.stderr and refused.stdout == ""
        assert not (ridgeline.folder / "x.pdf").exists()
    for words, said in ((["--figure", "clock"], "--figure"), (["--format", "svg"], "--figure"),
                        (["--figure", "clok", "--format", "svg"], "clock")):
        refused = ridgeline("report", "run.json", *words)
        assert refused.returncode == 2 and said in refused.stderr


def test_the_policy_names_the_script_of_the_page(ridgeline):
    page = page_of(ridgeline, *RUN)
    script = re.search(r'<script id="hover">(.*?)</script>', page, re.DOTALL).group(1)
    expected = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{expected}'" in page


def test_report_says_what_it_takes(ridgeline):
    assert ridgeline("report").returncode == 2
    done = ridgeline("report", "nowhere.json")
    assert done.returncode == 2 and "nowhere.json" in done.stderr
    assert "report FILE" in ridgeline("report", "--help").stdout
