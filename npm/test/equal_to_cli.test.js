// Random scenarios: the package gives the JSON of the command line, but for run_info.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Infeasible, RidgelineError, load } from "ridgeline";

import { flags, native, randomFrom, randomOptions, withoutRunInfo } from "./scenarios.js";

const SCENARIOS = Number(process.env.RIDGELINE_NPM_SCENARIOS ?? 200);
const SEED = Number(process.env.RIDGELINE_NPM_SEED ?? 27);
const rl = await load();

test(`${SCENARIOS} random scenarios equal the command line, their series too`, () => {
  const random = randomFrom(SEED);
  let ran = 0;
  for (let i = 0; i < SCENARIOS; ++i) {
    const given = randomOptions(random);
    const theirs = native(["run", "--format", "json", "--series", ...flags(given)]);
    let result;
    try {
      result = rl.run({ ...given, series: true });
    } catch (error) {
      assert.ok(error instanceof RidgelineError, String(error));
      assert.equal(theirs.code, error instanceof Infeasible ? 4 : 2, `${JSON.stringify(given)} ${theirs.said} ${error}`);
      continue;
    }
    assert.equal(theirs.code, 0, `${JSON.stringify(given)} ${theirs.said}`);
    const [mine, expected] = [result.toJSON(), JSON.parse(theirs.output)].map(withoutRunInfo);
    assert.deepEqual(mine, expected, JSON.stringify(given));
    assert.equal(JSON.stringify(mine.series), JSON.stringify(expected.series), JSON.stringify(given));
    result.free();
    ++ran;
  }
  assert.ok(ran > SCENARIOS / 2, `${ran} ran`);
});

test("scenarios/ give the digests of the command line", () => {
  const folder = fileURLToPath(new URL("../../scenarios/", import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  let compared = 0;
  for (const name of files) {
    const theirs = native(["run", folder + name, "--format", "json"]);
    if (theirs.code !== 0) {
      continue; // Some are for other verbs.
    }
    const { config, digest } = JSON.parse(theirs.output);
    let result;
    try {
      result = rl.run({ scenario: config, requests: false });
    } catch (error) {
      assert.match(String(error), /trace|file/, `${name}: ${error}`); // There are no files here.
      continue;
    }
    assert.equal(result.digest, digest, name);
    result.free();
    ++compared;
  }
  assert.ok(compared > files.length / 2, `${compared} of ${files.length} compared`);
});

test("explain and step equal the command line", () => {
  const explained = native(["explain", "--model=llama-3.1-8b", "--gpu=h100", "--format=json"]);
  const withoutOrigins = ({ provenance, ...tree }) => tree; // A flag there, a document here.
  assert.deepEqual(withoutOrigins(rl.explain({ model: "llama-3.1-8b", gpu: "h100" })), withoutOrigins(JSON.parse(explained.output)));
  const stepped = native(["step", "--model=qwen3-8b", "--gpu=h200", "--decode=700x32", "--prefill=0+512", "--format=json"]);
  const mine = rl.step({ model: "qwen3-8b", gpu: "h200", decode: "700x32", prefill: "0+512" });
  assert.deepEqual(mine, JSON.parse(stepped.output));
  assert.deepEqual(rl.schema("result"), JSON.parse(native(["schema", "result"]).output));
  assert.deepEqual(rl.list("models"), JSON.parse(native(["list", "models", "--format=json"]).output));
});
