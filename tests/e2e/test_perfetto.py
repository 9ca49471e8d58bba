"""`run --perfetto-out`: traces of Perfetto, read back with protoc and Python's protobuf and held against the rules of
the format. RIDGELINE_PERFETTO_RUNS is how many random scenarios are run."""

import gzip
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

pytest.importorskip("google.protobuf", reason="python3-protobuf is not installed")
if shutil.which("protoc") is None:
    pytest.skip("protobuf-compiler is not installed", allow_module_level=True)

SCHEMA = Path(__file__).resolve().parent / "trace_subset.proto"
RUN = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "20", "--num-prompts", "60",
       "--input-len", "512", "--output-len", "32"]
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
SCENARIOS = int(os.environ.get("RIDGELINE_PERFETTO_RUNS", "8"))


@pytest.fixture(scope="session")
def schema(tmp_path_factory):
    """The module that protoc makes of the subset."""
    folder = tmp_path_factory.mktemp("proto")
    subprocess.run(["protoc", f"--proto_path={SCHEMA.parent}", f"--python_out={folder}", SCHEMA.name], check=True)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("trace_subset_pb2")
    finally:
        sys.path.remove(str(folder))


def trace_of(ridgeline, *words, name="run.pftrace"):
    done = ridgeline(*words, "--perfetto-out", name, "--format", "json")
    assert done.returncode in (0, 4), done.stderr
    data = (ridgeline.folder / name).read_bytes()
    return json.loads(done.stdout), gzip.decompress(data) if name.endswith(".gz") else data


def check_no_unknown_field(data):
    text = subprocess.run(["protoc", f"--proto_path={SCHEMA.parent}", "--decode=subset.Trace", SCHEMA.name],
                          input=data, capture_output=True, check=True).stdout.decode()
    assert not re.search(r"^\s*\d+[:\s{]", text, re.MULTILINE), "a field that the subset does not have"


def check_packets(schema, data):
    """Every rule of the format; slices by name, in nanoseconds, and what begins them."""
    trace = schema.Trace.FromString(data)
    tracks, names, categories, annotations = {}, {}, {}, {}
    open_slices = defaultdict(list)
    flows = Counter()
    slices = []
    before = 0
    assert trace.packet and trace.packet[0].sequence_flags == 3
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks
            assert track.HasField("process") or track.parent_uuid in tracks, "a parent comes before its children"
            tracks[track.uuid] = track
            continue
        for kept, news in ((names, packet.interned_data.event_names), (categories, packet.interned_data.event_categories),
                           (annotations, packet.interned_data.debug_annotation_names)):
            for entry in news:
                assert entry.iid > 0 and entry.iid not in kept
                kept[entry.iid] = entry.name
        event = packet.track_event
        assert packet.timestamp >= before
        before = packet.timestamp
        track = tracks[event.track_uuid]
        assert track.HasField("counter") == (event.type == COUNTER)
        assert len(event.extra_counter_track_uuids) == len(event.extra_counter_values)
        assert all(tracks[uuid].HasField("counter") for uuid in event.extra_counter_track_uuids)
        assert all(value >= 0 for value in event.extra_counter_values)
        if event.type == COUNTER:
            assert event.counter_value >= 0
        elif event.type == END:
            begun, name, correlation = open_slices[event.track_uuid].pop()
            slices.append((track.name, name, packet.timestamp - begun, correlation))
        else:
            assert event.name_iid in names and all(iid in categories for iid in event.category_iids)
            assert all(note.name_iid in annotations for note in event.debug_annotations)
            if event.type == BEGIN:
                assert not open_slices[event.track_uuid], "slices of a track follow each other"
                open_slices[event.track_uuid].append((packet.timestamp, names[event.name_iid], event.correlation_id))
        flows.update(event.flow_ids)
    assert not any(open_slices.values())
    assert all(ends == 2 for ends in flows.values()), "a flow has two ends"
    return tracks, slices, flows


def check_sums(result, slices):
    busy = sum(length for track, _, length, _ in slices if track == "GPU steps")
    steps = sum(1 for track, _, _, _ in slices if track == "GPU steps")
    assert abs(busy - result["summary"]["busy_s"] * 1e9) <= steps + 1
    decoded = {request for track, name, _, request in slices if track == "requests" and name == "prefill"}
    assert len(decoded) >= result["summary"]["completed"]


@pytest.mark.parametrize("name", ["run.pftrace", "run.pftrace.gz"])
def test_a_trace_follows_the_format(ridgeline, schema, name):
    result, data = trace_of(ridgeline, *RUN, name=name)
    check_no_unknown_field(data)
    tracks, slices, flows = check_packets(schema, data)
    check_sums(result, slices)
    assert {track.name for track in tracks.values()} >= {"GPU steps", "requests", "running", "waiting"}
    assert not flows


