"""`ridgeline deploy`: files that their targets' schemas take, that a shell parses, and that read back as the scenario."""

import gzip
import json
import os
import re
import subprocess

import pytest

from conftest import SHARED

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

VERSIONS = ["0.8.5", "0.9.2", "0.11", "0.13", "0.15", "0.18", "0.20", "0.27"]
SCENARIO = """
model: llama-3.3-70b-fp8
gpu: h100
engine: {tensor_parallel_size: 2, max_model_len: 8192}
workload: {request_rate: 1, num_prompts: 20, input_len: 200, output_len: 20}
slo: {ttft: 500ms, tpot: 40ms}
"""
# Each target, a router that it has, and its files: the first is read back.
TARGETS = {
    "vllm": ("round-robin", ["serve.sh"]),
    "docker": ("least-request", ["run.sh"]),
    "docker-compose": ("random-two", ["compose.yaml"]),
    "kubernetes": ("random", ["deployment.yaml", "service.yaml", "autoscaler.yaml"]),
    "llm-d-helm": ("llm-d", ["values.yaml"]),
    "dynamo": ("dynamo", ["dynamo.yaml"]),
    "kserve": ("llm-d", ["kserve.yaml"]),
}
# Targets that write an autoscaler.
SCALED = {"kubernetes"}
APART = {"llm-d-helm": "llm-d", "dynamo": "dynamo", "kserve": "llm-d"}


@pytest.fixture
def scenario(ridgeline):
    ridgeline.write("scenario.yaml", SCENARIO)
    return ridgeline


def deploy(scenario, target, *words, folder="out"):
    done = scenario("deploy", "scenario.yaml", "--deployment-target", target, "--save-dir", folder, *words)
    assert done.returncode == 0, done.stderr
    return scenario.folder / folder


def autoscale(target, replicas):
    return ["--autoscale", replicas] if target in SCALED else []


