// Random scenarios, the same in every run of a seed, and the program that they are compared with.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const program =
  process.env.RIDGELINE_BINARY ?? fileURLToPath(new URL("../../build/release/ridgeline", import.meta.url));

/** Uniform numbers below 1 (xorshift32 of Marsaglia, 2003). */
export function randomFrom(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

export function randomOptions(random) {
  const among = (values) => values[Math.floor(random() * values.length)];
  const whole = (low, high) => low + Math.floor(random() * (high - low + 1));
  const given = {
    model: among(["llama-3.1-8b", "qwen3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "gpt-oss-20b"]),
    gpu: among(["h100", "h200", "a100-80gb", "b200", "l40s"]),
    tensor_parallel_size: among([1, 2, 4]),
    num_prompts: whole(1, 150),
    seed: whole(0, 1000),
    input_len: among([1, 100, 1000, { distribution: "uniform", min: 10, max: 900 }]),
    output_len: among([1, 20, 150, { distribution: "lognormal", mean: 60, std: 40, max: 400 }]),
  };
  if (random() < 0.7) {
    given.request_rate = among([0.5, 4, 25.5, 300]);
  } else {
    given.max_concurrency = whole(1, 40);
  }
  const others = {
    max_num_seqs: [1, 8, 256],
    max_num_batched_tokens: [2048, 8192],
    enable_prefix_caching: [true, false],
    slo_ttft: ["50ms", "1.5s"],
    slo_tpot: ["10ms"],
    engine_version: ["vllm@0.10", "vllm@0.15", "sglang"],
    prefix_len: [64, 300],
    arrivals: ["constant", "poisson"],
    warmup: ["100ms"],
  };
  for (const [name, values] of Object.entries(others)) {
    if (random() < 0.25) {
      given[name] = among(values);
    }
  }
  if (random() < 0.25) {
    given.instances = whole(1, 4);
    if (random() < 0.5) {
      given.router = among(["round-robin", "least-request", "power-of-two", "llm-d", "random"]);
    }
  }
  return given;
}

export function flags(given) {
  return Object.entries(given).map(([name, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return `--${name.replaceAll("_", "-")}=${text}`;
  });
}

/** The exit code of the program, and its output. */
export function native(words) {
  try {
    const output = execFileSync(program, words, { encoding: "utf8", maxBuffer: 2 ** 26, stdio: "pipe" });
    return { code: 0, output };
  } catch (error) {
    return { code: error.status, output: error.stdout, said: error.stderr };
  }
}

/** Nor where a setting was said, which is a flag there and a document here. */
export function withoutRunInfo({ run_info, command, stated, ...tree }) {
  return tree;
}
