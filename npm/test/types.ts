// Read by `tsc --strict` alone: what is typed, and what is refused.
import { ConfigError, load, type Options } from "ridgeline";

const rl = await load();
const options: Options = { model: "llama-3.1-8b", gpu: "h100", request_rate: 8, output_len: { distribution: "uniform", min: 1, max: 9 } };
const result = rl.run({ ...options, series: 60, scenario: { seed: 1 } });
const p99: number | null = result.summary.ttft_ms.p99;
const column: Float64Array = result.requests.ttft_ms;
const svg: string | null = result.figure("distributions");
const again = rl.run({ scenario: result, gpu: "h200" });
// @ts-expect-error: no such option
rl.run({ no_such_option: 1 });
// @ts-expect-error: a word
rl.run({ request_rate: true });
// @ts-expect-error: not one of the choices
rl.run({ latency_lookup: "nearest" });
try {
  rl.explain({ gpu: "h101" });
} catch (error) {
  if (error instanceof ConfigError) {
    const hint: string = error.errors[0]!.hint;
    void hint;
  }
}
void [p99, column, svg, again];
