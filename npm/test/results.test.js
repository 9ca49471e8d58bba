// What can be asked of a result, and what bad calls say.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ConfigError, Infeasible, InternalError, Result, load } from "ridgeline";

const rl = await load();
const usual = { model: "llama-3.1-8b", gpu: "h100", request_rate: 8, num_prompts: 200, input_len: 512, output_len: 64, seed: 1 };

/** The percentile of sorted integers, between neighbours by a line, as the summary has it. */
function percentile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return Number(sorted[below]) + (place - below) * Number(sorted[above] - sorted[below]);
}

test("columns are typed arrays whose numbers are the summary's", () => {
  const result = rl.run({ ...usual, steps: true });
  const { requests } = result;
  assert.equal(requests.length, 200);
  assert.ok(requests.ttft_ms instanceof Float64Array && requests.arrival_ps instanceof BigInt64Array);
  assert.equal(requests.ttft_ms, requests.ttft_ms);
  assert.equal(requests.units.ttft_ps, "ps");
  const sorted = requests.ttft_ps.slice().sort();
  assert.equal(percentile(sorted, 0.99) / 1e9, result.summary.ttft_ms.p99);
  const sum = requests.output_tokens.reduce((total, count) => total + count, 0);
  assert.equal(sum, 200 * 64);
  assert.deepEqual([...new Set(requests.outcome)], ["finished"]);
  assert.ok(result.steps.length > 10 && result.steps.gpu_ps[0] > 0n);
  const kept = requests.e2e_ms;
  rl.run({ ...usual, num_prompts: 20000, request_rate: 200 }); // The memory grows.
  assert.equal(kept.length, 200);
  assert.ok(requests.tpot_ms.every((time) => time > 0));
});

test("figures, reports, series", () => {
  const result = rl.run({ ...usual, series: true, slo_ttft: "50ms" });
  const names = result.figures().map(({ name }) => name);
  assert.ok(names.includes("distributions") && names.includes("clock"), names.join());
  assert.match(result.figure("distributions"), /^<svg[^]*<\/svg>\s*$/);
  assert.equal(result.figure("no_such_figure"), null);
  assert.match(result.report("table"), /TTFT/);
  assert.match(result.report("html"), /^<!doctype html>/i);
  assert.equal(result.report("no-such-format"), null);
  assert.ok(result.series);
  assert.equal(rl.run(usual).series, undefined);
});

test("what if: a result is a scenario", () => {
  const first = rl.run(usual);
  const second = rl.run({ scenario: first, gpu: "h200" });
  assert.equal(second.config.gpu.name ?? second.config.gpu, "h200");
  assert.notEqual(second.digest, first.digest);
  assert.equal(rl.run({ scenario: first.config }).digest, first.digest);
});

test("free ends a result", () => {
  const result = rl.run(usual);
  assert.ok(result instanceof Result);
  const { ttft_ms } = result.requests;
  result.free();
  result.free();
  assert.equal(result.requests.ttft_ms, ttft_ms);
  assert.throws(() => result.requests.e2e_ms, /freed/);
  assert.throws(() => result.figure("clock"), /freed/);
});

test("columns that were not kept say how to keep them", () => {
  const result = rl.run({ ...usual, requests: false });
  assert.throws(() => result.requests, /requests: true/);
  assert.throws(() => result.steps, /steps: true/);
});

const BAD = [
  { model: "llama-3.1-9b" }, { model: 3 }, { model: "" }, { model: ["a"] }, { model: "x\0y" }, { model: "\ud800" },
  { gpu: "h1000" }, { gpu: true }, { gpu: { name: 3 } }, { request_rate: -1 }, { request_rate: 0 }, { request_rate: NaN },
  { request_rate: Infinity }, { request_rate: "fast" }, { num_prompts: 0 }, { num_prompts: 1.5 }, { num_prompts: 2 ** 63 },
  { num_prompts: "many" }, { input_len: -1 }, { input_len: "long" }, { input_len: { distribution: "weird" } },
  { input_len: { mean: 3 } }, { input_len: [1, 2] }, { output_len: 1e12 }, { seed: -1 }, { seed: 0.1 }, { slo_ttft: "50 parsecs" },
  { slo_ttft: -1 }, { slo_ttft: 50 }, { slo_tpot: 0.05 }, { tensor_parallel_size: 3 }, { tensor_parallel_size: "two" }, { max_num_seqs: 0 }, { block_size: 1e9 },
  { gpu_memory_utilization: 2 }, { dtype: "float3" }, { enable_prefix_caching: "perhaps" }, { latency: "perfect" },
  { engine_version: "vllm@9999x" }, { router: "best", instances: 2 }, { instances: 0 }, { trace: "no/such.csv" },
  { speculative_config: { method: "magic" } }, { no_such_option: 1 }, { max_nun_seqs: 3 }, { scenario: { modell: 1 } },
  { scenario: "no/such.yaml" }, { series: 1 }, { arrivals: "poison" }, { duration: "soon" },
];

