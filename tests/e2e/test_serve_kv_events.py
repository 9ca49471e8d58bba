"""KV events of `ridgeline serve` as subscribers of vLLM read them: frames, batches, replays, and the law that what
they tell is what the prefix cache has."""

import collections
import contextlib
import json
import re
import socket
import struct
import time

import pytest

from serving import FAST, WORDS, serving, wait_for

zmq = pytest.importorskip("zmq")
BLOCK = 16


def unpack(data):
    """The value that MessagePack bytes hold: the kinds that events have."""
    at = 0

    def take(count):
        nonlocal at
        at += count
        assert at <= len(data)
        return data[at - count : at]

    def value():
        tag = take(1)[0]
        if tag <= 0x7F:
            return tag
        if tag & 0xF0 == 0x90:
            return [value() for _ in range(tag & 0x0F)]
        if tag & 0xE0 == 0xA0:
            return take(tag & 0x1F).decode()
        if tag == 0xC0:
            return None
        if tag == 0xCB:
            return struct.unpack(">d", take(8))[0]
        if tag in (0xCC, 0xCD, 0xCE, 0xCF):
            return int.from_bytes(take(1 << (tag - 0xCC)), "big")
        if tag in (0xD9, 0xDA):
            return take(int.from_bytes(take(tag - 0xD8), "big")).decode()
        assert tag in (0xDC, 0xDD), hex(tag)
        return [value() for _ in range(int.from_bytes(take(2 if tag == 0xDC else 4), "big"))]

    result = value()
    assert at == len(data)
    return result


class Index:
    """What a router makes of the events: blocks by hash, and prefixes by their tokens."""

    def __init__(self):
        self.counts = collections.Counter()
        self.next = {}  # (hash of the parent, tokens of the block) to its hash
        self.last_time = 0.0

    def take(self, batch):
        moment, events, self.rank = batch
        assert moment >= self.last_time - 0.001
        self.last_time = moment
        for name, *fields in events:
            if name == "BlockStored":
                hashes, parent, tokens, size, *_ = fields
                assert size == BLOCK and len(tokens) == BLOCK * len(hashes)
                for i, own in enumerate(hashes):
                    self.counts[own] += 1
                    self.next[parent, tuple(tokens[i * BLOCK : (i + 1) * BLOCK])] = own
                    parent = own
            elif name == "BlockRemoved":
                for own in fields[0]:
                    assert self.counts[own] > 0
                    self.counts[own] -= 1
            else:
                assert name == "AllBlocksCleared"
                self.counts.clear()

    def cached(self, ids):
        """Tokens of a prompt that vLLM would not compute: whole blocks, less than all of it."""
        parent = None
        blocks = 0
        while (blocks + 1) * BLOCK < len(ids):
            parent = self.next.get((parent, tuple(ids[blocks * BLOCK : (blocks + 1) * BLOCK])))
            if parent is None or not self.counts[parent]:
                break
            blocks += 1
        return blocks * BLOCK


class Subscriber:
    def __init__(self, context, endpoint, topic=b""):
        self.socket = context.socket(zmq.SUB)
        self.socket.setsockopt(zmq.SUBSCRIBE, topic)
        self.socket.connect(endpoint)
        self.index = Index()
        self.batches = {}

    def poll(self):
        while self.socket.poll(0):
            topic, number, batch = self.socket.recv_multipart()
            number = int.from_bytes(number, "big")
            assert number not in self.batches
            self.batches[number] = (topic, batch)
            self.index.take(unpack(batch))


@pytest.fixture
def context():
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


def free_ports(count):
    """So many in a row that nothing listens at."""
    for _ in range(100):
        with contextlib.ExitStack() as sockets, contextlib.suppress(OSError, OverflowError):
            first = 0
            for i in range(count):
                one = sockets.enter_context(socket.socket())
                one.bind(("127.0.0.1", first + i if i else 0))
                first = first or one.getsockname()[1]
            return first
    raise AssertionError("no free ports")


