"""Texts of others (names of GPUs, networks, traces, folders) in every file that is written: a reader of that kind of file
finds in it what it finds where the names are plain. Targets, engines and formats are those that the program names."""

import csv
import io
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from conftest import SOURCE

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

# What ends a comment, a quote, a line, a tag or a cell in one of the languages that are written, or commands a terminal.
BREAKERS = [
    "\ntouch PWNED\n", "\rtouch PWNED\r", "$(touch PWNED)", "`touch PWNED`", "${HOME}$$", "';touch PWNED;'", '";touch PWNED;"',
    "\n- a: b\n", "\n#: model: x\n", "\n---\n", ": ", " #", "*/", "-->", "]]>", "<script>alert(1)</script>", "<!--", "&amp;&",
    "\x1b[31m\x07", "\x9b31m", "\u2028touch PWNED\u2029", "\u0085touch PWNED\n", "\ufeff", "\u202e", "\uffff", "{}", "{= print 1 =}",
    "{1}", "%s%q%%", "\\", "\\n", "|", ",", "\t", "é", "\\\n", "!", "~", "*?[a]", "{{ x }}", "&x *x", "=1+1",
]
HOSTILE = "".join(BREAKERS)
# All of them, all of them where a flag may stand, and some in an order that a run draws.
NAMES = [HOSTILE, "-rf" + HOSTILE,
         "".join(random.Random(os.environ.get("RIDGELINE_PROPERTY_SEED", "1")).sample(BREAKERS, 20))]
SCENARIO = """
model: llama-3.1-8b
gpu: gpu.yaml
engine: {tensor_parallel_size: 2, max_model_len: 8192}
workload: {request_rate: 4, num_prompts: 20, input_len: 200, output_len: 20}
slo: {ttft: 500ms, tpot: 40ms}
"""
STUBS = ["vllm", "docker", "nginx", "python3", "sbatch", "ridgeline"]


def gpu_file(name):
    text = (SOURCE / "data" / "hardware" / "h100.yaml").read_text()
    return re.sub(r"(?m)^name: .*$", lambda _: "name: " + json.dumps(name), text, count=1)


class Tags(HTMLParser):
    """The tags of a page, with the names of their attributes: no text of others adds one."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, [name for name, _ in attrs]))

    def handle_comment(self, data):
        self.found.append(("comment", data))


def shape(value):
    """The structure of a document: its keys, and the kinds of its values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


def bash_argv(path, folder, parallel=False):
    """What the commands of a script are given, by programs that print it."""
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0, path.read_text()
    stubs = folder / "stubs"
    if not stubs.is_dir():
        stubs.mkdir()
        for name in STUBS:
            stub = stubs / name
            stub.write_text(f'#!{sys.executable}\nimport json, os, sys\n'
                            'with open(os.environ["ARGV"], "a") as log:\n    log.write(json.dumps(sys.argv[1:]) + "\\n")\n')
            stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
        # It replaces fields as GNU parallel does, and gives what is left to a shell.
        (stubs / "parallel").write_text(
            f'#!{sys.executable}\nimport re, subprocess, sys\nfor line in sys.stdin:\n'
            '    assert not re.search(r"\\{(=|[.#%/0-9+-])", sys.argv[-1]), sys.argv[-1]\n'
            '    subprocess.run(["sh", "-c", sys.argv[-1].replace("{}", line.strip())], check=True)\n')
        (stubs / "parallel").chmod(0o755)
    log = folder / "argv"
    log.write_text("")
    patient = path.with_name("patient")  # One that ends ends no other, so that each is seen.
    patient.write_bytes(path.read_bytes().replace(b"wait -n", b"wait"))
    subprocess.run(["bash", patient], cwd=folder, check=False, timeout=20, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                   env={"PATH": f"{stubs}:{os.environ['PATH']}", "ARGV": str(log), "HOME": "/nowhere", "NODE": "0"})
    patient.unlink()
    given = [json.loads(line) for line in log.read_text().splitlines()]
    return sorted([word.replace(str(path.parent), "HERE") for word in words] for words in given)


