#!/usr/bin/env python3
"""Loads `ridgeline serve` on the loopback address, and prints ratios that mean something on a shared machine.

    bench/serve.py BINARY [S1 S2 S3 S4 S5] [--scale 0.1] [--client observe]

Per load: events a second, CPU per event of the server against a bare sender of as many bytes to as many connections
in as many bursts a second (bare_sender.cpp), lateness against that sender's, memory, and whether every stream ended.
`--scale` takes that share of the streams. The client is a reader of this file, or `ridgeline observe`.
"""

import argparse
import json
import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOADS = {
    # name: streams, instances, seats of each, tokens a second of a stream, tokens of a stream, flags
    "S1": (10_000, 10, 256, 20, 100, ()),
    "S2": (2_000, 8, 250, 50, 200, ()),
    "S3": (10_000, 40, 250, 50, 500, ("--stream-interval", "10")),
    "S4": (10_000, 40, 250, 50, 100, ("--uds",)),
    "S5": (256, 1, 256, 50, 200, ()),
}
PROMPT_TOKENS = 4
EVENT_BYTES = 280  # About, for a completion's token.
ARRIVALS_PER_SECOND = 5000
GOAL_CPU, GOAL_LATENESS, GOAL_MIB = 1.3, 1.5, 96


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def compile_bare_sender(folder):
    binary = f"{folder}/bare_sender"
    source = Path(__file__).with_name("bare_sender.cpp")
    subprocess.run(["c++", "-O2", "-std=c++20", "-o", binary, str(source)], check=True)
    return binary


def lateness_ms(page, quantile):
    """A quantile of a server's lateness, as Prometheus finds it: linear within a bucket. None beyond the last one."""
    name = "ridgeline:emission_lateness_seconds"
    buckets = re.findall(rf'^{name}_bucket{{le="([^"]+)"}} (\S+)$', page, re.MULTILINE)
    buckets = [(float(bound), float(count)) for bound, count in buckets]
    wanted = quantile * buckets[-1][1]
    below, seen = 0.0, 0.0
    for bound, count in buckets:
        if count >= wanted:
            return None if bound == float("inf") else (below + (bound - below) * (wanted - seen) / (count - seen)) * 1e3
        below, seen = bound, count
    return None


