// The page of `ridgeline ui`, without a browser: a link, what the library is asked, and the command that is exported.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { RidgelineError, load } from "ridgeline";

import { USUAL, commandOf, linkOf, optionsOf, stateOf } from "../../web/ui/state.js";
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
