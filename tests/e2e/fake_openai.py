"""A small OpenAI-compatible server for tests of clients: loopback or a UNIX socket, an ephemeral port, one
thread. It streams words at set times, and does on request what servers should not do."""

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Behaviour:
    model: str = "fake-model"
    ttft: float = 0.01  # s
    gap: float = 0.002  # s between tokens
    overhead: int = 1  # tokens that it adds to the words of a prompt
    tokens_per_word: int = 1
    tokenize: bool = True  # has /tokenize
    usage: bool = True
    metrics: str = ""  # the page of /metrics; empty: there is none
    line_end: str = "\n"
    space: str = " "  # behind "data:"
    piece: int = 0  # bytes a write; 0: an event
    comments: bool = False
    byte_order_mark: bool = False
    done: bool = True  # ends with [DONE]
    heeds_length: bool = True
    chunked: bool = True
    content_type: str = "text/event-stream; charset=utf-8"
    stall: tuple = (0.0, 0.0)  # nothing is written between these times after the first request
    key: str = ""
    status: object = None  # of request n, or None
    close_after: object = None  # of request n: so many tokens, then the connection is closed
    error_after: object = None  # of request n: so many tokens, then an event with an error
    raw: object = None  # of request n: these bytes instead of an answer
    counted: object = None  # a length of prompts and answers that usage states instead of theirs
    trailer_lines: int = 0  # of 1 KB each, behind an answer
    idle_close: bool = False  # closes each connection after its answer, without saying so before


@dataclass
class Seen:
    path: str
    headers: dict
    body: dict
    time: float
    connection: int


@dataclass
class FakeServer:
    behaviour: Behaviour = field(default_factory=Behaviour)
    socket: str = ""  # a path: a UNIX socket instead of a port

    def __enter__(self):
        self.seen = []
        self.first = None
        self.connections = 0
        self.port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self):
        return f"unix:{self.socket}" if self.socket else f"http://127.0.0.1:{self.port}"

    def generations(self):
        return [seen for seen in self.seen if seen.path.endswith("/completions") and seen.body.get("stream")]

    async def _run(self):
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        tasks = set()

        def client(reader, writer):
            task = asyncio.ensure_future(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        if self.socket:
            server = await asyncio.start_unix_server(client, self.socket)
        else:
            server = await asyncio.start_server(client, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        self.connections += 1
        connection = self.connections
        try:
            while await self._answer(reader, writer, connection):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader, writer, connection):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return False
        lines = head.split("\r\n")
        _, path, _ = lines[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(body) if body else {}
        self.seen.append(Seen(path, headers, body, time.monotonic(), connection))
        if self.behaviour.key and headers.get("authorization") != f"Bearer {self.behaviour.key}":
            return await self._plain(writer, 401, {"error": "Unauthorized"})
        if path == "/v1/models":
            return await self._plain(writer, 200, {"object": "list", "data": [{"id": self.behaviour.model}]})
        if path == "/version":
            return await self._plain(writer, 200, {"version": "0.15.1"})
        if path == "/metrics" and self.behaviour.metrics:
            return await self._plain(writer, 200, self.behaviour.metrics)
        if path == "/tokenize" and self.behaviour.tokenize:
            return await self._plain(writer, 200, {"count": self._count(body)})
        if path.endswith("/completions"):
            return await self._generate(writer, body)
        return await self._plain(writer, 404, {"detail": "Not Found"})

    def _count(self, body):
        prompt = body.get("prompt")
        if isinstance(prompt, list):
            return len(prompt)
        if prompt is None:
            texts = [message["content"] for message in body["messages"]]
            return sum(len(text.split()) for text in texts) + 3 * len(texts) + 2
        return len(prompt.split()) * self.behaviour.tokens_per_word + self.behaviour.overhead

    async def _plain(self, writer, status, content):
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n"
                     "Content-Type: application/json\r\nLocation: /elsewhere\r\n\r\n".encode() + data)
        await writer.drain()
        return True

    async def _generate(self, writer, body):
        how = self.behaviour
        streamed = bool(body.get("stream"))
        number = len(self.generations()) - 1
        if streamed and self.first is None:
            self.first = time.monotonic()
        if not streamed:
            return await self._plain(writer, 200, {"usage": {"prompt_tokens": self._count(body)} if how.usage else None})
        if how.status and how.status(number):
            return await self._plain(writer, how.status(number), {"error": {"message": f"no, {number}", "code": 1}})
        if how.raw and how.raw(number) is not None:
            writer.write(how.raw(number))
            await writer.drain()
            return False
        coding = "Transfer-Encoding: chunked" if how.chunked else "Connection: close"
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {how.content_type}\r\n{coding}\r\n\r\n".encode())
        if how.byte_order_mark:
            await self._write(writer, "\ufeff")
        length = body["max_tokens"] if how.heeds_length else 3
        chat = "messages" in body
        close = how.close_after(number) if how.close_after else None
        error = how.error_after(number) if how.error_after else None
        await asyncio.sleep(how.ttft)
        if chat:
            await self._event(writer, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        for token in range(length):
            if token > 0:
                await asyncio.sleep(how.gap)
            if close == token:
                return False
            if error == token:
                await self._event(writer, {"error": {"message": "it\nbroke", "code": 500}})
                break
            text = ("" if token == 0 else " ") + ["alpha", "beta", "gamma"][token % 3]
            last = "length" if token + 1 == length else None
            content = {"delta": {"content": text}} if chat else {"text": text}
            await self._event(writer, {"id": f"cmpl-{number}",
                                       "choices": [{"index": 0, **content, "finish_reason": last}]})
        if how.usage:
            await self._event(writer, {"choices": [], "usage": {
                "prompt_tokens": self._count(body) if how.counted is None else how.counted,
                "completion_tokens": length if how.counted is None else how.counted,
                "prompt_tokens_details": {"cached_tokens": 0}}})
        if how.done:
            await self._write(writer, f"data:{how.space}[DONE]{how.line_end * 2}")
        if how.chunked:
            writer.write(b"0\r\n")
            for line in range(how.trailer_lines):
                writer.write(b"X-%d: " % line + b"a" * 1000 + b"\r\n")
                await writer.drain()
            writer.write(b"\r\n")
        await writer.drain()
        return how.chunked and not how.idle_close

    async def _event(self, writer, content):
        end = self.behaviour.line_end
        comment = f": ping{end}" if self.behaviour.comments else ""
        await self._write(writer, f"{comment}data:{self.behaviour.space}{json.dumps(content)}{end * 2}")

    async def _write(self, writer, text):
        begin, end = self.behaviour.stall
        if self.first is not None and begin <= time.monotonic() - self.first < end:
            await asyncio.sleep(self.first + end - time.monotonic())
        data = text.encode()
        size = self.behaviour.piece or len(data)
        for at in range(0, len(data), size):
            part = data[at : at + size]
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n" if self.behaviour.chunked else part)
            await writer.drain()
            if self.behaviour.piece:
                await asyncio.sleep(0)
