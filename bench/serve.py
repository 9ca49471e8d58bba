#!/usr/bin/env python3
"""Loads `ridgeline serve` on the loopback address, and prints ratios that mean something on a shared machine.

    bench/serve.py BINARY [S1 S2 S3 S4 S5] [--scale 0.1] [--seconds 10]

Per load: events a second, CPU per event of the server against a bare sender of as many bytes to as many connections
in as many bursts a second (through Python, which adds to it), lateness, memory, and whether every stream ended. `--scale` takes that share of the streams.
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
    # name: streams, seats of the engine, tokens a second of a stream, flags
    "S1": (10_000, 2_560, 20, ()),
    "S2": (2_000, 2_000, 50, ()),
    "S3": (10_000, 10_000, 50, ("--stream-interval", "10")),
    "S4": (10_000, 10_000, 50, ("--uds",)),
    "S5": (256, 256, 50, ()),
}
TOKENS = 100


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def bare_cost(sockets, rate, size=280, rounds=50):
    """CPU seconds of one send of `size` bytes, to each of so many connections in turn, which another process reads.

    A round begins `rate` times a second, as the server's steps do: between two of them the reader sleeps and the
    caches cool. Where a round takes longer than that, the next one begins at once.
    """
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    pid = os.fork()
    if pid == 0:
        selector = selectors.DefaultSelector()
        for _ in range(sockets):
            selector.register(listener.accept()[0], selectors.EVENT_READ)
        left = sockets
        while left:
            for key, _ in selector.select():
                if not key.fileobj.recv(1 << 16):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
                    left -= 1
        os._exit(0)
    senders = [socket.create_connection(listener.getsockname()) for _ in range(sockets)]
    for sender in senders:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b"x" * size
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    for i in range(rounds):
        time.sleep(max(0.0, began + i / rate - time.monotonic()))
        for sender in senders:
            sender.send(data)
    after = resource.getrusage(resource.RUSAGE_SELF)
    for sender in senders:
        sender.close()
    os.waitpid(pid, 0)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / (sockets * rounds)


class Load:
    def __init__(self, binary, name, scale):
        streams, seats, rate, flags = LOADS[name]
        self.name = name
        self.streams = max(int(streams * scale), 1)
        self.seats = max(int(seats * scale), 1)
        self.rate = rate
        self.flags = [flag for flag in flags if flag != "--uds"]
        self.uds = "--uds" in flags
        self.binary = binary

    def start(self, folder):
        self.path = f"{folder}/serve.sock"
        where = ["--uds", self.path] if self.uds else ["--port", "0"]
        # The time of a step is set alone: the load is of the server, not of a GPU.
        words = ["--model", "llama-3.1-8b", "--gpu", "h100", "--max-model-len", "1024", "--request-path", "on"]
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

    def run(self, folder):
        self.start(folder)
        body = json.dumps({"prompt": "the and for this", "max_tokens": TOKENS, "ignore_eos": True, "stream": True}).encode()
        request = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        request += b"Content-Length: %d\r\n\r\n" % len(body) + body
        selector = selectors.DefaultSelector()
        began = time.monotonic()
        cpu_before = cpu_seconds(self.process.pid)
        bytes_read = done = complete = 0
        for _ in range(self.streams):
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
                bytes_read += len(data)
                if data:
                    key.data[0] = (key.data[0] + data)[-64:]
                    continue
                complete += b"[DONE]" in key.data[0]
                done += 1
                selector.unregister(key.fileobj)
                key.fileobj.close()
        took = time.monotonic() - began
        cpu = cpu_seconds(self.process.pid) - cpu_before
        memory = peak_memory(self.process.pid)
        self.process.terminate()
        out, _ = self.process.communicate(timeout=120)
        result = json.loads(out)
        interval = int(self.flags[1]) if self.flags else 1
        events = self.streams * (TOKENS // interval + (1 if interval > 1 else 0))
        return {
            "streams": self.streams,
            "complete": complete,
            "events": events,
            "events_per_s": events / took,
            "cpu_us_per_event": cpu / events * 1e6,
            "cores": cpu / took,
            "bytes_per_event": bytes_read / events,
            "lateness_p50_ms": result["lateness_p50_s"] * 1e3,
            "lateness_p99_ms": result["lateness_p99_s"] * 1e3,
            "merged": result["merged_events"],
            "rss_mib": memory,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("loads", nargs="*", default=list(LOADS), help="S1 to S5")
    parser.add_argument("--scale", type=float, default=1.0)
    words = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    del soft
    for name in words.loads:
        load = Load(words.binary, name, words.scale)
        bare = bare_cost(load.seats, load.rate)
        with tempfile.TemporaryDirectory() as folder:
            found = load.run(folder)
        print(
            f"{name}: {found['complete']} of {found['streams']} streams whole, {found['events_per_s']:.0f} events/s, "
            f"{found['cpu_us_per_event']:.1f} us of CPU each ({found['cpu_us_per_event'] / (bare * 1e6):.2f} of a bare send's {bare * 1e6:.1f}), "
            f"{found['cores']:.2f} cores, lateness p50 <= {found['lateness_p50_ms']:g} ms, p99 <= {found['lateness_p99_ms']:g} ms, "
            f"{found['merged']} merged, {found['rss_mib']:.0f} MiB"
        )


if __name__ == "__main__":
    main()