def structure(path, folder):
    """What a reader of that kind of file finds in it."""
    if path.suffix == ".pftrace":
        return None  # Each text of it has its length in front.
    text = path.read_bytes().decode()  # UTF-8, whatever the names were.
    lines = [line for line in re.split("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text)
             if not line.lstrip().startswith(("#", "//")) and line]
    if path.suffix == ".sh":
        return bash_argv(path, folder), [line for line in lines if not re.search("touch|vllm serve", line)]
    if path.suffix in (".yaml", ".yml"):
        assumed = "\n".join(line[3:] for line in text.split("\n") if line.startswith("#: "))
        return [shape(document) for document in yaml.safe_load_all(text)], shape(yaml.safe_load(assumed))
    if path.suffix == ".json":
        return shape(json.loads(text))
    if path.suffix in (".jsonl", ".ndjson"):
        return [shape(json.loads(line)) for line in text.splitlines() if line]
    if path.suffix == ".csv":
        return [len(row) for row in csv.reader(io.StringIO(text, newline=""))]
    if path.suffix == ".html":
        return Tags(text).found
    if path.suffix == ".svg":
        return [element.tag for element in ElementTree.fromstring(text).iter()]
    if path.suffix == ".md":
        return len(text.splitlines()), [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines()]
    if path.suffix == ".txt":
        return [line for line in lines if line.startswith("touch")]
    assert path.suffix == ".conf", path
    return lines


def check_printed(done):
    for text in (done.stdout, done.stderr):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\ufeff]", text), repr(text)
        assert not any(line.startswith("touch PWNED") for line in text.splitlines()), text


def pwned(folder):
    return [path for path in folder.rglob("PWNED")]


def compare(folder, hostile, plain):
    """Each file of one folder against that of the twin."""
    names = {path.relative_to(plain) for path in plain.rglob("*") if path.is_file()}
    assert names == {path.relative_to(hostile) for path in hostile.rglob("*") if path.is_file()}
    for name in sorted(names):
        assert structure(hostile / name, folder) == structure(plain / name, folder), name
    assert not pwned(folder)


def targets_of(ridgeline):
    found = re.search(r"--deployment-target (\S+)", ridgeline("deploy", "--help").stdout)
    names = found[1].split("|")
    assert len(names) >= 8
    return names


def test_deployments(ridgeline):
    ridgeline.write("scenario.yaml", SCENARIO)
    for target in targets_of(ridgeline):
        more = ["--engine", "sglang"] if target == "sglang" else []
        for number, name in enumerate(["plain", *NAMES]):
            ridgeline.write("gpu.yaml", gpu_file(name))
            done = ridgeline("deploy", "scenario.yaml", *more, "--deployment-target", target, "--instances", 2,
                             "--save-dir", f"{target}{number}")
            assert done.returncode == 0, done.stderr
            check_printed(done)
        for number in range(1, len(NAMES) + 1):
            compare(ridgeline.folder, ridgeline.folder / f"{target}{number}", ridgeline.folder / f"{target}0")
            read = ridgeline("explain", next((ridgeline.folder / f"{target}{number}").glob("s*.yaml")), "--format", "json")
            assert read.returncode == 0, read.stderr


# What a file may be called: no slash, no NUL, and 255 bytes.
FILE_NAMES = [HOSTILE.replace("/", ":").encode()[:100].decode(errors="ignore") + "{= print 1 =}{}{1}", "\n--set\ntouch PWNED\n"]


@pytest.mark.parametrize("engine", ["slurm", "parallel", "kubernetes"])
def test_submissions(ridgeline, engine):
    told = ridgeline("sweep", "submit", "--engine", "none", "--axis", "seed=1")
    assert re.search(r'"none", expected (.*)', told.stderr)[1] == "slurm, parallel, kubernetes", "a new engine: add it above"
    for name in ["plain", *FILE_NAMES, "-x" + FILE_NAMES[0]]:
        ridgeline.write(f"{name}.yaml", SCENARIO.replace("gpu.yaml", "h100"))
        store = f"{name}$(HOSTNAME)"
        done = ridgeline("sweep", "submit", "-o", "job.sh", "--engine", engine, f"--store={store}", "--shards", 2, "--axis", "seed=1,2",
                         "--set", "hardware.power_watts=500", "--", f"{name}.yaml")
        assert done.returncode == 0, done.stderr
        text = (ridgeline.folder / "job.sh").read_text()
        dashed = "./" if name.startswith("-") else ""
        wanted = ["sweep", "run", "--axis", "seed=1,2", "--set", "hardware.power_watts=500", f"{dashed}{name}.yaml"]
        merge = ["sweep", "merge", dashed + store, "-o", f"{dashed}{store}/merged.ndjson"]
        if engine == "kubernetes":
            container = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]
            read = [word.replace("$$", "$") for word in container["args"]]
            assert sorted(read) == sorted([*wanted, "--store", dashed + store, "--shard", "$(JOB_COMPLETION_INDEX)/2", "--format", "quiet"])
            continue
        given = bash_argv(ridgeline.folder / "job.sh", ridgeline.folder)
        if engine == "slurm":
            wrapped = next(word for words in given for word in words if "sweep merge" in word)
            (ridgeline.folder / "wrap.sh").write_text(wrapped)
            assert bash_argv(ridgeline.folder / "wrap.sh", ridgeline.folder) == [merge]
            continue
        runs = [[word for word in words if word not in ("--jobs", "1", "0/2", "1/2", "--shard", "--store", "--format", "quiet")]
                for words in given if "run" in words]
        assert runs == [[*wanted, dashed + store]] * 2
        assert merge in given
    assert not pwned(ridgeline.folder)


