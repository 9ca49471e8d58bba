"""`ridgeline mcp`: the verbs as tools of the Model Context Protocol, by lines of JSON and by the official clients."""

import asyncio
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import BINARY

RUN = {"model": "llama-3.1-8b", "gpu": "h100",
       "workload": {"input_len": 50, "output_len": 10, "request_rate": 5, "num_prompts": 40}}

pytestmark = pytest.mark.skipif(not BINARY, reason="no program")


def ask(*messages, root="."):
    done = subprocess.run([BINARY, "mcp", "--root", root], capture_output=True, text=True, timeout=120, check=False,
                          input="".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_run_as_the_command_line_gives_it():
    answer = ask({"id": 1, "method": "tools/call", "params": {"name": "run", "arguments": RUN}})[0]["result"]
    flags = ["--model", "llama-3.1-8b", "--gpu", "h100", "--input-len", "50", "--output-len", "10",
             "--request-rate", "5", "--num-prompts", "40"]
    printed = subprocess.run([BINARY, "run", *flags, "--format", "json"], capture_output=True, text=True, check=True)
    assert answer["structuredContent"]["digest"] == json.loads(printed.stdout)["digest"]
    assert "TTFT" in answer["content"][0]["text"]


def test_an_answer_for_every_request_whatever_order_they_end_in():
    answers = ask(*({"id": i, "method": "tools/call", "params": {"name": "run", "arguments": RUN}} for i in range(5)),
                  {"id": "last", "method": "ping"})
    assert sorted(str(answer["id"]) for answer in answers) == ["0", "1", "2", "3", "4", "last"]


def test_files_outside_the_root_are_not_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out.yaml").write_text("model: llama-3.1-8b\n")
    (tmp_path / "in" / "here.yaml").write_text(json.dumps(RUN))
    (tmp_path / "in" / "link.yaml").symlink_to(tmp_path / "out.yaml")

    def is_error(base):
        call = {"id": 1, "method": "tools/call", "params": {"name": "run", "arguments": {"base": base}}}
        return ask(call, root=tmp_path / "in")[0]["result"]["isError"]

    assert not is_error("here.yaml")
    for base in ("../out.yaml", "link.yaml", str(tmp_path / "out.yaml")):
        assert is_error(base), base


def test_a_root_that_is_not_there():
    done = subprocess.run([BINARY, "mcp", "--root", "no/such"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--root: \"no/such\"" in done.stderr


@pytest.fixture
def listening():
    process = subprocess.Popen([BINARY, "mcp", "--listen", "0"], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 0


def post(url, message, **headers):
    request = urllib.request.Request(url, json.dumps({"jsonrpc": "2.0", **message}).encode(), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.headers, answer.read().decode()


def test_http_sessions(listening):
    status, headers, body = post(listening, {"id": 1, "method": "initialize", "params": {}})
    assert (status, json.loads(body)["id"]) == (200, 1)
    session = {"Mcp-Session-Id": headers["Mcp-Session-Id"]}
    assert post(listening, {"method": "notifications/initialized"}, **session)[0] == 202
    call = {"id": 2, "method": "tools/call", "params": {"name": "run", "arguments": RUN}}
    assert json.loads(post(listening, call, **session)[2])["result"]["structuredContent"]["summary"]["completed"] == 40
    long = {**RUN, "workload": {**RUN["workload"], "num_prompts": 300000}}
    call["params"] = {"name": "run", "arguments": long, "_meta": {"progressToken": 1}}
    _, headers, body = post(listening, call, **session)
    events = [json.loads(line[len("data: "):]) for line in body.splitlines() if line.startswith("data: ")]
    assert headers["Content-Type"] == "text/event-stream"
    assert events[0]["method"] == "notifications/progress" and events[-1]["id"] == 2


@pytest.mark.parametrize(("headers", "status"), [({}, 400), ({"Mcp-Session-Id": "none"}, 404),
                                                 ({"Origin": "http://example.org"}, 403),
                                                 ({"Host": "example.org"}, 403)])
def test_http_refuses(listening, headers, status):
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(listening, {"id": 1, "method": "ping"}, **headers)
    assert refused.value.code == status


@pytest.mark.skipif(not os.environ.get("RIDGELINE_CLIENTS"), reason="clients are a stage of their own")
def test_the_official_python_client():
    mcp = pytest.importorskip("mcp")
    stdio = pytest.importorskip("mcp.client.stdio")

    async def session():
        heard = []

        async def progress(done, total, message):
            heard.append(done)

        server = mcp.StdioServerParameters(command=BINARY, args=["mcp"])
        async with stdio.stdio_client(server) as (reads, writes), mcp.ClientSession(reads, writes) as client:
            await client.initialize()
            for tool in (await client.list_tools()).tools:
                await client.call_tool(tool.name, {})
            long = {**RUN, "workload": {**RUN["workload"], "num_prompts": 300000}}
            answer = await client.call_tool("run", long, progress_callback=progress)
            assert heard == sorted(set(heard)) and heard
            return json.loads(answer.model_dump_json(by_alias=True))

    answer = asyncio.run(session())
    assert answer["structuredContent"]["summary"]["completed"] == 300000
    assert not answer["isError"]
