"""Instances that a rolling update replaces, as `run` shows them."""

import json

import pytest

RUN = ("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", 300, "--output-len", 60, "--seed", 3,
       "--request-rate", 60, "--num-prompts", 1200, "--instances", 4, "--router", "least-request")
START = ("--cold-start", "load=1s", "--cold-start", "compile=500ms", "--cold-start", "capture=0s")
UPDATE = (*RUN, *START, "--update-at", "3s")


def result_of(ridgeline, *words):
    done = ridgeline(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("words", "most", "fewest"), [
    ((), 5, 3),
    (("--max-surge", 2, "--max-unavailable", 0), 6, 4),
    (("--max-surge", 0, "--max-unavailable", "50%"), 4, 2),
    (("--max-surge", "100%", "--max-unavailable", 4), 8, 0),
])
def test_an_update_keeps_its_bounds(ridgeline, words, most, fewest):
    result = result_of(ridgeline, *UPDATE, *words)
    cluster = result["summary"]["cluster"]
    (update,) = cluster["updates"]
    assert update["at_s"] == 3 and update["instances"] == update["replaced"] == 4
    # A start takes 1.5 s, and an instance finishes what it has: two batches at most here.
    assert 1.5 <= update["over_s"] - 3 < 4 * 2.5
    assert update["fewest_ready"] == fewest
    assert len(cluster["per_instance"]) <= most
    assert result["summary"]["completed"] == 1200
    assert update["failed_requests"] == update["rerouted_requests"] == 0
    second = result_of(ridgeline, *UPDATE, *words, "--engine-core", "reference")
    assert second["digest"] == result["digest"]
    assert second["summary"]["cluster"]["updates"] == cluster["updates"]


def test_new_instances_that_start_at_the_end_are_named_and_are_no_autoscalers(ridgeline):
    # A start takes a minute by default, and the run 20 s.
    words = (*RUN, "--update-at", "10s", "--autoscaling", "hpa", "--target", 40, "--min-replicas", 4, "--max-replicas", 8)
    result = result_of(ridgeline, *words)
    cluster = result["summary"]["cluster"]
    (update,) = cluster["updates"]
    assert cluster["scaling"]["events"] == []
    # One of four may be missing, and one more than four may be there.
    assert update["replaced"] == 1 and update["starting"] == 2 and update["over_s"] is None
    assert [one["ready_s"] for one in cluster["per_instance"]].count(0) == 2
    assert "W-late-scaling" not in json.dumps(result["warnings"])
    assert ", not over by the end, 2 new instances still starting" in " ".join(ridgeline(*words).stdout.split())


def test_a_drain_timeout_loses_requests_unless_they_are_sent_again(ridgeline):
    words = (*UPDATE, "--max-num-seqs", 4, "--drain-timeout", "1ms", "--max-retries", 1)
    result = result_of(ridgeline, *words)
    (update,) = result["summary"]["cluster"]["updates"]
    assert update["failed_requests"] > update["rerouted_requests"] > 0
    assert result["summary"]["failed"]["failed"] == update["failed_requests"] - update["rerouted_requests"]
    table = ridgeline(*words).stdout
    assert "update       4 of 4 instances replaced from 3.00 s on, over after" in table
    assert f"{update['failed_requests']} requests lost, {update['rerouted_requests']} of them sent again" in table


def test_either_kind_is_updated_alone(ridgeline):
    apart = (*UPDATE, "--prefill-instances", 2)
    both = result_of(ridgeline, *apart)["summary"]["cluster"]["updates"]
    assert [one["pool"] for one in both] == ["prefill", "decode"]
    for pool, others in (("prefill", "decode"), ("decode", "prefill")):
        (one,) = result_of(ridgeline, *apart, "--update-pool", pool)["summary"]["cluster"]["updates"]
        assert one["pool"] == pool != others and one["instances"] == one["replaced"] == 2


def test_an_update_in_a_file_and_one_that_never_begins(ridgeline):
    ridgeline.write("s.yaml", """\
model: llama-3.1-8b
workload: {request_rate: 60, num_prompts: 200, input_len: 64, output_len: 16}
cluster:
  pools: [{name: a, instances: 2, gpu: h100}, {name: b, instances: 1, gpu: a100}]
  rolling_update: {update_at: 9000s, max_surge: 2, update_pool: a}
""")
    result = result_of(ridgeline, "run", "s.yaml")
    assert result["summary"]["cluster"]["updates"] == []
    assert "W-late-update" in json.dumps(result["warnings"])
    assert result["config"]["cluster"]["rolling_update"]["max_surge"] == "2"
