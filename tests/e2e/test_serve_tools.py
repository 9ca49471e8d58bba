"""Tools of operators with `ridgeline serve`: proxies in front, Prometheus, slow clients by the thousand. Each test is
skipped where its tool is not installed; those that take long run as `.ci/run clients` alone."""

import concurrent.futures
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from conftest import SANITIZED
from serving import FAST, WORDS, parse_events, serving, wait_for

long_one = pytest.mark.skipif(not os.environ.get("RIDGELINE_CLIENTS"), reason="takes long: .ci/run clients")


def needs(tool):
    # Debian keeps servers where an ordinary user's PATH does not look.
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


HAPROXY = """
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend f
  bind 127.0.0.1:{port}
  default_backend b
backend b
  balance roundrobin
  option httpchk GET /health
{servers}
"""
NGINX = """
daemon off;
pid nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  upstream b {{ {servers} keepalive 8; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""


def start_proxy(kind, folder, ports):
    port = free_port()
    if kind == "haproxy":
        servers = "\n".join(f"  server s{i} 127.0.0.1:{one} check inter 1s" for i, one in enumerate(ports))
        (folder / "haproxy.cfg").write_text(HAPROXY.format(port=port, servers=servers))
        command = [needs("haproxy"), "-db", "-f", "haproxy.cfg"]
    else:
        servers = " ".join(f"server 127.0.0.1:{one};" for one in ports)
        (folder / "nginx.conf").write_text(NGINX.format(port=port, servers=servers))
        command = [needs("nginx"), "-p", str(folder), "-c", "nginx.conf"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process, port


@pytest.mark.parametrize("kind", ["haproxy", "nginx"])
def test_a_proxy_in_front_of_a_port_for_each(ridgeline, kind):
    needs(kind)
    with serving(ridgeline, "--instances", "2", "--listen", "each") as server:
        wait_for(lambda: sum("serving " in line for line in server.lines) == 2)
        ports = [int(port) for port in re.findall(r"at http://127.0.0.1:(\d+) as", "".join(server.lines))]
        process, port = start_proxy(kind, ridgeline.folder, ports)
        try:
            wait_for(lambda: is_open(port))
            server.address = ("127.0.0.1", port)
            # A stream flows: its first event is there long before its last one.
            connection = server.connect()
            body = json.dumps({"prompt": WORDS, "max_tokens": 100, "ignore_eos": True, "stream": True})
            start = time.monotonic()
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            first = answer.readline()
            first_at = time.monotonic() - start
            events = parse_events(first + answer.read())
            whole_at = time.monotonic() - start
            connection.close()
            assert len(events) == 101 and events[-1] == "[DONE]"
            assert first_at < 0.5 * whole_at, (first_at, whole_at)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                ask = lambda _: server.json("POST", "/v1/completions", {"prompt": "the", "max_tokens": 2})[0]
                assert set(pool.map(ask, range(16))) == {200}
            # A client that goes is an abort behind the proxy too.
            connection = server.connect()
            body = json.dumps({"prompt": WORDS, "max_tokens": 100_000, "ignore_eos": True, "stream": True})
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.readline()
            answer.close()
            connection.close()
            aborts = [0, 0]
            served = [0, 0]

            def is_aborted():
                for i, one in enumerate(ports):
                    server.address = ("127.0.0.1", one)
                    aborts[i] = server.finished("abort")
                    served[i] = server.total("vllm:request_success_total")
                return sum(aborts) == 1

            wait_for(is_aborted)
            assert min(served) >= 8
        finally:
            process.terminate()
            process.wait(30)


PROMETHEUS = """
global: {{scrape_interval: 50ms, scrape_timeout: 50ms}}
scrape_configs:
  - job_name: vllm
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
# What vLLM's Grafana boards, KEDA and llm-d's endpoint picker ask for.
QUERIES = [
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "histogram_quantile(0.99, sum by(le) (rate(vllm:e2e_request_latency_seconds_bucket[5s])))",
    "histogram_quantile(0.95, sum by(le) (rate(vllm:time_to_first_token_seconds_bucket[5s])))",
    "histogram_quantile(0.5, sum by(le) (rate(vllm:inter_token_latency_seconds_bucket[5s])))",
    "rate(vllm:e2e_request_latency_seconds_sum[5s]) / rate(vllm:e2e_request_latency_seconds_count[5s])",
    "rate(vllm:prompt_tokens_total[5s])",
    "rate(vllm:generation_tokens_total[5s])",
    "sum by(finished_reason) (increase(vllm:request_success_total[5s]))",
    "sum by(le) (increase(vllm:request_prompt_tokens_bucket[5s]))",
    "sum by(le) (increase(vllm:request_generation_tokens_bucket[5s]))",
    "rate(vllm:request_queue_time_seconds_sum[5s])",
    "rate(vllm:request_prefill_time_seconds_sum[5s])",
    "rate(vllm:request_decode_time_seconds_sum[5s])",
    "vllm:request_max_num_generation_tokens_sum",
    "vllm:iteration_tokens_total_count",
    "vllm:cache_config_info",
]


