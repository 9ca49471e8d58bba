"""`ridgeline ui --listen`: the page is served and its calls are done, for this machine, this page and this token alone."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import BINARY

PAGE = ("<!doctype html><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:\">"
        "<body data-link=\"\" data-backend=\"\">")
RUN = {"model": "llama-3.1-8b", "gpu": "h100", "seed": 1,
       "workload": {"request_rate": 8, "num_prompts": 50, "input_len": 100, "output_len": 10}}
JSON = "application/json"


class Served:
    def __init__(self, folder, *words):
        program = folder / "bin" / "ridgeline"
        if not program.exists():
            program.parent.mkdir()
            shutil.copy(BINARY, program)
            (program.parent / "ui.html").write_text(PAGE)
        self.process = subprocess.Popen([program, "ui", "--listen", "0", *map(str, words)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=folder)
        self.url = self.process.stdout.readline().strip()
        place, fragment = self.url.split("/#")
        self.host = place.removeprefix("http://")
        self.port = int(self.host.rpartition(":")[2])
        self.token = fragment.removeprefix("token=").split("&")[0]

    def ask(self, method="POST", path="/call/run", body=None, without=(), **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {"Host": self.host, "X-Ridgeline-Token": self.token, "Content-Type": JSON}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        for name in without:
            sent.pop(name)
        text = body if isinstance(body, (str, bytes)) else json.dumps(RUN if body is None else body)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(text)))
        connection.endheaders()
        try:
            connection.send(text.encode() if isinstance(text, str) else text)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=30)


@pytest.fixture()
def served(tmp_path):
    found = []

    def start(*words):
        found.append(Served(tmp_path, *words))
        return found[-1]

    yield start
    for server in found:
        server.process.kill()
        server.process.wait()


def test_the_page_and_its_calls(served, ridgeline):
    server = served("--model", "qwen3-8b", "--gpu", "h200", "--request-rate", "2", "--input-len", "9", "--output-len", "9")
    assert len(server.token) == 32 and "model=qwen3-8b" in server.url
    status, page, headers = server.ask("GET", "/", "", without=("X-Ridgeline-Token", "Content-Type"))
    assert status == 200 and 'data-backend="native"' in page and "connect-src 'self'" in page
    assert headers["X-Content-Type-Options"] == "nosniff" and "no-store" in headers["Cache-Control"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert not any(name.lower().startswith("access-control") for name in headers)
    status, text, _ = server.ask(body={**RUN, "keep": ["figures"]})
    answer = json.loads(text)
    words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--seed", "1", "--request-rate", "8", "--num-prompts", "50",
             "--input-len", "100", "--output-len", "10"]
    native = json.loads(ridgeline("run", *words, "--format", "json").stdout)
    assert status == 200 and answer["code"] == 0 and answer["tree"]["digest"] == native["digest"]
    assert "TTFT" in answer["text"] and len(answer["figures"]) >= 5 and answer["figures"][0]["svg"].startswith("<svg")
    status, text, _ = server.ask(path="/call/list", body={"kind": "gpus"})
    assert status == 200 and "h100" in [row["name"] for row in json.loads(text)]
    status, text, _ = server.ask(body={"model": "no-such"})
    assert status == 200 and json.loads(text)["errors"]
    out, err = server.end()
    assert server.process.returncode == 0 and err == ""


REFUSED = {
    "another host": (403, {"Host": "evil.example:80"}),
    "a name that leads here": (403, {"Host": "rebound.example:{port}"}),
    "our name with another port": (403, {"Host": "127.0.0.1:1"}),
    "another origin": (403, {"Origin": "http://evil.example"}),
    "the origin of a file": (403, {"Origin": "null"}),
    "our origin by https": (403, {"Origin": "https://127.0.0.1:{port}"}),
    "a page of another site": (403, {"Sec_Fetch_Site": "cross-site"}),
    "a wrong token": (401, {"X_Ridgeline_Token": "0" * 32}),
    "an empty token": (401, {"X_Ridgeline_Token": ""}),
    "a type that a form can send": (415, {"Content_Type": "text/plain"}),
    "a form": (415, {"Content_Type": "multipart/form-data"}),
}


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "root").mkdir()
    (folder / "root" / "mine.yaml").write_text(json.dumps(RUN))
    (folder / "secret.yaml").write_text(json.dumps(RUN))
    os.symlink(folder / "secret.yaml", folder / "root" / "link.yaml")
    server = Served(folder, "--root", folder / "root")
    server.folder = folder
    yield server
    server.process.kill()
    server.process.wait()


@pytest.mark.parametrize("case", REFUSED)
def test_other_pages_get_nothing(one, case):
    wanted, headers = REFUSED[case]
    found, text, _ = one.ask(**{name: value.format(port=one.port) for name, value in headers.items()})
    assert (found, text) == (wanted, "")


def test_without_a_token_or_a_host_nothing_is_run(one):
    assert one.ask(without=("X-Ridgeline-Token",))[:2] == (401, "")
    assert one.ask(without=("Content-Type",))[:2] == (415, "")
    assert one.ask(without=("Host",))[0] in (400, 403)
    assert one.ask("GET", "/call/run", "")[:2] == (405, "")
    assert one.ask("POST", "/")[:2] == (405, "")
    assert one.ask("OPTIONS", "/call/run", "", Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("path", ["/../secret.yaml", "/secret.yaml", "/call/", "/call/validate", "/call/../run",
                                  "/call/run/..", "/%2e%2e/secret.yaml", "//", "/call/report"])
def test_paths_lead_nowhere(one, path):
    status, text, _ = one.ask(path=path)
    assert status in (400, 404) and RUN["model"] not in text


def test_large_and_broken_bodies_are_refused(one):
    assert one.ask(body=json.dumps({**RUN, "set": {"x": "y" * 2**21}}))[0] == 413
    for body in ("", "{", "[]", "null", b"\xff\xfe", "[" * 100_000):
        assert one.ask(body=body)[0] in (400, 413), body[:10]


def test_files_lie_below_the_root(one):
    base = {"base": "mine.yaml"}
    assert json.loads(one.ask(body=base)[1])["tree"]["summary"]["completed"] == 50
    for outside in ("../secret.yaml", str(one.folder / "secret.yaml"), "link.yaml", "./../secret.yaml", "-",
                    "/dev/stdin", "/proc/self/environ", "mine.yaml/../../secret.yaml"):
        assert one.ask(body={"base": outside})[:2] == (403, ""), outside
        assert one.ask(body={**RUN, "workload": {"trace": outside}})[:2] == (403, ""), outside
    assert one.ask(body={**RUN, "model": f"x:{one.folder}/secret.yaml"})[0] == 403
    assert one.ask(body={"base": "not-there.yaml"})[0] == 200  # An error of the library, with its field.


def test_without_a_root_there_are_no_files(served, tmp_path):
    (tmp_path / "mine.yaml").write_text(json.dumps(RUN))
    server = served()
    assert "errors" in json.loads(server.ask(body={"base": "mine.yaml"})[1])
    assert server.ask(body={"base": str(tmp_path / "mine.yaml")})[0] == 403


def test_a_run_ends_when_its_client_goes(served):
    server = served()
    long = json.dumps({**RUN, "percentiles": "sketch", "workload": {**RUN["workload"], "num_prompts": 40_000_000}})
    for _ in range(6):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall((f"POST /call/run HTTP/1.1\r\nHost: {server.host}\r\nX-Ridgeline-Token: {server.token}\r\n"
                            f"Content-Type: {JSON}\r\nContent-Length: {len(long)}\r\n\r\n{long}").encode())
            time.sleep(0.2)
    end = time.monotonic() + 30
    while server.ask()[0] == 503:  # As long as one of them goes on on every core.
        assert time.monotonic() < end
        time.sleep(0.1)
    server.end()
    assert server.process.returncode == 0


def test_too_many_calls_at_once_are_turned_away(served):
    server = served()
    long = json.dumps({**RUN, "percentiles": "sketch", "workload": {**RUN["workload"], "num_prompts": 40_000_000}})
    clients = []
    for _ in range(os.cpu_count() or 1):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall((f"POST /call/run HTTP/1.1\r\nHost: {server.host}\r\nX-Ridgeline-Token: {server.token}\r\n"
                        f"Content-Type: {JSON}\r\nContent-Length: {len(long)}\r\n\r\n{long}").encode())
        clients.append(client)
    time.sleep(0.5)
    assert server.ask()[:2] == (503, "")
    for client in clients:
        client.close()


@pytest.mark.parametrize("words, said", [(("--listen", "x"), "--listen"), (("--listen", "70000"), "--listen"),
                                         (("--listen", "0", "--root", "no/such"), "--root")])
def test_wrong_words(ridgeline, tmp_path, words, said):
    program = tmp_path / "bin" / "ridgeline"
    program.parent.mkdir()
    shutil.copy(BINARY, program)
    (program.parent / "ui.html").write_text(PAGE)
    done = subprocess.run([program, "ui", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and said in done.stderr and done.stdout == ""


# What another machine would see: a network of its own, joined to this one by a wire.
ADDRESSES = {"here": "198.18.0.1", "there": "198.18.0.2"}  # RFC 2544's benchmark network.
CONNECT = """
import socket, sys
for address in sys.argv[2:]:
    try:
        socket.create_connection((address, int(sys.argv[1])), timeout=3).close()
        print(address, "reached")
    except OSError:
        print(address, "refused")
