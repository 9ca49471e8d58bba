// The first result: node first.mjs, in a folder where `npm install` put the package.
import { load } from "ridgeline";

const rl = await load();
const r = rl.run({
  model: "llama-3.1-8b", gpu: "h100", request_rate: 8, num_prompts: 1000, input_len: 512, output_len: 256,
  slo_ttft: "50ms", slo_tpot: "10ms", seed: 1,
});
console.log(r.summary.ttft_ms.p99, r.summary.slo.ttft.met);
console.log(r.digest);
console.log(r.requests.ttft_ms.subarray(0, 3));