def digest(scenario, path):
    done = scenario("explain", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["scenario_digest"]


def gpus_of(target, document):
    """The GPUs of all replicas, from the file alone."""
    def limits(container):
        return int(container["resources"]["limits"]["nvidia.com/gpu"])

    if target == "docker-compose":
        devices = [service["deploy"]["resources"]["reservations"]["devices"][0]
                   for name, service in document["services"].items() if name.startswith("vllm-")]
        assert len({gpu for device in devices for gpu in device["device_ids"]}) == sum(len(d["device_ids"]) for d in devices)
        return sum(len(device["device_ids"]) for device in devices)
    if target == "kubernetes":
        return document["spec"]["replicas"] * limits(document["spec"]["template"]["spec"]["containers"][0])
    if target == "llm-d-helm":
        roles = [document["decode"]] + ([document["prefill"]] if document["prefill"]["create"] else [])
        return sum(r["replicas"] * r["parallelism"]["workers"] * limits(r["containers"][0]) for r in roles)
    if target == "dynamo":
        return sum(c["replicas"] * c.get("multinode", {}).get("nodeCount", 1)
                   * limits(c["podTemplate"]["spec"]["containers"][0])
                   for c in document["spec"]["components"] if c["type"] != "frontend")
    spec = document["spec"]
    roles = [spec] + ([spec["prefill"]] if "prefill" in spec else [])
    return sum(r["replicas"] * limits(r["template"]["containers"][0]) for r in roles)


@pytest.mark.parametrize("target", TARGETS)
def test_files_read_back(scenario, target):
    router, files = TARGETS[target]
    words = ["--instances", 3, "--router", router, *autoscale(target, "2-6")]
    out = deploy(scenario, target, *words)
    known = {"scenario.yaml", "prediction.json", "bench.sh", "nginx.conf", *files}
    written = {path.name for path in out.iterdir()}
    assert set(files) | {"scenario.yaml", "prediction.json", "bench.sh"} <= written <= known
    assert (out / "nginx.conf").exists() == (target in ("vllm", "docker", "docker-compose"))
    prediction = json.loads((out / "prediction.json").read_text())
    assert prediction["scenario_digest"] == digest(scenario, out / "scenario.yaml")
    assert prediction["scenario_digest"] == digest(scenario, out / files[0])
    assert prediction["gpus"] == 6
    if files[0].endswith(".yaml"):
        assert gpus_of(target, yaml.safe_load((out / files[0]).read_text())) == 6
    for path in out.iterdir():
        text = path.read_text()
        assert "hf_" not in text, "a token by its value"
        if path.suffix == ".sh":
            assert os.access(path, os.X_OK)
            assert subprocess.run(["bash", "-n", path], check=False).returncode == 0
    # The scenario gives the prediction, and so does each file.
    for name in ("scenario.yaml", files[0]):
        run = scenario("run", out / name, "--format", "json")
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["digest"] == prediction["predicted"]["run_digest"]


@pytest.mark.parametrize(("words", "begins"), [((), 2), (("--instances", 4), 4)])
def test_what_scales_is_written_and_predicted(scenario, words, begins):
    out = deploy(scenario, "kubernetes", "--autoscale", "2-6", *words)
    spec = yaml.safe_load((out / "autoscaler.yaml").read_text())["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 6)
    assert yaml.safe_load((out / "deployment.yaml").read_text())["spec"]["replicas"] == begins
    prediction = json.loads((out / "prediction.json").read_text())
    assert [role["replicas"] for role in prediction["roles"]] == [begins]
    run = json.loads(scenario("run", out / "scenario.yaml", "--format", "json").stdout)
    assert run["digest"] == prediction["predicted"]["run_digest"]
    target = float(spec["metrics"][0]["pods"]["target"]["averageValue"])
    cluster = yaml.safe_load((out / "scenario.yaml").read_text())["cluster"]
    assert cluster["autoscaling"] == {"name": "hpa", "min_replicas": 2, "max_replicas": 6, "metric": "waiting",
                                      "target": target}


@pytest.mark.parametrize(("words", "wrong"), [
    (["--deployment-target", "kubernetes", "--instances", "8"], "8 is outside 2 to 6"),
    (["--deployment-target", "kubernetes", "--max-replicas", "8"], "--max-replicas: found beside --autoscale"),
    *((["--deployment-target", target], f"--autoscale: {target} has no autoscaler") for target in TARGETS
      if target not in SCALED)])
def test_an_autoscaler_that_cannot_be_is_refused(scenario, words, wrong):
    done = scenario("deploy", "scenario.yaml", "--save-dir", "out", "--autoscale", "2-6", *words)
    assert done.returncode == 2
    assert wrong in done.stderr
    assert not (scenario.folder / "out").exists()


def test_prediction_meets_its_schema(scenario):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    schema = json.loads(scenario("schema", "prediction").stdout)
    prediction = json.loads((deploy(scenario, "vllm") / "prediction.json").read_text())
    jsonschema.Draft7Validator(schema).validate(prediction)
    prediction["gpuss"] = 1
    assert not jsonschema.Draft7Validator(schema).is_valid(prediction)


def schemas():
    folder = SHARED / "schemas"
    if not folder.is_dir():
        pytest.skip("the schemas of deployment targets are not beside the checkout")
    return folder


def validator(target, document):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    name = {"llm-d-helm": "llm-d-modelservice.values.v0.4.12", "dynamo": "dynamographdeployment.v1beta1",
            "kserve": "llminferenceservice.v1alpha2", "kubernetes": "kubernetes-core"}[target]
    with gzip.open(schemas() / f"{name}.json.gz", "rt") as file:
        schema = json.load(file)
    if target == "kubernetes":
        schema = {**schema, **schema["kinds"][document["kind"]]}
    return jsonschema.Draft7Validator(schema)


@pytest.mark.parametrize("target", ["kubernetes", "llm-d-helm", "dynamo", "kserve"])
def test_schemas(scenario, target):
    router, files = TARGETS[target]
    folders = [deploy(scenario, target, "--instances", 2, "--router", router, *autoscale(target, "1-3"),
                      "--speculative-config", '{method: ngram, num_speculative_tokens: 2, acceptance: [0.5]}'),
               deploy(scenario, target, "--enforce-eager", "--cudagraph-mode", "PIECEWISE", "--sampler", "flashinfer",
                      *autoscale(target, "1-3"), folder="one")]
    if target in APART:
        folders.append(deploy(scenario, target, "--instances", 3, "--prefill-instances", 1, "--disaggregation",
                              APART[target], folder="apart"))
    for folder in folders:
        for name in files:
            document = yaml.safe_load((folder / name).read_text())
            problems = list(validator(target, document).iter_errors(document))
            assert not problems, (folder, name, problems[0].message)
    # The proof that a misspelt key is seen.
    document = yaml.safe_load((folders[0] / files[0]).read_text())
    below = document["decode"]["parallelism"] if target == "llm-d-helm" else document["spec"]
    below["replicass"] = 1
    assert list(validator(target, document).iter_errors(document))


@pytest.mark.parametrize("version", VERSIONS)
def test_flags_of_versions(scenario, version):
    path = schemas() / "vllm-serve-flags.json"
    known = set(json.loads(path.read_text())["flags"][version])
    out = deploy(scenario, "vllm", "--engine-version", f"vllm@{version}", "--async-scheduling",
                 "true" if version not in ("0.8.5", "0.9.2") else "false")
    flags = re.findall(r"(?<= )--[a-z0-9-]+", "\n".join(
        line for line in (out / "serve.sh").read_text().splitlines() if not line.startswith("#")))
    assert "--max-num-batched-tokens" in flags and len(flags) >= 10
    for flag in flags:
        assert re.sub("^--no-", "--", flag) in known, flag


def test_edited_file(scenario):
    out = deploy(scenario, "kubernetes", "--instances", 2, "--router", "random")
    path = out / "deployment.yaml"
    text = path.read_text()
    path.write_text(text.replace("--max-model-len=8192", "--max-model-len=4096").replace("replicas: 2", "replicas: 3"))
    config = json.loads(scenario("explain", path, "--format", "json").stdout)["config"]
    assert config["engine"]["max_model_len"] == 4096
    assert config["cluster"]["instances"] == 3
    # A flag of the command line still wins.
    config = json.loads(scenario("explain", path, "--max-model-len", 2048, "--format", "json").stdout)["config"]
    assert config["engine"]["max_model_len"] == 2048
    path.write_text(text.replace("--max-model-len=", "--max-modl-len="))
    done = scenario("explain", path)
    assert done.returncode == 2
    assert re.search(r"--max-modl-len: is no flag.*\n.*deployment.yaml:\d+:\d+\n.*did you mean --max-model-len\?", done.stderr)


def test_hand_written_script(scenario):
    scenario.write("mine.sh", "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 64\n")
    done = scenario("explain", "mine.sh", "--gpu", "h100", "--format", "json")
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert config["model"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert config["engine"]["max_num_seqs"] == 64
    assert scenario("explain", "mine.sh").returncode == 2


def test_router_of_the_target(scenario):
    out = deploy(scenario, "kubernetes", "--instances", 2)
    assert "name: random" in (out / "scenario.yaml").read_text()
    # Ranks of one replica get theirs from the engine.
    out = deploy(scenario, "kubernetes", "--data-parallel-size", 2, "--instances", 2, folder="ranks")
    assert "router" not in (out / "scenario.yaml").read_text()
    assert "replicas: 1\n" in (out / "deployment.yaml").read_text()
    done = scenario("deploy", "scenario.yaml", "--instances", 2, "--deployment-target", "kubernetes",
                    "--deployment-target", "kserve", "--save-dir", "two")
    assert done.returncode == 2
    assert "no routing policy in common" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["--save-dir", "out", "--deployment-target", "kubernets"], "did you mean kubernetes?"),
    ([], "--save-dir: missing"),
    (["--save-dir", "scenario.yaml"], "cannot write 'scenario.yaml': it is no folder"),
    (["--save-dir", "scenario.yaml/below"], "cannot write 'scenario.yaml/below'"),
    (["--save-dir", "."], "cannot write './scenario.yaml': this command reads it"),
    (["--save-dir", "out", "--autoscale", "3-2"], "--autoscale: found '3-2'"),
    (["--save-dir", "out", "--instances", 5, "--deployment-target", "docker-compose"], "10 GPUs are more than the 8 of a node"),
    (["--save-dir", "out", "--watermark", "0.1", "--engine-version", "vllm@0.24"], "not known to have --watermark"),
    (["--save-dir", "out", "--prefix-cache-retention-interval", "64", "--engine-version", "vllm@0.29"],
     "no flag of vLLM says so"),
])
def test_refused(scenario, words, said):
    before = scenario.files()
    done = scenario("deploy", "scenario.yaml", *words)
    assert done.returncode == 2
    assert said in done.stderr, done.stderr
    assert scenario.files() == before


def test_read_only_folder(scenario):
    if os.geteuid() == 0:
        target = "/proc/out"  # Root may write anywhere else.
    else:
        (scenario.folder / "locked").mkdir(mode=0o500)
        target = "locked/out"
    done = scenario("deploy", "scenario.yaml", "--save-dir", target)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) <= 2 and "cannot write" in done.stderr
