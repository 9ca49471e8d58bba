"""A server under test: started on a free port of the loopback address, and ended whatever happens."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time


class Server:
    """`ridgeline serve` with these words. Its address is read from the line that it prints."""

    def __init__(self, ridgeline, *words, env=None, preexec_fn=None):
        self.ridgeline = ridgeline
        self.lines = []
        self.process = subprocess.Popen(
            [*ridgeline.command(), "serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--port", "0", *map(str, words)],
            cwd=ridgeline.folder,
            env={**ridgeline.env, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=preexec_fn,
        )
        self.address = None
        self.started = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        assert self.started.wait(120), "the server did not start"
        assert self.address is not None, "".join(self.lines)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"^serving \S+ at http://([\d.]+):(\d+) ", line):
                self.address = (found[1], int(found[2]))
                self.started.set()
        self.started.set()

    def connect(self, timeout=60):
        return http.client.HTTPConnection(*self.address, timeout=timeout)

    def socket(self, timeout=60):
        return socket.create_connection(self.address, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, raw=None):
        """Status, headers and body of one request on a connection of its own."""
        connection = self.connect()
        try:
            data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
            headers = dict(headers or {})
            if data is not None and not any(name.lower() == "content-type" for name in headers):
                headers["Content-Type"] = "application/json"
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, dict((n.lower(), v) for n, v in answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        status, _, text = self.ask(method, path, body, headers)
        return status, json.loads(text)

    def events(self, path, body, headers=None):
        """The data of a stream's events, parsed; [DONE] as it is."""
        status, kept, text = self.ask("POST", path, {**body, "stream": True}, headers)
        assert status == 200, text
        assert kept["content-type"] == "text/event-stream; charset=utf-8"
        return parse_events(text)

    def metrics(self):
        """Samples by name and labels."""
        _, _, text = self.ask("GET", "/metrics")
        samples = {}
        for line in text.decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                samples[name] = float(value)
        return samples

    def total(self, name):
        return sum(value for key, value in self.metrics().items() if re.split(r"[{ ]", key)[0] == name)

    def finished(self, reason):
        return sum(
            value
            for key, value in self.metrics().items()
            if key.startswith("vllm:request_success_total") and f'finished_reason="{reason}"' in key
        )

    def stop(self, number=signal.SIGTERM):
        """Exit status and standard output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self, timeout=60):
        """The same, of a server that has got its signal."""
        out = self.process.stdout.read()
        self.process.wait(timeout)
        self.reader.join(timeout)
        return self.process.returncode, out

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        self.reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()


def parse_events(text):
    events = []
    for part in text.decode().split("\n\n"):
        if part:
            assert part.startswith("data: "), part
            data = part.removeprefix("data: ")
            events.append(data if data == "[DONE]" else json.loads(data))
    return events


@contextlib.contextmanager
def serving(ridgeline, *words, env=None, preexec_fn=None):
    server = Server(ridgeline, *words, env=env, preexec_fn=preexec_fn)
    try:
        yield server
    finally:
        server.end()


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


FAST = ("--speed", "50")
WORDS = "the and for this that with return you"


def digest_of(text):
    return re.search(r"^digest +([0-9a-f]{32})$", text, re.MULTILINE)[1]


def read_all(connection):
    data = b""
    try:
        while chunk := connection.recv(65536):
            data += chunk
    except ConnectionError:
        pass
    return data
