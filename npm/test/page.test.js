// The page of `ridgeline ui`, without a browser: a link, what the library is asked, and the command that is exported.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { RidgelineError, load } from "ridgeline";

import { unpackedLzma } from "../../web/ui/lzma.js";
import { USUAL, bytesOf, commandOf, linkOf, optionsOf, sidesOf, stateOf } from "../../web/ui/state.js";
import { program, randomFrom, randomOptions } from "./scenarios.js";

const SETTINGS = Number(process.env.RIDGELINE_PAGE_SETTINGS ?? 60);
const rl = await load();
const table = rl.schema("options").properties;

/** What the exported command prints when a shell runs it. */
function inShell(command) {
  const words = command.replace(/^ridgeline /, `"$program" `);
  try {
    return JSON.parse(execFileSync("sh", ["-c", `${words} --format json 2>/dev/null`], { env: { program }, maxBuffer: 2 ** 26 }));
  } catch {
    return null;
  }
}

test(`${SETTINGS} random settings: link, page, exported command, native run: one digest`, () => {
  const random = randomFrom(Number(process.env.RIDGELINE_PAGE_SEED ?? 25));
  let ran = 0;
  for (let i = 0; i < SETTINGS; ++i) {
    const given = Object.entries(randomOptions(random)).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
    const state = stateOf(`#${linkOf(Object.fromEntries(given))}`);
    assert.deepEqual(state, Object.fromEntries(given));
    const theirs = inShell(commandOf(state));
    let digest = null;
    try {
      const result = rl.run({ ...optionsOf(state, table), requests: false });
      digest = result.digest;
      result.free();
      ++ran;
    } catch (error) {
      assert.ok(error instanceof RidgelineError, String(error));
    }
    assert.equal(digest, theirs?.digest ?? null, commandOf(state));
  }
  assert.ok(ran > SETTINGS / 2, `${ran} ran`);
});

test("a link says nothing that is not in it", () => {
  assert.deepEqual(stateOf(""), USUAL);
  assert.deepEqual(stateOf("#model=x"), { model: "x" });
  assert.equal(commandOf({ model: "a b'c" }), "ridgeline run '--model=a b'\\''c'");
  assert.equal(stateOf(`#${linkOf({ model: "<img onerror=1>&gpu=x#?" })}`).model, "<img onerror=1>&gpu=x#?");
});

test("random links never end the page", () => {
  const random = randomFrom(3);
  const letters = "abc=&%#+{}[]\"'-_.:/ \u00e9\u{1f600}0123456789";
  for (let i = 0; i < 500; ++i) {
    const link = Array.from({ length: 40 }, () => letters[Math.floor(random() * letters.length)]).join("");
    assert.throws(() => rl.run(optionsOf(stateOf(`#x${link}`), table)), RidgelineError);
  }
});

test("B is A but for what it says itself", () => {
  const state = stateOf("#gpu=h100&B.gpu=h200&request-rate=8&B.max-num-seqs=16");
  assert.deepEqual(sidesOf(state), {
    a: { gpu: "h100", request_rate: "8" },
    b: { gpu: "h200", request_rate: "8", max_num_seqs: "16" },
  });
  assert.deepEqual(stateOf(`#${linkOf(state)}`), state);
  assert.equal(sidesOf(stateOf("#gpu=h100")).b, null);
});

/** What an expression over `build_page` and the bytes `given` prints. */
function fromPython(expression, given) {
  const code = `import sys; sys.path.insert(0, 'tools'); import build_page; given = sys.stdin.buffer.read(); sys.stdout.buffer.write(${expression})`;
  return execFileSync("python3", ["-c", code], { cwd: new URL("../..", import.meta.url), input: given, maxBuffer: 2 ** 26 });
}

test("the module is packed as letters and back", () => {
  for (const size of [1, 6, 7, 8, 13, 255, 4096]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i % 5 === 0 ? 0 : i % 7 === 0 ? 60 : i % 7 === 1 ? 33 : (i * 89 + 13) % 256));
    const packed = new TextDecoder("windows-1252").decode(fromPython("build_page.packed(given)", bytes));
    assert.ok(!/[\0\r]|<[/!]/.test(packed));
    assert.deepEqual(bytesOf(packed, size), bytes);
  }
});

test("the module is compressed and back", () => {
  const module = readFileSync(new URL("../ridgeline.wasm", import.meta.url));
  const compressed = fromPython("build_page.compressed(given)", module);
  assert.ok(module.equals(unpackedLzma(compressed, module.length)));
  const random = randomFrom(7);
  for (let i = 0; i < 8; ++i) {
    // Noise, runs, and what came before, near and far.
    const parts = Array.from({ length: 40 }, (_, part) => Buffer.alloc(Math.floor(1 + random() * 900), part % 3 === 0 ? part : Buffer.from([part, 7, i, Math.floor(random() * 256)])));
    const noise = Buffer.from(Array.from({ length: 3000 }, () => Math.floor(random() * 256)));
    const bytes = Buffer.concat([noise, ...parts, noise.subarray(100, 2000), ...parts.reverse(), noise]).subarray(0, 1 + Math.floor(random() * 40_000));
    assert.ok(bytes.equals(unpackedLzma(fromPython("build_page.compressed(given)", bytes), bytes.length)), `${i}`);
    // Of other parameters than ours, too.
    const other = `build_page.lzma.compress(given, format=build_page.lzma.FORMAT_ALONE, filters=[{"id": build_page.lzma.FILTER_LZMA1, "preset": 6, "lc": ${i % 4}, "lp": ${i % 2}, "pb": ${i % 5}}])`;
    assert.ok(bytes.equals(unpackedLzma(fromPython(other, bytes), bytes.length)), `${i}`);
  }
});

test("a thousand answers take no more memory than ten, by a fifth", async () => {
  const { Instance } = WebAssembly;
  let memory;
  WebAssembly.Instance = function kept(...given) {
    const instance = new Instance(...given);
    ({ memory } = instance.exports);
    return instance;
  };
  try {
    const fresh = await load();
    const answer = (i) => {
      const options = optionsOf({ ...USUAL, num_prompts: "100", request_rate: String(1 + (i % 50) / 10) }, table);
      const result = fresh.run({ ...options, requests: false });
      result.figures().forEach(({ name }) => result.figure(name));
      result.toJSON();
      result.free();
    };
    let after10 = 0;
    for (let i = 0; i < 1000; ++i) {
      answer(i);
      after10 = i === 9 ? memory.buffer.byteLength : after10;
    }
    assert.ok(memory.buffer.byteLength <= 1.2 * after10, `${memory.buffer.byteLength} after 1,000, ${after10} after 10`);
  } finally {
    WebAssembly.Instance = Instance;
  }
});