def results_of(ridgeline, folder, name, file_name):
    """Every kind of file that runs, sweeps, plans and pages are written as, with names in them."""
    work = ridgeline.folder / folder
    work.mkdir()
    (work / "gpu.yaml").write_text(gpu_file(name))
    rows = [{"timestamp": 100 * i, "input_length": 200, "output_length": 20, "hash_ids": [i]} for i in range(200)]
    trace = f"{file_name}.jsonl"
    (work / trace).write_text("".join(json.dumps(row) + "\n" for row in rows))
    labelled = f"l{file_name}.jsonl"
    (work / labelled).write_text("".join(json.dumps(
        {"arrival_s": i, "input_tokens": 200, "output_tokens": 20, "tenant": name, "slo_class": name}) + "\n"
        for i in range(20)))
    model = work / file_name
    model.mkdir()
    config = json.loads((SOURCE / "data" / "models" / "llama-3.1-8b.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "_name_or_path": name}))
    on = ["--gpu", "gpu.yaml"]
    for words in (
        ["run", "--model", f"./{file_name}", *on, "--trace", trace, *[word for out in
         ("r.json", "r.csv", "r.md", "r.html", "r.txt") for word in ("-o", out)], "--requests-out", "q.csv", "--steps-out", "s.jsonl"],
        ["run", "--model", "llama-3.1-8b", *on, "--trace", trace, "--requests-out", "q.jsonl", "--perfetto-out", "p.pftrace",
         "--client-results", "vllm-bench=b.json", "-o", f"r{file_name}.json"],
        ["trace", trace, "--svg", "t.svg"],
        ["report", f"r{file_name}.json", "r.json", "-o", "c.html"],
        ["step", "--model", f"./{file_name}", *on, "--decode", "1000x32", "-o", "step.json"],
        ["explain", "--model", f"./{file_name}", *on, "--trace", trace],
        ["run", "--model", "llama-3.1-8b", *on, "--trace", labelled, "-o", "l.csv", "-o", "l.md", "-o", "l.html", "-o", "l.json"],
        ["sweep", "run", "--model", f"./{file_name}", *on, "--trace", trace, "--axis", "seed=1,2", "--store", f"s{file_name}",
         "-o", "w.csv", "-o", "w.ndjson"],
        ["plan", "--model", "llama-3.1-8b", *on, "--trace", trace, "--slo-ttft", "500ms", "--slo-tpot", "50ms", "--save-dir", "plan",
         "--what-to-measure", "--svg", "plan.svg", "-o", "plan.json"],
    ):
        done = subprocess.run([*ridgeline.command(), *words], cwd=work, env=ridgeline.env, capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.returncode == 0, (words, done.stderr)
        check_printed(done)
    for shard in (work / f"s{file_name}" / "shards").iterdir():
        shard.rename(work / "shard.ndjson")
    for extra in ("gpu.yaml", trace, labelled):
        (work / extra).unlink()
    shutil.rmtree(model)
    return work


def test_results(ridgeline):
    plain = results_of(ridgeline, "plain", "plain", "plain")
    for number, name in enumerate(FILE_NAMES):
        hostile = results_of(ridgeline, f"hostile{number}", HOSTILE, name)
        for one, other in ((hostile / f"r{name}.json", "rplain.json"), (hostile / f"s{name}", "splain")):
            os.replace(one, hostile / other)
        compare(ridgeline.folder, hostile, plain)
