// The simulator in a worker: the same answers as promises.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigError, Infeasible, InternalError, RemoteResult, load } from "ridgeline";

const usual = { model: "llama-3.1-8b", gpu: "h100", request_rate: 8, num_prompts: 100, input_len: 256, output_len: 16, seed: 1 };
const here = await load();
const there = await load({ worker: true });

test("answers are those without a worker", async () => {
  assert.equal(there.version, here.version);
  const [near, far] = [here.run({ ...usual, steps: true }), await there.run({ ...usual, steps: true })];
  assert.ok(far instanceof RemoteResult);
  assert.equal(far.digest, near.digest);
  assert.deepEqual(far.summary, near.summary);
  assert.deepEqual((await far.requests).ttft_ms, near.requests.ttft_ms);
  assert.deepEqual((await far.requests).outcome, near.requests.outcome);
  assert.equal((await far.steps).length, near.steps.length);
  assert.deepEqual(await far.figures(), near.figures());
  assert.equal(await far.figure("distributions"), near.figure("distributions"));
  assert.equal(await far.report("csv").then((text) => text.length > 0), true);
  assert.equal((await there.run({ scenario: far, gpu: "h200" })).digest, here.run({ scenario: near, gpu: "h200" }).digest);
  assert.deepEqual(await there.list("gpus"), here.list("gpus"));
  assert.deepEqual(await there.explain({ model: "llama-3.1-8b", gpu: "h100" }), here.explain({ model: "llama-3.1-8b", gpu: "h100" }));
});

test("the thread of the caller goes on", async () => {
  let turns = 0;
  const timer = setInterval(() => ++turns, 1);
  await there.run({ ...usual, num_prompts: 50_000, requests: false });
  clearInterval(timer);
  assert.ok(turns > 1, `${turns} turns`);
});

test("errors keep their kind, field and result", async () => {
  await assert.rejects(there.run({ ...usual, gpu: "h10" }), (error) => error instanceof ConfigError && error.errors[0].field === "gpu");
  await assert.rejects(there.run({ ...usual, seed: () => 1 }), TypeError);
  await assert.rejects(there.run({ ...usual, input_len: 200_000 }), (error) => error instanceof Infeasible && error.result.summary.completed === 0);
  const freed = await there.run(usual);
  freed.free();
  await assert.rejects(freed.figure("distributions"), /freed/);
  await assert.rejects((await there.run({ ...usual, requests: false })).requests, /were not kept/);
});

test("a run that cannot fit into 4 GiB is refused first", async () => {
  const large = { ...usual, num_prompts: 40_000_000 };
  const refused = (error) => error instanceof ConfigError && error.errors[0].field === "num_prompts" && /4 GiB/.test(error.message);
  assert.throws(() => here.run(large), refused);
  assert.throws(() => here.run({ scenario: { workload: { num_prompts: 40_000_000 } }, ...usual, num_prompts: undefined }), refused);
  await assert.rejects(there.run(large), refused);
});

test("a closed worker answers no more", async () => {
  const another = await load({ worker: true });
  const lost = another.run({ ...usual, num_prompts: 1_000_000 });
  another.close();
  await assert.rejects(lost, InternalError);
  await assert.rejects(another.run(usual), /closed/);
});