test(`${BAD.length} bad calls are refused with a field`, () => {
  for (const bad of BAD) {
    assert.throws(() => rl.run({ ...usual, ...bad }), (error) => {
      assert.ok(error instanceof ConfigError, `${JSON.stringify(bad)}: ${error}`);
      assert.ok(error.errors.length > 0 && error.errors.every(({ message }) => message.length > 0));
      assert.ok(error.errors.some(({ field, file }) => field || file), `${JSON.stringify(bad)}: ${error}`);
      return true;
    });
  }
});

test("types that JSON does not have", () => {
  for (const value of [() => 1, Symbol("x"), 10n, new Date(0), new Map()]) {
    assert.throws(() => rl.run({ ...usual, seed: value }), TypeError);
  }
});

test("all problems at once, each with what would mend it", () => {
  assert.throws(() => rl.run({ ...usual, num_prompts: 0, request_rate: -1 }), ({ errors }) => {
    assert.deepEqual(errors.map(({ field }) => field).sort(), ["workload.num_prompts", "workload.request_rate"]);
    return true;
  });
  assert.throws(() => rl.run({ ...usual, gpu: "h10" }), (error) => {
    assert.match(error.message, /^gpu: .*hint: did you mean/);
    return error.errors[0].field === "gpu" && error.errors[0].hint !== "";
  });
});

test("what does not fit, and what is not here", () => {
  assert.throws(() => rl.explain({ model: "llama-3.1-405b", gpu: "l40s" }), Infeasible);
  assert.throws(() => rl.call("validate", {}), /not in the WebAssembly build/);
  assert.throws(() => rl.call("no-such-verb"), /expected one of/);
});

test("a fault ends the instance, and the next call has a new one", async () => {
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (module, imports) {
    const { exports } = new Instance(module, imports);
    const trap = () => {
      throw new WebAssembly.RuntimeError("unreachable");
    };
    return { exports: { ...exports, rl_call: trap, rl_free: trap } };
  };
  const faulty = await load();
  WebAssembly.Instance = Instance;
  assert.throws(() => faulty.run(usual), (error) => error instanceof InternalError && /unreachable/.test(error.message));
  assert.equal(faulty.run(usual).digest, rl.run(usual).digest);
});

test("random documents never end the module", () => {
  const pieces = [0, -1, 1e300, "", "x", null, true, [], {}, [[[]]], { a: { b: [] } }, "1e9", "50ms", "\u0000", "😀"];
  const keys = ["model", "gpu", "workload", "engine", "slo", "cluster", "keep", "base", "run", "", "x.y"];
  let state = 1;
  const next = (size) => (state = (state * 48271) % 2147483647) % size; // MINSTD (Park and Miller, 1988)
  for (let i = 0; i < 2000; ++i) {
    const document = {};
    for (let j = next(5); j >= 0; --j) {
      document[keys[next(keys.length)]] = pieces[next(pieces.length)];
    }
    assert.throws(() => rl.call(["run", "explain", "step", "list"][next(4)], document), ConfigError);
  }
});

test("thousands of runs leave no memory behind", () => {
  const run = () => rl.run({ ...usual, num_prompts: 10 }).free();
  for (let i = 0; i < 200; ++i) run();
  const before = process.memoryUsage().rss;
  for (let i = 0; i < 3000; ++i) run();
  assert.ok(process.memoryUsage().rss - before < 64 * 2 ** 20, `${process.memoryUsage().rss - before} bytes more`);
});