class Load:
    def __init__(self, binary, name, scale):
        streams, instances, self.seats, rate, self.tokens, flags = LOADS[name]
        self.streams = max(int(streams * scale), 1)
        self.instances = max(int(instances * scale), 1)
        self.rate = rate
        self.flags = [flag for flag in flags if flag != "--uds"]
        self.uds = "--uds" in flags
        self.binary = binary

    def start(self, folder):
        self.path = f"{folder}/serve.sock"
        where = ["--uds", self.path] if self.uds else ["--port", "0"]
        # The time of a step is set alone: the load is of the server, not of a GPU.
        words = ["--model", "llama-3.1-8b", "--generation-config", "vllm", "--gpu", "h100", "--max-model-len", "1024", "--request-path", "on"]
        words += ["--instances", self.instances, "--router", "least-request"]
        words += ["--max-num-seqs", self.seats, "--num-gpu-blocks", 64 * self.seats + 1, "--max-num-batched-tokens", 65_536]
        words += ["--host-step-time", f"{1 / self.rate}s", "--async-scheduling", "true", "--frontend-output-time", "0s"]
        words += ["--frontend-time", "0s", "--host-sequence-time", "0s"]
        self.process = subprocess.Popen(
            [self.binary, "serve", *map(str, words), *where, *self.flags, "--format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in self.process.stderr:
            if found := re.match(r"serving \S+ at (?:http://([\d.]+):(\d+)|unix:)", line):
                self.address = self.path if self.uds else (found[1], int(found[2]))
                return
        sys.exit("bench: the server did not start")

    def connect(self):
        one = socket.socket(socket.AF_UNIX if self.uds else socket.AF_INET)
        one.connect(self.address)
        return one

    def page(self):
        """The server's metrics."""
        with self.connect() as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            data = b""
            while more := one.recv(1 << 16):
                data += more
        return data.decode()

    def arrivals(self):
        """When each stream is opened: at first one for each instance, so that their steps do not begin together."""
        first = [i / self.rate / self.instances for i in range(self.instances)]
        rest = range(self.streams - self.instances)
        return first + [1 / self.rate + i / ARRIVALS_PER_SECOND for i in rest]

    def read_streams(self):
        """Opens all streams, and reads them to their end. How many were whole."""
        body = {"prompt": " ".join(["the"] * PROMPT_TOKENS), "max_tokens": self.tokens, "ignore_eos": True, "stream": True}
        body = json.dumps(body).encode()
        request = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        request += b"Content-Length: %d\r\n\r\n" % len(body) + body
        selector = selectors.DefaultSelector()
        done = complete = 0
        began = time.monotonic()
        for at in self.arrivals():
            time.sleep(max(0.0, began + at - time.monotonic()))
            one = self.connect()
            one.sendall(request)
            one.setblocking(False)
            selector.register(one, selectors.EVENT_READ, [b""])
        while done < self.streams:
            for key, _ in selector.select(1):
                try:
                    data = key.fileobj.recv(1 << 18)
                except BlockingIOError:
                    continue
                if data:
                    key.data[0] = (key.data[0] + data)[-64:]
                    continue
                complete += b"[DONE]" in key.data[0]
                done += 1
                selector.unregister(key.fileobj)
                key.fileobj.close()
        return complete

    def observe(self, workers):
        """The same by `ridgeline observe`."""
        target = f"unix:{self.path}" if self.uds else "http://%s:%d" % self.address
        rows = "".join(f"{at:.6f},{PROMPT_TOKENS},{self.tokens}\n" for at in self.arrivals())
        trace = Path(f"{self.path}.csv")
        trace.write_text("arrival_s,input_tokens,output_tokens\n" + rows)
        words = ["--trace", trace, "--max-rate", 1_000_000, "--workers", workers, "--scrape", "0"]
        words += ["-o", f"{self.path}.jsonl", "--format", "json"]
        done = subprocess.run([self.binary, "observe", target, *map(str, words)], stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        if found["output_tokens"] != self.streams * self.tokens:
            sys.exit(f"bench: {found['output_tokens']} tokens came, {found['errors']}")
        return found["completed"]

    def run(self, folder, client, workers):
        self.start(folder)
        began = time.monotonic()
        cpu_before = cpu_seconds(self.process.pid)
        complete = self.observe(workers) if client == "observe" else self.read_streams()
        took = time.monotonic() - began
        cpu = cpu_seconds(self.process.pid) - cpu_before
        memory = peak_memory(self.process.pid)
        page = self.page()
        self.process.terminate()
        out, _ = self.process.communicate(timeout=120)
        interval = int(self.flags[1]) if self.flags else 1
        events = self.streams * (-(-(self.tokens - 1) // interval) + 1)
        return {
            "complete": complete,
            "events": events,
            "events_per_s": events / took,
            "cpu_us": cpu / events * 1e6,
            "cores": cpu / took,
            "lateness_p50_ms": lateness_ms(page, 0.5),
            "lateness_p99_ms": lateness_ms(page, 0.99),
            "merged": json.loads(out)["merged_events"],
            "mib": memory,
        }

    def bare(self, sender, folder):
        """The same bytes without a server: as many connections, bursts and bursts a second, for five seconds."""
        interval = int(self.flags[1]) if self.flags else 1
        rate = self.rate * self.instances / interval
        where = f"{folder}/bare.sock" if self.uds else "tcp"
        burst = min(self.seats, self.streams // self.instances)
        words = [sender, self.streams, burst, EVENT_BYTES, rate, int(5 * rate), where]
        return json.loads(subprocess.run([*map(str, words)], check=True, stdout=subprocess.PIPE).stdout)


def ratio(value, reference):
    return "-" if value is None else f"{value / reference:.2f}"


def ms(value):
    return "> 1000" if value is None else f"{value:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("loads", nargs="*", default=list(LOADS), help="S1 to S5")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--client", choices=["reader", "observe"], default="reader")
    parser.add_argument("--workers", type=int, default=1, help="of observe")
    words = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name in words.loads:
        load = Load(words.binary, name, words.scale)
        with tempfile.TemporaryDirectory() as folder:
            sender = compile_bare_sender(folder)
            found = load.run(folder, words.client, words.workers)
            bare = load.bare(sender, folder)
        print(
            f"{name}: {found['complete']} of {load.streams} streams whole, {found['events_per_s']:.0f} events/s, "
            f"{found['cores']:.2f} cores, {found['merged']} merged, {found['mib']:.0f} MiB (goal {GOAL_MIB})\n"
            f"    CPU of an event {found['cpu_us']:.2f} us, of a bare send {bare['cpu_us']:.2f} us: "
            f"{ratio(found['cpu_us'], bare['cpu_us'])} (goal {GOAL_CPU})\n"
            f"    lateness p50 {ms(found['lateness_p50_ms'])} ms, p99 {ms(found['lateness_p99_ms'])} ms; of bare bursts "
            f"{bare['lateness_p50_ms']:.2f} and {bare['lateness_p99_ms']:.2f} ms: p99 "
            f"{ratio(found['lateness_p99_ms'], bare['lateness_p99_ms'])} (goal {GOAL_LATENESS})"
        )


if __name__ == "__main__":
    main()