def events_flag(port, **more):
    return "--kv-events-config", json.dumps(
        {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": f"tcp://*:{port}", **more}
    )


def ask(server, ids, tokens=20, **more):
    status, answer = server.json(
        "POST", "/v1/completions", {"prompt": ids, "max_tokens": tokens, "ignore_eos": True, "return_token_ids": True, **more}
    )
    assert status == 200, answer
    return answer["choices"][0]["token_ids"], (answer["usage"].get("prompt_tokens_details") or {}).get("cached_tokens", 0)


def settle(server, subscriber):
    """Waits until the events of all that has ended are here."""
    wait_for(lambda: server.total("vllm:num_requests_running") == 0)
    time.sleep(0.05)
    subscriber.poll()


def test_events_are_the_prefix_cache(ridgeline, context):
    port = free_ports(2)
    words = (*FAST, "--engine-version", "vllm@0.20", "--num-gpu-blocks-override", "60", "--enable-prompt-tokens-details")
    flag = events_flag(port, topic="kv@pod@model", replay_endpoint=f"tcp://*:{port + 1}")
    with serving(ridgeline, *words, *flag, env={"VLLM_SERVER_DEV_MODE": "1"}) as server:
        assert any(line.startswith(f"KV events at tcp://127.0.0.1:{port}") for line in server.lines)
        subscriber = Subscriber(context, f"tcp://127.0.0.1:{port}", b"kv@pod")
        wait_for(lambda: warm(server, subscriber))
        draws = 1
        known = [[]]
        hits = 0
        for turn in range(80):
            draws = draws * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            head = known[(draws >> 33) % len(known)]
            ids = [*head[: (draws >> 20) % 200], *((draws >> 7) % 1000 + i for i in range(40 + (draws >> 50) % 90))]
            expected = subscriber.index.cached(ids)
            _, cached = ask(server, ids)
            assert cached == expected, (turn, ids)
            hits += cached > 0
            known.append(ids)  # Answers that are quoted as raw ids are new to the cache (docs/internals/serve.md).
            settle(server, subscriber)
        assert hits > 10
        assert subscriber.index.rank == 0
        removed = sum(e[0] == "BlockRemoved" for _, b in subscriber.batches.values() for e in unpack(b)[1])
        assert removed > 50
        assert {topic for topic, _ in subscriber.batches.values()} == {b"kv@pod@model"}

        # Every batch can be had again, and the numbers have no gap.
        dealer = context.socket(zmq.DEALER)
        dealer.connect(f"tcp://127.0.0.1:{port + 1}")
        dealer.send_multipart([b"", (3).to_bytes(8, "big")])
        again = {}
        while True:
            assert dealer.poll(5000)
            empty, number, batch = dealer.recv_multipart()
            assert empty == b""
            if number == b"\xff" * 8:
                break
            again[int.from_bytes(number, "big")] = batch
        last = max(again)
        assert list(again) == list(range(3, last + 1))
        assert all(again[n] == b for n, (_, b) in subscriber.batches.items() if n >= 3)
        dealer.send_multipart([b"", b"short"])  # Passed over.
        dealer.send_multipart([b"", last.to_bytes(8, "big")])
        assert dealer.poll(5000) and dealer.recv_multipart()[1] == last.to_bytes(8, "big")

        # A lost cache has its own event.
        assert server.ask("POST", "/reset_prefix_cache")[0] == 200
        ids = known[-1]
        assert ask(server, ids)[1] == 0
        settle(server, subscriber)
        assert ask(server, ids)[1] == (len(ids) - 1) // BLOCK * BLOCK


def warm(server, subscriber):
    """Whether the subscriber is connected: what it missed until then was of other prompts."""
    ask(server, [5] * 40, 2)
    subscriber.poll()
    if not subscriber.batches:
        server.ask("POST", "/reset_prefix_cache")
    return bool(subscriber.batches)


def test_words_have_the_ids_of_tokenize(ridgeline, context):
    port = free_ports(1)
    with serving(ridgeline, *FAST, *events_flag(port), env={"VLLM_SERVER_DEV_MODE": "1"}) as server:
        subscriber = Subscriber(context, f"tcp://127.0.0.1:{port}")
        wait_for(lambda: warm(server, subscriber))
        ids = server.json("POST", "/tokenize", {"prompt": WORDS * 8 + " odd0word"})[1]["tokens"]
        server.json("POST", "/v1/completions", {"prompt": WORDS * 8 + " odd0word", "max_tokens": 1})
        settle(server, subscriber)
        whole = len(ids) // BLOCK * BLOCK
        assert whole > 0 and subscriber.index.cached([*ids[:whole], 0]) == whole


@pytest.mark.parametrize("words", [("--instances", "2"), ("--data-parallel-size", "2"), ("--instances", "2", "--listen", "each")])
def test_each_instance_has_a_publisher(ridgeline, context, words):
    port = free_ports(2)
    with serving(ridgeline, *FAST, *words, *events_flag(port)) as server:
        subscribers = [Subscriber(context, f"tcp://127.0.0.1:{port + i}") for i in range(2)]
        time.sleep(0.5)
        servers = 2 if "each" in words else 1
        wait_for(lambda: sum(line.startswith("serving ") for line in server.lines) == servers)
        ports = re.findall(r"^serving \S+ at http://127.0.0.1:(\d+) ", "".join(server.lines), re.MULTILINE)
        for i in range(20):
            server.address = ("127.0.0.1", int(ports[i % len(ports)]))
            ask(server, [i * 100 + k for k in range(48)], 2)
        time.sleep(0.2)
        for rank, subscriber in enumerate(subscribers):
            subscriber.poll()
            assert subscriber.batches
            assert subscriber.index.rank == rank


@pytest.mark.parametrize(
    "config, message",
    [
        ("{", "expected an object in JSON"),
        ("[1]", "expected an object in JSON"),
        ('{"enable_kv_cache_events": 1, "hwm": -1, "odd": 2}', "expected true or false"),
        ('{"enable_kv_cache_events": true, "publisher": "nats"}', "expected zmq or null"),
        ('{"enable_kv_cache_events": true, "endpoint": "tcp://*:nowhere"}', "cannot use 'tcp://127.0.0.1:nowhere'"),
        ('{"enable_kv_cache_events": true, "endpoint": "tcp://*:99999"}', "a port has at most 65535"),
    ],
)
def test_wrong_configurations_are_refused(ridgeline, config, message):
    done = ridgeline("serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--port", "0", "--kv-events-config", config)
    assert done.returncode == 2
    assert message in done.stderr
    if "odd" in config:
        assert "-1" in done.stderr and "odd" in done.stderr  # All at once.


def test_a_port_in_use_is_said(ridgeline):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        flag = events_flag(taken.getsockname()[1])
        done = ridgeline("serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--port", "0", *flag)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr


def test_other_engines_have_no_events(ridgeline):
    words = ("serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--port", "0", "--engine-version", "sglang")
    done = ridgeline(*words, *events_flag(5557))
    assert done.returncode == 2
    assert "expected vLLM" in done.stderr
