"""`ridgeline study`: the published tables, value by value, where the measured kernels are at hand."""

import json

import pytest

from conftest import SANITIZED, SHARED

TABLES = SHARED / "kernels" / "blis_h100"
GOLDEN = SHARED / "golden" / "roofline"
# What the golden files say about themselves, and the published text's own figures.
NOT_OURS = {"seed", "reproduced", "archived", "archived_us", "step", "linear_rule", "step_hetero", "step_homo", "claim",
            "columns"}


def equal(ours, golden):
    if isinstance(golden, bool) or isinstance(golden, str):
        return ours == golden
    if isinstance(golden, list):
        return len(ours) == len(golden) and all(map(equal, ours, golden))
    if isinstance(golden, dict):
        return all(key in ours and equal(ours[key], value) for key, value in golden.items())
    if isinstance(golden, int):
        return ours == golden
    return abs(ours - golden) <= 1e-9 * max(1.0, abs(golden))


def compare(ours, golden):
    assert len(ours) == len(golden)
    for row, expected in zip(ours, golden):
        values = {key: value for key, value in expected.items() if key not in NOT_OURS}
        if isinstance(values.get("computed"), dict):
            values.update(values.pop("computed"))
        for key, value in values.items():
            assert equal(row[key], value), (key, row[key], value, expected)