def test_prometheus_scrapes_and_answers(ridgeline):
    prometheus = needs("prometheus")
    with serving(ridgeline) as server:
        port = free_port()
        ridgeline.write("prometheus.yml", PROMETHEUS.format(port=server.address[1]))
        command = [prometheus, "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}"]
        process = subprocess.Popen(
            [*command, "--storage.tsdb.path=data"],
            cwd=ridgeline.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: is_open(port), 60)

            def ask(query):
                url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
                try:
                    with urllib.request.urlopen(url, timeout=30) as answer:
                        return json.load(answer)["data"]["result"]
                except urllib.error.HTTPError as error:
                    assert error.code == 503, query  # It is starting.
                    return []

            wait_for(lambda: ask("up"))  # Some 5 s after its start.
            tokens = 0
            end = time.monotonic() + 4
            while time.monotonic() < end:
                _, answer = server.json("POST", "/v1/completions", {"prompt": WORDS, "max_tokens": 10})
                tokens += answer["usage"]["completion_tokens"]

            for query in QUERIES:
                wait_for(lambda query=query: ask(query), 10)
            wait_for(lambda: float(ask("vllm:generation_tokens_total")[0]["value"][1]) == tokens, 10)
            # 80 in these 4 s where the machine has time for it.
            assert float(ask("count_over_time(vllm:num_requests_running[60s])")[0]["value"][1]) >= 20
        finally:
            process.terminate()
            process.wait(30)


@long_one
@pytest.mark.parametrize("words", [("-H",), ("-B",), ("-X", "-z", "32")])
def test_slow_clients_do_not_hold_the_server(ridgeline, words):
    """slowhttptest: 500 connections with slow heads, slow bodies, slow reading, for 20 s."""
    slow = needs("slowhttptest")
    with serving(ridgeline, *FAST) as server:
        target = "http://%s:%d/v1/completions" % server.address
        command = [slow, *words, "-c", "500", "-r", "200", "-i", "5", "-l", "20", "-u", target]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            took = []
            while process.poll() is None:
                start = time.monotonic()
                assert server.json("POST", "/v1/completions", {"prompt": "the", "max_tokens": 2})[0] == 200
                took.append(time.monotonic() - start)
                time.sleep(0.05)
            process.stdout.read()
        took.sort()
        assert took[len(took) // 2] < 0.5, took[-5:]
        status = open(f"/proc/{server.process.pid}/status", encoding="ascii").read()
        if not SANITIZED:
            assert int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) < 200 * 1024
        wait_for(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) < 30, 90)


@long_one
def test_connections_beyond_the_limit_are_turned_away(ridgeline):
    with serving(ridgeline, *FAST, "--max-connections", "100") as server:
        held = [server.socket() for _ in range(100)]
        status, headers, _ = server.ask("GET", "/health")
        assert (status, headers["retry-after"]) == (503, "1")
        for one in held:
            one.close()
        wait_for(lambda: server.ask("GET", "/health")[0] == 200)
