import type { Options } from "./options.js";
import type { ResultTree } from "./results.js";

export type { Length, Options } from "./options.js";
export type { ResultTree } from "./results.js";

/** One of the things that are wrong with a call. */
export interface Problem {
  code: "usage" | "infeasible" | "internal";
  /** The option, or the dotted path in a scenario; may be empty. */
  field: string;
  /** What was found, and what was expected. */
  message: string;
  /** What would mend it; may be empty. */
  hint: string;
  file: string;
  line: number;
  column: number;
}
/** What the library says of a call without a result; `errors` holds every problem. */
export class RidgelineError extends Error {
  readonly errors: readonly Problem[];
}
/** A wrong value, a name that is not known, settings that contradict each other. */
export class ConfigError extends RidgelineError {}
/** A network that does not fit, or a run in which no request got an answer; then `result` holds the run. */
export class Infeasible extends RidgelineError {
  readonly result?: Result;
}
/** A fault of the library; the next call starts afresh. */
export class InternalError extends RidgelineError {}

interface Table {
  /** The number of rows. */
  readonly length: number;
  /** "ps", "ms", "tokens" ... by column; "" of plain numbers. */
  readonly units: Readonly<Record<string, string>>;
}
/** One row per request, in the order in which they ended. Times in `_ps` are -1 where there is none, in `_ms` NaN. */
export interface RequestColumns extends Table {
  readonly id: BigInt64Array;
  readonly instance: Int32Array;
  readonly prompt_tokens: Int32Array;
  readonly output_tokens: Int32Array;
  readonly cached_tokens: Int32Array;
  readonly preemptions: Int32Array;
  readonly outcome: string[];
  readonly arrival_ps: BigInt64Array;
  readonly queued_ps: BigInt64Array;
  readonly first_scheduled_ps: BigInt64Array;
  readonly first_token_ps: BigInt64Array;
  readonly last_token_ps: BigInt64Array;
  readonly client_end_ps: BigInt64Array;
  readonly ttft_ps: BigInt64Array;
  readonly tpot_ps: BigInt64Array;
  readonly e2e_ps: BigInt64Array;
  readonly queue_time_ps: BigInt64Array;
  readonly ttft_ms: Float64Array;
  readonly tpot_ms: Float64Array;
  readonly e2e_ms: Float64Array;
  readonly queue_time_ms: Float64Array;
}
/** One row per engine step, or run of equal steps. */
export interface StepColumns extends Table {
  readonly first_step: BigInt64Array;
  readonly steps: BigInt64Array;
  readonly start_ps: BigInt64Array;
  readonly period_ps: BigInt64Array;
  readonly period_growth_ps: BigInt64Array;
  readonly num_decodes: BigInt64Array;
  readonly decode_context: BigInt64Array;
  readonly num_prefills: BigInt64Array;
  readonly prefill_tokens: BigInt64Array;
  readonly gpu_ps: BigInt64Array;
  readonly cpu_ps: BigInt64Array;
  readonly used_blocks: BigInt64Array;
}

/** A result: the keys of the command line's JSON, and what can be asked of it. */
export interface Result extends ResultTree {
  readonly requests: RequestColumns;
  readonly steps: StepColumns;
  /** The names, titles and descriptions of the figures. */
  figures(): { name: string; title: string; description: string }[];
  /** A figure as SVG, or null where there is none of that name. */
  figure(name: string): string | null;
  /** The result in a format of `list("formats")`, or null where there is none of that name. */
  report(format: string): string | null;
  /** The command line's JSON. */
  toJSON(): ResultTree;
  /** Gives the memory back now; columns and figures that were not touched are gone. */
  free(): void;
}
export const Result: { readonly prototype: Result };

export interface ScenarioOptions extends Options {
  /** A scenario, as in a file, or an earlier result, over which the options are laid. */
  scenario?: object | Result | null;
}
export interface RunOptions extends ScenarioOptions {
  /** Whether to keep the columns of requests, up to 1,000,000 of them; true by default. */
  requests?: boolean;
  /** Whether to keep the columns of steps. */
  steps?: boolean;
  /** Numbers over simulated time in the result; a number: at most so many windows. */
  series?: boolean | number;
  /** Whether to gather what pictures show; true by default. */
  figures?: boolean | number;
}
export interface StepOptions extends ScenarioOptions {
  /** KV lengths, with how many sequences have each: "700x32". */
  decode?: string;
  /** Prompt chunks as past+new: "0+2048". */
  prefill?: string;
  /** Whether the chunks are the last of their prompts, which yield a token; true by default. */
  samples?: boolean;
  /** Step-time models to be shown side by side. */
  compare?: readonly string[];
}

/** The simulator. Calls are synchronous: callers who mind put it into a worker. */
export interface Ridgeline {
  readonly version: string;
  /** Simulates a scenario. */
  run(options?: RunOptions): Result;
  /** Resolves a scenario without running it: memory, limits, where values come from. */
  explain(options?: ScenarioOptions): any;
  /** Prices one batch and shows where the time goes. */
  step(options?: StepOptions): any;
  /** What there is: "models", "gpus", "routers" ... as `ridgeline list`. */
  list(kind: string): any;
  /** A JSON Schema, as `ridgeline schema`. */
  schema(name: string): any;
  /** The answer to a verb of the C API, whose keys are those of a scenario file. */
  call(verb: string, document?: object): any;
}

/** A result in a worker: its JSON is here, the rest comes as promises. */
export interface RemoteResult extends ResultTree {
  readonly requests: Promise<RequestColumns>;
  readonly steps: Promise<StepColumns>;
  figures(): Promise<{ name: string; title: string; description: string }[]>;
  figure(name: string): Promise<string | null>;
  report(format: string): Promise<string | null>;
  toJSON(): ResultTree;
  /** Gives the worker's memory back now. */
  free(): void;
}
export const RemoteResult: { readonly prototype: RemoteResult };

type Remote<T> = T extends { scenario?: object | Result | null } ? Omit<T, "scenario"> & { scenario?: object | Result | RemoteResult | null } : T;

/** The simulator in a worker: the calls of Ridgeline as promises. */
export interface RemoteRidgeline {
  readonly version: string;
  run(options?: Remote<RunOptions>): Promise<RemoteResult>;
  explain(options?: Remote<ScenarioOptions>): Promise<any>;
  step(options?: Remote<StepOptions>): Promise<any>;
  list(kind: string): Promise<any>;
  schema(name: string): Promise<any>;
  call(verb: string, document?: object): Promise<any>;
  /** Ends the worker; what goes on is given up. */
  close(): void;
}
export const RemoteRidgeline: { readonly prototype: RemoteRidgeline };

export interface LoadOptions {
  /** A URL, bytes, or a compiled module, in place of ridgeline.wasm beside index.js. */
  wasm?: string | URL | BufferSource | WebAssembly.Module;
}
/** Loads the simulator. With `worker` it runs in a thread of its own, and its calls return promises. */
export function load(options: LoadOptions & { worker: true }): Promise<RemoteRidgeline>;
export function load(options?: LoadOptions & { worker?: false }): Promise<Ridgeline>;