"""


@pytest.fixture()
def network():
    """The process number that another network namespace goes by."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "nsenter"))):
        pytest.skip("needs root, iproute2 and util-linux")
    other = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec sleep 120"], stdout=subprocess.PIPE, text=True)
    other.stdout.readline()
    inside = ["nsenter", "--net", "--target", str(other.pid)]
    wire = f"rl{other.pid % 100_000}"
    steps = [["ip", "link", "add", wire, "type", "veth", "peer", "name", "there", "netns", str(other.pid)],
             ["ip", "address", "add", f"{ADDRESSES['here']}/30", "dev", wire], ["ip", "link", "set", wire, "up"],
             [*inside, "ip", "address", "add", f"{ADDRESSES['there']}/30", "dev", "there"],
             [*inside, "ip", "link", "set", "there", "up"], [*inside, "ip", "link", "set", "lo", "up"]]
    try:
        for step in steps:
            if subprocess.run(step, capture_output=True).returncode != 0:
                pytest.skip(f"this kernel refuses {' '.join(step)}")
        yield inside
    finally:
        subprocess.run(["ip", "link", "del", wire], capture_output=True)
        other.kill()
        other.wait()


def test_no_other_network_reaches_it(served, network):
    server = served()
    open_to_all = socket.create_server(("0.0.0.0", 0))

    def said(port):
        run = subprocess.run([*network, "python3", "-c", CONNECT, str(port), ADDRESSES["here"], "127.0.0.1"],
                             capture_output=True, text=True, timeout=60, check=True)
        return run.stdout.split("\n")[:-1]

    with open_to_all:  # The wire holds.
        assert said(open_to_all.getsockname()[1]) == [f"{ADDRESSES['here']} reached", "127.0.0.1 refused"]
    assert said(server.port) == [f"{ADDRESSES['here']} refused", "127.0.0.1 refused"]
    assert server.ask()[0] == 200