@pytest.fixture
def study(ridgeline):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")

    def run(name):
        done = ridgeline("study", "run", name, "--bench-data", TABLES, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def golden(name):
    return json.loads((GOLDEN / name).read_text())


@pytest.mark.parametrize("name", ["h28", "h29", "h33"])
def test_published_tables(study, name):
    expected = golden(f"{name}.json")
    report = study(name)
    for table, rows in expected["tables"].items():
        compare(report["tables"][table], rows)
    for table in ("claims", "decomposition", "component_decomposition"):
        if table in expected:
            compare(report["tables"][table], expected[table])
    assert report["verdict_published"] == "confirmed"
    # H29 fails by the first of the two conditions that it set itself.
    assert report["verdict_by_rule"] == {"h28": "confirmed", "h29": "refuted", "h33": "confirmed"}[name]


def test_h28_floor_lookups(study):
    expected = golden("h28.json")["sensitivity"]
    for row in study("h28")["tables"]["sensitivity"]:
        for key in ("floor_lookup_hetero", "floor_lookup_homo"):
            assert row[key] == expected[key][str(row["batch_size"])]


def statements(report):
    return [(row["id"], row["holds"]) for row in report["tables"]["statements"]]


def test_h28_sentences_and_charges(study):
    report = study("h28")
    assert statements(report) == [("H28.3", False), ("H28.1", True)]
    assert "1.252 at 7, 1.243 at 8" in report["tables"]["statements"][0]["computed"]
    charged = {row["batch_size"]: row for row in report["tables"]["attention_flops"]}[4]
    assert charged["roofline_attn_flops"] == 8589934592
    assert charged["charged_to_a_short_request_over_its_own"] == pytest.approx(64, rel=1e-9)
    assert report["refuted_if"].startswith("attention FLOPs do not multiply, or total time is strictly linear")
    assert "total time is not linear: a short request adds 2 to 1106 us" in report["because"]
    assert "28.2 %" in report["finding"]


def test_h5_sentences(study):
    report = study("h5")
    assert statements(report) == [("H5.4", False), ("H5.5", False), ("H5.3", True)]
    edge = [(row["default"], row["smooth_wa"]) for row in report["tables"]["branch_edge"]]
    assert edge == [(10129, 10129), (10675, 10111)]
    assert "13 to 25 % apart in 7 of 12 steps" in report["tables"]["statements"][1]["computed"]


def test_h29_beyond_the_published_lengths(study):
    rows = {row["seq_len"]: row for row in study("h29")["tables"]["extended"]}
    assert rows[32769]["step_bucketed_us"] == 1614557
    assert rows[32769]["step_actual_seq_us"] == 1175351


def test_h33_statistics(study):
    expected = golden("h33.json")["summary_stats"]
    tables = study("h33")["tables"]
    assert equal(tables["summary_stats"][0], expected["computed"])
    assert equal(tables["step_ratio_15rows"][0], expected["step_ratio_15rows"]["computed"])
    assert equal(tables["step_ratio_14_printed_rows"][0], expected["step_ratio_14_printed_rows"])


@pytest.mark.parametrize(
    "name, tables",
    [
        ("h27", ["h27_mixed_batch_max"]),
        ("h34", ["h34_gemm_ratio", "h34_regime"]),
        ("h35", ["h35_activation"]),
        ("h6", ["h6_floor_sweeps"]),
    ],
)
def test_other_hypotheses(study, name, tables):
    expected = golden("other_hypotheses.json")
    report = study(name)
    for table in tables:
        compare(report["tables"][table], expected[table])
    assert report["verdict_by_rule"] == "confirmed"


def test_the_harness_warns_of_circles_and_of_nothing(study):
    codes = {name: {warning["code"] for warning in study(name)["warnings"]} for name in ("h33", "h35", "h34")}
    assert codes == {"h33": {"W-circular-reference"}, "h35": {"W-vanishing-effect"}, "h34": set()}


def test_differences_between_arms(study):
    rows = {row["setting"]: row for row in study("h29")["differences"]}
    assert rows["attention_length"]["bucket"] == '"bucket"'
    assert rows["attention_length"]["actual"] == '"actual"'
    assert "TFlopsPeak" not in rows


def test_all_studies_as_markdown(ridgeline):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    # Studies of fleets take seconds each: test_fleet_studies.py.
    listed = [line for line in ridgeline("study", "list").stdout.splitlines()
              if line.split()[0] not in ("distserve", "llmd-04", "llmd-37", "llmd-73", "llmd-eks", "llmd-latency",
                                         "llmd-sticky", "sglang-cache", "staleness")]
    done = ridgeline("study", "run", *(line.split()[0] for line in listed), "--bench-data", TABLES)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("**Claim.**") == len(listed)


def test_h33_under_each_rule_for_rows_that_read_zero(study):
    causes = {row["zero_rows"]: row for row in study("h33")["tables"]["causes"]}
    assert causes["published"]["largest_even"] == pytest.approx(5) and causes["first"]["largest_even"] == pytest.approx(1.875)
    assert all(0 < row["mean_high"] < 1 for row in causes.values())


def test_a_rule_without_its_constants_is_refused(ridgeline):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    step = ridgeline("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--bench-data", TABLES, "--latency", "v2-h33",
                     "--latency-set", "zero_rows=v1", "--decode", "128")
    assert step.returncode == 2 and "zero_rows v1 needs mfuPrefill and mfuDecode above 0" in step.stderr


def test_list_and_errors(ridgeline):
    listed = ridgeline("study", "list")
    assert listed.returncode == 0
    assert any(line.startswith("h28 ") for line in listed.stdout.splitlines())
    for words, text in [
        (["study"], "expected list, run ID, new NAME or all"),
        (["study", "run", "h82"], "'h82' is no study"),
        (["study", "walk", "h28"], "walk h28"),
        (["study", "run", "h28"], "--bench-data: missing"),
        (["study", "run", "h28", "--bench-data", "nowhere"], "nowhere"),
    ]:
        done = ridgeline(*words)
        assert done.returncode == 2 and text in done.stderr and done.stdout == "", words


def test_mfu_is_flops_over_a_data_sheet_peak(study):
    report = study("mfu")
    rows = {(row["table"], row["flops"]): row for row in report["tables"]["peaks"]}
    gemm = rows["gemm", "2 m k n"]
    assert (gemm["rows"], gemm["rows_at_fp8_peak"], gemm["rows_at_bf16_peak"]) == (112, 112, 0)
    prefill = rows["prefill", "causal half"]
    assert (prefill["rows"], prefill["rows_at_bf16_peak"]) == (30, 30)
    decode = rows["decode", "query heads of a rank"]
    assert (decode["rows"], decode["rows_at_bf16_peak"]) == (755, 755)
    assert report["verdict_by_rule"] == "refuted"


def test_rounding_and_streaming(study):
    rounding = study("rounding")["tables"]["decode_tables"]
    assert sum(row["rows_that_read_zero"] for row in rounding) == 17
    assert "up to 32 times faster" in study("rounding")["finding"]
    stand_ins = {row["table"]: row["stand_in_over_measured"] for row in rounding}
    assert stand_ins["32-8-128-tp1"] == pytest.approx(18.7, abs=0.1) and stand_ins["32-8-128-tp1"] < stand_ins["32-8-128-tp2"]
    fits = {row["heads"]: row for row in study("streaming")["tables"]["fits"]}
    # roofline-models.md, section 11: 3.13 TB/s for 32-8, 3.04 for 32-32.
    assert fits["32-8-128"]["bandwidth_tbs"] == pytest.approx(3.13, rel=0.03)
    assert fits["32-32-128"]["bandwidth_tbs"] == pytest.approx(3.04, rel=0.03)
    assert all(row["median_error_pct"] < 5 for row in fits.values())


def test_h5_arms_are_void_as_published(study):
    report = study("h5")
    assert report["tables"]["prefill"] == [{"prompt": 2048, "as_run_us": 8472, "later_us": 52533}]
    assert (report["verdict_published"], report["verdict_by_rule"]) == ("refuted", "undecided")


def test_rank_orders_by_error(study):
    rows = study("rank")["tables"]["decode_attention"]
    errors = [row["median_abs_pct"] for row in rows]
    assert errors == sorted(errors)
    # All fifteen presets, seven arms of the review, and the two models of ours.
    assert len(rows) == 24 and {"kernel", "table"} < {row["model"] for row in rows}


def test_tp_scaling(study):
    report = study("tp-scaling")
    rows = report["tables"]["tp_scaling"]
    assert len(rows) == 2 * 6 * 4
    for row in rows:
        # Dividing gives the ranks back; nothing of ours is faster than that, and more ranks never slow a step here.
        assert row["linear"] == row["ranks"]
        assert row["kernel_speed_up"] <= row["linear"]
        assert (row["kernel_network_us"] == 0) == (row["ranks"] == 1)
    for one, two in zip(rows, rows[1:]):
        assert two["ranks"] == 1 or two["kernel_us"] < one["kernel_us"]
    assert report["verdict_by_rule"] == "refuted"


def test_infersim(ridgeline):
    done = ridgeline("study", "run", "infersim", "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    rows = report["tables"]["infersim"]
    # Six published figures; two of them at three batches each, which are not known and decide nothing.
    assert {(row["network"], row["phase"]): row["measured_tokens_per_s"] for row in rows} == {
        ("deepseek-v3", "prefill"): 7839, ("deepseek-v3", "decode"): 2324,
        ("qwen3-30b-a3b", "prefill"): 16594, ("qwen3-30b-a3b", "decode"): 2749,
        ("qwen3-8b-fp8", "prefill"): 15061, ("qwen3-8b-fp8", "decode"): 2682}
    assert len(rows) == 10 and sum(row["decides"] for row in rows) == 4
    for row in rows:
        error = 100 * (row["kernel_tokens_per_s"] / row["measured_tokens_per_s"] - 1)
        assert abs(error - row["error_pct"]) < 0.1
        assert row["without_overlap_tokens_per_s"] <= row["kernel_tokens_per_s"]
        if row["gpu"] == "h20" and row["decides"]:
            # What a GPU with a seventh of the fitted one's compute is predicted to: InferSim's own worst.
            assert abs(row["error_pct"]) < 15
    off = [row["error_pct"] for row in rows if row["decides"] and abs(row["error_pct"]) > 15]
    assert report["verdict_by_rule"] == ("refuted" if off else "confirmed")


@pytest.fixture
def on_servers(ridgeline):
    measured = SHARED / "groundtruth" / "experiments.jsonl"
    if not TABLES.is_dir() or not measured.is_file():
        pytest.skip(f"no {TABLES} or {measured}")
    if SANITIZED:
        pytest.skip("sanitizers take minutes for all arms on all measured runs")

    def run(name):
        done = ridgeline("study", "run", name, "--bench-data", TABLES, "--measured", measured, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def rows_of(report, table, **keys):
    return [row for row in report["tables"][table] if all(row[key] == value for key, value in keys.items())]


def test_h5_on_measured_servers(on_servers):
    """The figures of ../shared/design/seeds.md, rows H5.2 to H5.9."""
    report = on_servers("h5")
    assert report["skipped"] == []
    forms = {row["arm"]: row["mean_abs_pct"] for row in rows_of(report, "measured_errors", metric="tpot", group="silicon, closed")}
    assert [round(forms[f"v2-final, {form}"], 1) for form in ("default", "smooth-wa", "additive", "max")] == [
        21.4, 17.6, 16.7, 17.4]
    gains = rows_of(report, "measured_gains", metric="tpot", group="silicon, closed", axis="clients")
    assert [(row["value"], round(row["gain_points"], 1)) for row in gains] == [
        ("8", 0.2), ("16", 2.8), ("32", 5.2), ("64", 8.0), ("128", 8.7)]
    by_tp = {row["value"]: row["gain_points"] for row in rows_of(report, "measured_gains", metric="tpot", group="silicon, closed", axis="tp")}
    assert {tp: round(points, 1) for tp, points in by_tp.items()} == {"2": 3.9, "4": 5.4}
    criteria = {row["group"]: row for row in rows_of(report, "measured_criteria", metric="tpot")}
    assert criteria["silicon, closed"]["runs"] == 56 and criteria["silicon, closed"]["at_least_2_points"]
    assert criteria["silicon, closed"]["low_95"] > 2
    assert criteria["trainval, poisson"]["runs"] == 29
    assert round(criteria["trainval, poisson"]["gain_points"], 1) == -3.7
    # The document's rule names end-to-end latency, over all runs.
    (overall,) = rows_of(report, "measured_criteria", metric="e2e", group="all runs")
    assert (overall["runs"], round(overall["gain_points"], 1), overall["met"]) == (96, -6.5, False)
    assert report["verdict_by_rule"] == "refuted"
    controls = rows_of(report, "measured_controls", metric="tpot")
    constant = [row["gain_points"] for row in controls
                if row["control"].startswith("constant") and row["group"] == "silicon, closed"]
    assert [round(min(constant), 1), round(max(constant), 1)] == [4.4, 6.9]
    open_loops = [row["gain_points"] for row in controls
                  if row["control"].startswith("constant") and row["group"] == "trainval, poisson"]
    assert all(-0.35 < points < 0 for points in open_loops)
    assert statements(report) == [("H5.4", False), ("H5.5", False), ("H5.3", True), ("H5.6", False), ("H5.7", False),
                                  ("H5.9", True)]
    assert [row["id"] for row in report["tables"]["findings"]] == [name for name, _ in statements(report)]
    assert {row["name"] for row in report["tables"]["metadata"]} >= {"status", "family", "tier", "type", "date", "seed"}


@pytest.mark.parametrize(
    "name, before, after", [("h1", 42.4, 42.3), ("h2b", 42.3, 36.4), ("h3", 35.5, 35.5), ("h4", 35.5, 35.5)])
def test_changes_on_measured_servers(on_servers, name, before, after):
    report = on_servers(name)
    # One group gains a point and another does not; H2b's overhead loses more than it allows in a split.
    assert report["verdict_by_rule"] == "partly confirmed"
    row = rows_of(report, "gains_as_run", group="silicon, closed", axis="all")[0]
    assert row["runs"] == 56
    assert (round(row["baseline_abs_pct"], 1), round(row["treatment_abs_pct"], 1)) == (before, after)


def test_without_servers_the_parts_are_skipped(study):
    for name in ("h1", "h5", "tp-scaling"):
        assert [part["needs"] for part in study(name)["skipped"]] == ["--measured FILE"]
    assert study("h28")["skipped"] == []


def test_a_file_that_is_none_of_measured_runs_is_named(ridgeline):
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    done = ridgeline("study", "run", "h1", "--bench-data", TABLES, "--measured", "no_such_file")
    assert done.returncode == 2
    assert "no_such_file" in done.stderr and len(done.stderr.splitlines()) <= 3


def test_step_says_what_decodes_are_charged(ridgeline):
    """Row H28.2."""
    if not TABLES.is_dir():
        pytest.skip(f"no {TABLES}")
    done = ridgeline("step", "--model", "llama-3.1-8b", "--gpu", "h100", "--bench-data", TABLES, "--decode", "4096,64x3",
                     "--latency", "v2-h29", "--format", "json")
    assert json.loads(done.stdout)["charged_attention"] == {
        "decode_flops": 8589934592, "own_flops": 2248146944, "shortest_over_own": 64}


def test_h29_root_cause_and_break_even(study):
    report = study("h29")
    assert [row["supports_the_bucket"] for row in report["tables"]["root_cause_verification"]] == [True, False, False, False]
    assert [row["from_tokens"] for row in report["tables"]["break_even"]] == [145, 5]


def test_rank_has_the_arms_of_the_review(study):
    report = study("rank")
    prefill = {row["model"]: row["median_abs_pct"] for row in report["tables"]["prefill_attention"]}
    # A divisor of 2 gives the measured time back, 1.8 is a ninth slower, 1 twice as slow.
    assert prefill["v2-final, divisor 2"] < 0.5
    assert prefill["v2-final"] == pytest.approx(11.1, abs=0.3)
    assert prefill["v2-final, divisor 1"] == pytest.approx(100, abs=0.5)
    decode = {row["model"] for row in report["tables"]["decode_attention"]}
    assert decode >= {"v2-final, range-count", "v2-final, lookup log", "v2-final, per component, hybrid"}
    uneven = {(row["model"], row["contexts"]): row["us_per_layer"] for row in report["tables"]["uneven_batches"]}
    # The longest context for all: one long request among seven costs what four do.
    assert uneven["v2-h29", "7 x 1024, 32768"] == pytest.approx(uneven["v2-h29", "4 x 16384, 4 x 32768"], rel=1e-12)
    assert uneven["v2-final, range-count", "7 x 1024, 32768"] > uneven["v2-final, range", "7 x 1024, 32768"]


def test_h6_holds_rows_out(study):
    medians = {(row["kernel"], row["axis"], row["lookup"]): row["median_abs_pct"]
               for row in study("h6")["tables"]["held_out"]}
    assert len(medians) == 12
    # Logarithms foretell attention better than a line, GEMMs worse.
    for kernel, axis in (("prefill attention", "seq_len"), ("decode attention", "kv_len"), ("decode attention", "batch_size")):
        assert medians[kernel, axis, "log"] < medians[kernel, axis, "interp"]
    assert medians["gemm", "m", "interp"] < medians["gemm", "m", "log"] < medians["gemm", "m", "floor"]


def test_infersim_has_each_of_its_errors(ridgeline):
    done = ridgeline("study", "run", "infersim", "--format", "json")
    errors = {row["infersim_error_pct"] for row in json.loads(done.stdout)["tables"]["infersim"]}
    assert errors == {15.2, 15.1, 4.6, -4.3, 8.4, -3.8}


def test_rounding_counts_gemm_rows(study):
    assert study("rounding")["tables"]["gemm_tables"] == [
        {"rows": 112, "rows_that_read_zero": 0, "stand_in_over_measured": None}]


def test_the_list_is_json_too(ridgeline):
    listed = json.loads(ridgeline("study", "list", "--format", "json").stdout)
    assert {"id", "claim"} == set(listed[0])
    assert {"llmd-73", "dynamo-pd"} <= {study["id"] for study in listed}