def test_a_fleet_has_a_gateway_and_a_process_per_instance(ridgeline, schema):
    result, data = trace_of(ridgeline, *RUN, "--instances", "3")
    check_no_unknown_field(data)
    tracks, slices, flows = check_packets(schema, data)
    check_sums(result, slices)
    processes = [track.process.process_name for track in tracks.values() if track.HasField("process")]
    assert processes == ["gateway", "instance 0", "instance 1", "instance 2"]
    assert len(flows) == 60


@pytest.mark.parametrize("number", range(SCENARIOS))
def test_random_runs_follow_the_format(ridgeline, schema, number):
    chance = random.Random(number)
    words = ["run", "--model", chance.choice(["llama-3.1-8b", "gpt-oss-20b"]), "--gpu", "h100",
             "--num-prompts", chance.randint(1, 120), "--input-len", chance.randint(1, 1500), "--output-len",
             chance.randint(1, 200), "--seed", number]
    words += chance.choice([["--request-rate", chance.choice([1, 20, 500])],
                            ["--max-concurrency", chance.randint(1, 20)]])
    engine = chance.choice(["", "", "vllm@0.11", "sglang", "tensorrt-llm"])
    if engine:
        words += ["--engine-version", engine]
    if engine in ("", "vllm@0.11"):
        words += ["--max-num-seqs", chance.randint(1, 40)]
        if chance.random() < 0.5:
            words += ["--num-gpu-blocks", chance.randint(250, 900), "--max-model-len", 2048]
    if chance.random() < 0.3:
        words += ["--instances", chance.randint(2, 4)]
        if chance.random() < 0.5:
            words += ["--fault", "crash@1s:0"]
    done = ridgeline(*words, "--perfetto-out", "run.pftrace", "--format", "json")
    if done.returncode not in (0, 4):
        assert done.returncode == 2, done.stderr
        pytest.skip(f"refused: {done.stderr.splitlines()[0]}")
    data = (ridgeline.folder / "run.pftrace").read_bytes()
    check_no_unknown_field(data)
    _, slices, _ = check_packets(schema, data)
    if "--fault" not in words:
        check_sums(json.loads(done.stdout), slices)


def test_events_are_bounded_and_the_rest_is_said(ridgeline, schema):
    done = ridgeline(*RUN, "--perfetto-out", "run.pftrace", "--perfetto-max-events", "200", "--format", "json")
    assert done.returncode == 0, done.stderr
    warnings = [warning for warning in json.loads(done.stdout)["warnings"] if warning["code"] == "W-trace-cut"]
    assert len(warnings) == 1
    trace = schema.Trace.FromString((ridgeline.folder / "run.pftrace").read_bytes())
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    assert len(events) <= 202
    assert sum(1 for event in events if event.type == INSTANT) == 1
    fits = re.search(r"0s\+([0-9.]+)s", warnings[0]["hint"]).group(0)
    again = ridgeline(*RUN, "--perfetto-out", "again.pftrace", "--perfetto-window", fits, "--format", "json")
    assert again.returncode == 0 and "W-trace-cut" not in again.stdout


def test_a_window_holds_what_happens_in_it(ridgeline, schema):
    done = ridgeline(*RUN, "--perfetto-out", "run.pftrace", "--perfetto-window", "1s+500ms", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    trace = schema.Trace.FromString((ridgeline.folder / "run.pftrace").read_bytes())
    times = [packet.timestamp for packet in trace.packet if packet.HasField("track_event")]
    assert min(times) >= 1_000_000_000 and max(times) <= 1_500_000_000


def test_a_trace_of_many_requests_is_small(ridgeline):
    done = ridgeline("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--request-rate", "20", "--num-prompts", "20000",
                     "--input-len", "256", "--output-len", "64", "--perfetto-out", "run.pftrace", "--format", "quiet")
    assert done.returncode == 0, done.stderr
    assert (ridgeline.folder / "run.pftrace").stat().st_size <= 20_000 / 100_000 * 64 * 2**20


@pytest.mark.parametrize("words, said", [
    (["--perfetto-window", "1s+1s"], "there is no trace"),
    (["--perfetto-out", "t.pftrace", "--perfetto-window", "60"], "START+LENGTH"),
    (["--perfetto-out", "t.pftrace", "--perfetto-window", "1s+0s"], "START+LENGTH"),
    (["--perfetto-out", "t.pftrace", "--perfetto-window", "-1s+2s"], "START+LENGTH"),
    (["--perfetto-out", "t.pftrace", "--perfetto-max-events", "0"], "--perfetto-max-events"),
    (["--perfetto-out", "nowhere/t.pftrace"], "nowhere"),
])
def test_wrong_words_are_refused(ridgeline, words, said):
    done = ridgeline(*RUN, *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert ridgeline.files() == set()
