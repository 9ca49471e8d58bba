"""Python's benchmark clients read streams in three ways: vLLM's bench and inference-perf over aiohttp, guidellm over httpx. What they
measure from `ridgeline serve` is what `replay` of its arrivals says that a client sees."""

import asyncio
import json
import os
import statistics
import time

import pytest

from serving import serving

pytestmark = pytest.mark.skipif(not os.environ.get("RIDGELINE_CLIENTS"), reason="takes long: .ci/run clients")

MODEL = ["--model", "llama-3.1-8b", "--gpu", "h100"]
REQUESTS = 100
EVERY_S = 0.1
PROMPT = " ".join(["the"] * 200)
TOKENS = 32
# What reading and parsing may add to the server's own times.
ALLOWED_MS = 0.3
# A client with a core to itself gets an answer at once in 1 to 3 ms.
BUSY_MS = 8.0


def body(chat):
    asked = {"max_tokens": TOKENS, "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}
    return {**asked, "messages": [{"role": "user", "content": PROMPT}]} if chat else {**asked, "prompt": PROMPT}


class Reading:
    """What a client notes of one answer: vLLM's bench takes the first event with choices for the first token."""

    def __init__(self):
        self.sent = time.perf_counter()
        self.times = []
        self.text = ""
        self.usage = None

    def event(self, text, at):
        if text == "[DONE]":
            return
        data = json.loads(text)
        if data.get("usage"):
            self.usage = data["usage"]
        if choices := data["choices"]:
            piece = choices[0].get("text") or choices[0].get("delta", {}).get("content") or ""
            if piece or not self.times:
                self.times.append(at)
            self.text += piece


async def bench_of_vllm(session, url, asked):
    """vllm/benchmarks/lib/endpoint_request_func.py: any bytes that came, stripped, then cut at empty lines."""
    reading = Reading()
    rest = ""
    async with session.post(url, json=asked) as response:
        assert response.status == 200
        async for chunk in response.content.iter_any():
            chunk = chunk.strip()
            if not chunk:
                continue
            at = time.perf_counter()
            rest += chunk.decode()
            while "\n\n" in rest:
                message, rest = rest.split("\n\n", 1)
                reading.event(message.strip().removeprefix("data: "), at)
            # A message whose end was stripped off.
            if rest.startswith("data: "):
                text = rest.removeprefix("data: ").strip()
                if text == "[DONE]":
                    rest = ""
                else:
                    try:
                        json.loads(text)
                    except ValueError:
                        continue
                    reading.event(text, at)
                    rest = ""
    return reading


async def inference_perf(session, url, asked):
    """Line by line."""
    reading = Reading()
    async with session.post(url, json=asked) as response:
        assert response.status == 200
        async for line in response.content:
            if line.startswith(b"data: "):
                reading.event(line[6:].decode().strip(), time.perf_counter())
    return reading


async def guidellm(client, url, asked):
    reading = Reading()
    async with client.stream("POST", url, json=asked) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                reading.event(line[5:].strip(), time.perf_counter())
    return reading


async def ask_at_once(kind, client, url, asked, own):
    """How long this client takes for the same request where the answer is there at once: its own time, and the way."""
    began = time.perf_counter()
    asked = {**asked, "model": "none of this name"}
    if kind == "guidellm":
        async with client.stream("POST", url, json=asked) as response:
            lines = [line async for line in response.aiter_lines()]
    else:
        async with client.post(url, json=asked) as response:
            lines = [line async for line in response.content]
    own.append(time.perf_counter() - began)
    assert "NotFoundError" in str(lines)


async def send_all(kind, read, client, url, asked):
    own = []
    began = time.perf_counter()
    tasks = []
    for i in range(REQUESTS):
        await asyncio.sleep(max(0.0, began + i * EVERY_S - time.perf_counter()))
        tasks.append(asyncio.create_task(read(client, url, asked)))
        await asyncio.sleep(max(0.0, began + (i + 0.5) * EVERY_S - time.perf_counter()))
        tasks.append(asyncio.create_task(ask_at_once(kind, client, url, asked, own)))
    readings = [one for one in await asyncio.gather(*tasks) if one]
    return readings, 1e3 * statistics.fmean(own)


def measure(kind, url, asked):
    async def with_aiohttp(read):
        aiohttp = pytest.importorskip("aiohttp")
        async with aiohttp.ClientSession() as session:
            await read(session, url, {**asked, "max_tokens": 1})  # A connection, and the code, are warm.
            return await send_all(kind, read, session, url, asked)

    async def with_httpx():
        httpx = pytest.importorskip("httpx")
        async with httpx.AsyncClient() as client:
            await guidellm(client, url, {**asked, "max_tokens": 1})
            return await send_all(kind, guidellm, client, url, asked)

    return asyncio.run(with_httpx() if kind == "guidellm" else with_aiohttp({"vllm": bench_of_vllm, "inference-perf": inference_perf}[kind]))


@pytest.mark.parametrize("chat", [False, True], ids=["completions", "chat"])
@pytest.mark.parametrize("kind", ["vllm", "inference-perf", "guidellm"])
def test_clients_measure_what_replay_says(ridgeline, kind, chat):
    pytest.importorskip("httpx" if kind == "guidellm" else "aiohttp")
    with serving(ridgeline, "--arrival-log", "arrivals.jsonl", "--generation-config", "vllm") as server:
        url = "http://%s:%d" % server.address + ("/v1/chat/completions" if chat else "/v1/completions")
        readings, own_ms = measure(kind, url, body(chat))
        samples = server.metrics()
        name = "ridgeline:emission_lateness_seconds"
        late_ms = 1e3 * samples[name + "_sum"] / samples[name + "_count"]
        server.stop()
    assert {len(reading.text.split()) for reading in readings} == {TOKENS}  # Also where the strip cut a message.
    assert {reading.usage["completion_tokens"] for reading in readings} == {TOKENS}
    words = ["--trace", "arrivals.jsonl", *MODEL, "--generation-config", "vllm", "--requests-out", "r.jsonl", "--format", "quiet"]
    assert ridgeline("replay", *words).returncode == 0
    rows = [json.loads(line) for line in (ridgeline.folder / "r.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row.get("output_tokens") == TOKENS]
    assert len(rows) == REQUESTS
    predicted_ttft = statistics.fmean(row["ttft_ms"] for row in rows)
    predicted_itl = statistics.fmean(row["tpot_ms"] for row in rows)
    ttft = statistics.fmean(1e3 * (reading.times[0] - reading.sent) for reading in readings)
    first = 1 if chat else 0  # The role's event has the time of the first token.
    gaps = [1e3 * (r.times[-1] - r.times[first]) / (len(r.times) - 1 - first) for r in readings]
    itl = statistics.fmean(gaps)
    print(f"{kind}: TTFT {ttft:.3f} ms, replay {predicted_ttft:.3f}; ITL {itl:.3f}, replay {predicted_itl:.3f}; "
          f"lateness {late_ms:.3f}, an answer at once {own_ms:.3f}")
    if own_ms > BUSY_MS:
        pytest.skip(f"the machine is too busy to measure: an answer that is there at once takes {own_ms:.1f} ms")
    assert abs(itl - predicted_itl) <= ALLOWED_MS
    assert abs(ttft - predicted_ttft) <= ALLOWED_MS + late_ms + own_ms
