// The C API (ridgeline.h) over WebAssembly: structs below are those of a 32-bit target.

const ABI = 2;
const VERSION = "0.1.0";
const EXIT = { usage: 2, infeasible: 4, interrupted: 130 };
const NO_FILE = 8; // EBADF of WASI: there are no files.
const COLUMNS_SIZE = 32; // sizeof(rl_columns)
const ARRAYS = { 1: Int32Array, 2: BigInt64Array, 3: Float64Array, 4: Uint8Array };
const WORD = 4; // RL_WORD: an index into `words`
// A run of 1,000,000 requests takes 84 MiB with exact percentiles; its tables double while they grow.
const REQUEST_SIZE = 180;
const MEMORY_SIZE = 2 ** 32;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the library says of a call without a result; `errors` holds every problem. */
export class RidgelineError extends Error {
  constructor(errors) {
    super(errors.map(lineOf).join("\n"));
    this.name = new.target.name;
    this.errors = errors;
  }
}
/** A wrong value, a name that is not known, settings that contradict each other. */
export class ConfigError extends RidgelineError {}
/** A network that does not fit, or a run in which no request got an answer; then `result` holds the run. */
export class Infeasible extends RidgelineError {}
/** A fault of the library; the next call starts afresh. */
export class InternalError extends RidgelineError {}

function lineOf({ field, message, hint }) {
  return (field ? `${field}: ` : "") + message + (hint ? ` (hint: ${hint})` : "");
}

function problem(code, field, message, hint = "") {
  return { code, field, message, file: "", line: 0, column: 0, hint };
}

/** Flags of the command line as keys. */
function asKeys(text) {
  return text.replace(/(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)/g, (_, name) => name.replaceAll("-", "_"));
}

/** A value as JSON has it. What JSON would drop or change is refused here, with its field. */
function plain(value, field) {
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
    throw new ConfigError([problem("usage", field, "found half of a surrogate pair, expected Unicode text")]);
  }
  if (value === null || typeof value === "string" || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) {
      throw new ConfigError([problem("usage", field, `found ${value}, expected a finite number`)]);
    }
    return value;
  }
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return Array.from(value, (item) => plain(item, field));
  }
  const isMap = typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!isMap) {
    throw new TypeError(`${field}: found a ${typeof value}, expected a text, a number, a list or an object`);
  }
  const known = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(known.map(([key, item]) => [key, plain(item, `${field}.${key}`)]));
}

/** One instance of the module, and what its memory holds. */
class Instance {
  constructor(module) {
    this.said = "";
    this.failed = false;
    const system = {
      fd_write: (file, vectors, count, written) => this.write(vectors, count, written),
      proc_exit: (code) => {
        throw new WebAssembly.RuntimeError(`exit ${code}`);
      },
      clock_time_get: (clock, precision, at) => {
        const now = clock === 0 ? Date.now() : performance.now();
        this.view().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
        return 0;
      },
      random_get: (at, size) => {
        new Uint8Array(this.memory.buffer, at, size).fill(0); // No result depends on it.
        return 0;
      },
      environ_sizes_get: (count, size) => {
        this.view().setUint32(count, 0, true);
        this.view().setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
    };
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      (imports[from] ??= {})[name] = system[name] ?? (() => NO_FILE);
    }
    this.wasm = new WebAssembly.Instance(module, imports).exports;
    this.memory = this.wasm.memory;
    this.wasm._initialize();
  }

  view() {
    return new DataView(this.memory.buffer);
  }
  word(at) {
    return this.view().getUint32(at, true);
  }
  write(vectors, count, written) {
    let size = 0;
    for (let i = 0; i < count; ++i) {
      this.said += this.text(this.word(vectors + 8 * i), this.word(vectors + 8 * i + 4));
      size += this.word(vectors + 8 * i + 4);
    }
    this.view().setUint32(written, size, true);
    return 0;
  }
  text(at, size) {
    const bytes = new Uint8Array(this.memory.buffer, at);
    return decoder.decode(bytes.subarray(0, size ?? bytes.indexOf(0)));
  }
  /** Calls `use` with texts in the module's memory, each with a 0 at its end, and 32 bytes for answers before them. */
  withTexts(texts, use) {
    const bytes = texts.map((text) => encoder.encode(text));
    const size = bytes.reduce((sum, part) => sum + part.length + 1, COLUMNS_SIZE);
    const room = this.wasm.malloc(size);
    if (room === 0) {
      throw new InternalError([problem("internal", "", "out of memory")]);
    }
    const places = [];
    let at = room + COLUMNS_SIZE;
    new Uint8Array(this.memory.buffer, room, size).fill(0);
    for (const part of bytes) {
      new Uint8Array(this.memory.buffer).set(part, at);
      places.push([at, part.length]);
      at += part.length + 1;
    }
    try {
      return use(room, places);
    } finally {
      this.wasm.free(room);
    }
  }
  /** Frees a result, but not after a fault, which left the memory as it was. */
  end(handle) {
    if (!this.failed) {
      this.wasm.rl_free(handle);
    }
  }
  /** A text that a function of the library returns, with its size behind `size`; null where there is none. */
  answer(at, size) {
    return at === 0 ? null : this.text(at, this.word(size));
  }
}

const registry = new FinalizationRegistry(({ instance, handle }) => instance.end(handle));

/** A call's answer in the module's memory. */
class Handle {
  constructor(instance, handle) {
    this.instance = instance;
    this.handle = handle;
    registry.register(this, { instance, handle }, this);
  }
  free() {
    if (this.handle !== 0) {
      registry.unregister(this);
      this.instance.end(this.handle);
      this.handle = 0;
    }
  }
  held() {
    if (this.handle === 0) {
      throw new Error("the result was freed");
    }
    return this.handle;
  }
  json() {
    return this.instance.withTexts([], (room) => this.instance.answer(this.instance.wasm.rl_json(this.handle, room), room));
  }
  named(from, name) {
    const { instance } = this;
    return instance.withTexts([name], (room, [[at]]) => instance.answer(instance.wasm[from](this.held(), at, room), room));
  }
  /** The columns of a table as an object, each copied out at the first touch; null where the table was not kept. */
  columns(name) {
    const { instance } = this;
    return instance.withTexts([name], (room, [[at]]) => {
      instance.view().setUint32(room, COLUMNS_SIZE, true);
      if (instance.wasm.rl_table(this.held(), at, room) !== 0) {
        return null;
      }
      const rows = Number(instance.view().getBigInt64(room + 8, true));
      const [count, step, first] = [16, 20, 24].map((offset) => instance.word(room + offset));
      const columns = { length: rows, units: {} };
      for (let i = 0; i < count; ++i) {
        this.column(columns, first + i * step, rows);
      }
      return columns;
    });
  }
  column(columns, at, rows) {
    const { instance } = this;
    const [name, unit] = [0, 4].map((offset) => instance.text(instance.word(at + offset)));
    const [type, data, words] = [8, 12, 16].map((offset) => instance.word(at + offset));
    let kept;
    const read = () => {
      this.held();
      const values = new ARRAYS[type](instance.memory.buffer, data, rows);
      return type === WORD
        ? Array.from(values, (index) => instance.text(instance.word(words + 4 * index)))
        : values.slice(); // A view would end when the memory grows.
    };
    columns.units[name] = unit;
    Object.defineProperty(columns, name, { enumerable: true, get: () => (kept ??= read()) });
  }
}

/** A result: the keys of the command line's JSON, columns, figures, reports. */
export class Result {
  #handle;
  #tree;
  #tables = {};
  constructor(handle, tree) {
    this.#handle = handle;
    this.#tree = tree;
    for (const key of Object.keys(tree)) {
      Object.defineProperty(this, key, { enumerable: true, value: tree[key] });
    }
  }
  #table(name) {
    this.#tables[name] ??= this.#handle.columns(name);
    if (this.#tables[name] === null) {
      throw new Error(`the columns of ${name} were not kept: run with ${name}: true`);
    }
    return this.#tables[name];
  }
  get requests() {
    return this.#table("requests");
  }
  get steps() {
    return this.#table("steps");
  }
  /** The names, titles and descriptions of the figures. */
  figures() {
    return JSON.parse(this.#handle.named("rl_figure", "") ?? "[]");
  }
  /** A figure as SVG, or null. */
  figure(name) {
    return this.#handle.named("rl_figure", name);
  }
  /** The result in a format of `list("formats")`, or null. */
  report(format) {
    return this.#handle.named("rl_report", format);
  }
  toJSON() {
    return this.#tree;
  }
  /** Gives the memory back now; columns and figures that were not touched are gone. */
  free() {
    this.#handle.free();
  }
}

/** The simulator. */
export class Ridgeline {
  #module;
  #instance;
  #paths;
  constructor(module) {
    this.#module = module;
    this.#instance = new Instance(module);
    const { wasm } = this.#instance;
    this.version = this.#instance.text(wasm.rl_version());
    if (wasm.rl_abi() !== ABI || this.version !== VERSION) {
      const found = `ridgeline.wasm is version ${this.version} (ABI ${wasm.rl_abi()}), and this package ${VERSION} (ABI ${ABI})`;
      throw new InternalError([problem("internal", "wasm", found, "install both of one version")]);
    }
  }

  #call(verb, document) {
    this.#instance ??= new Instance(this.#module);
    const instance = this.#instance;
    let code, handle;
    try {
      [code, handle] = instance.withTexts([verb, JSON.stringify(document)], (room, [[name], [json, size]]) => [
        instance.wasm.rl_call(name, json, size, 0, room),
        new Handle(instance, instance.word(room)),
      ]);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) {
        throw error;
      }
      this.#instance = null;
      instance.failed = true;
      const said = instance.said.trim() || String(error);
      throw new InternalError([problem("internal", "", `a fault of this library: ${said}`, "the next call starts afresh")]);
    }
    const tree = JSON.parse(handle.json());
    if (Array.isArray(tree.errors)) {
      handle.free();
      const Kind = { [EXIT.usage]: ConfigError, [EXIT.infeasible]: Infeasible }[code] ?? InternalError;
      throw new Kind(
        tree.errors.map((found) => ({
          ...found,
          field: asKeys(found.field),
          message: asKeys(found.message),
          hint: asKeys(found.hint),
        })),
      );
    }
    return { code, tree, handle };
  }

  /** The answer to a verb of the C API, whose keys are those of a scenario file. */
  call(verb, document = {}) {
    const { tree, handle } = this.#call(verb, plain(document, verb));
    handle.free();
    return tree;
  }
  list(kind) {
    return this.call("list", { kind });
  }
  schema(name) {
    return this.call("schema", { name });
  }

  /** Options at their places in a scenario, laid over `scenario`; `own` are the keys of the verb itself. */
  #document({ scenario, ...options }, own = []) {
    this.#paths ??= new Map(Object.entries(this.schema("options").properties).map(([name, { path }]) => [name, path]));
    const document = Object.create(null);
    if (scenario !== undefined && scenario !== null) {
      document.base = scenario instanceof Result ? scenario.config : plain(scenario, "scenario");
    }
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || value === null) {
        continue;
      }
      const path = (!own.includes(name) && this.#paths.get(name)?.split(".")) || [name];
      const section = path.slice(0, -1).reduce((place, key) => (place[key] ??= {}), document);
      section[path.at(-1)] = plain(value, name);
    }
    return document;
  }

  /** Refuses a run whose records would not fit into the memory that WebAssembly can have. */
  #checkSize(document) {
    const workload = { ...document.base?.workload, ...document.workload };
    const percentiles = document.percentiles ?? document.base?.percentiles;
    const most = Math.floor(MEMORY_SIZE / REQUEST_SIZE);
    if (workload.num_prompts > most && percentiles !== "sketch") {
      const message = `found ${workload.num_prompts}, expected at most ${most}: more do not fit into the 4 GiB that WebAssembly can have`;
      throw new ConfigError([problem("usage", "num_prompts", message, 'percentiles: "sketch" keeps no requests')]);
    }
  }

  #simulate(verb, { requests = true, steps = false, series = false, figures = true, ...options }) {
    const document = this.#document(options);
    this.#checkSize(document);
    document.keep = [
      ...(requests === false ? [] : ["requests"]),
      ...(steps ? ["steps"] : []),
      ...(series !== false ? ["series"] : figures ? ["figures"] : []),
    ];
    const windows = typeof series === "number" ? series : figures;
    if (typeof windows === "number") {
      document.series_buckets = plain(windows, typeof series === "number" ? "series" : "figures");
    }
    const { code, tree, handle } = this.#call(verb, document);
    const result = new Result(handle, tree);
    if (code === EXIT.infeasible) {
      const error = new Infeasible([problem("infeasible", "requests", "no request got an answer", "error.result holds the run")]);
      error.result = result;
      throw error;
    }
    return result;
  }

  run(options = {}) {
    return this.#simulate("run", options);
  }
  explain(options = {}) {
    return this.call("explain", this.#document(options));
  }
  step(options = {}) {
    return this.call("step", this.#document(options, ["decode", "prefill", "samples", "compare"]));
  }
}

async function moduleFrom(source) {
  if (source instanceof WebAssembly.Module) {
    return source;
  }
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    return WebAssembly.compile(source);
  }
  const url = new URL(source ?? "./ridgeline.wasm", import.meta.url);
  if (url.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url}: ${response.status} ${response.statusText}`);
  }
  return response.headers.get("Content-Type") === "application/wasm"
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

// A simulator in a worker

const KINDS = { RidgelineError, ConfigError, Infeasible, InternalError, TypeError };

/** A thread of its own, in Node and in browsers: what it says goes to `hear`, what ends it to `fail`. */
async function startWorker(hear, fail) {
  const url = new URL("./worker.js", import.meta.url);
  if (!globalThis.process?.versions?.node) {
    const worker = new Worker(url, { type: "module" });
    worker.onmessage = ({ data }) => hear(data);
    worker.onerror = (event) => fail(event.message);
    return { worker, keepAwake: () => {} };
  }
  const { Worker: Thread } = await import("node:worker_threads");
  const worker = new Thread(url, { execArgv: [] });
  worker.on("message", hear);
  worker.on("error", (error) => fail(String(error)));
  worker.unref(); // It does not keep the process, but while it computes.
  return { worker, keepAwake: (isBusy) => (isBusy ? worker.ref() : worker.unref()) };
}

const remoteRegistry = new FinalizationRegistry(({ remote, number }) => remote.forget(number));

/** A result in the worker: its JSON is here, the rest is asked for. */
export class RemoteResult {
  #remote;
  #number;
  #tree;
  #tables = {};
  constructor(remote, number, tree) {
    this.#remote = remote;
    this.#number = number;
    this.#tree = tree;
    for (const key of Object.keys(tree)) {
      Object.defineProperty(this, key, { enumerable: true, value: tree[key] });
    }
    remoteRegistry.register(this, { remote, number }, this);
  }
  /** Its columns are handed over once. */
  #table(name) {
    return (this.#tables[name] ??= this.#remote.ask(name, this.#number));
  }
  get requests() {
    return this.#table("requests");
  }
  get steps() {
    return this.#table("steps");
  }
  figures() {
    return this.#remote.ask("figures", this.#number);
  }
  figure(name) {
    return this.#remote.ask("figure", this.#number, name);
  }
  report(format) {
    return this.#remote.ask("report", this.#number, format);
  }
  toJSON() {
    return this.#tree;
  }
  free() {
    remoteRegistry.unregister(this);
    this.#remote.forget(this.#number);
  }
}

/** The simulator in a worker: the same calls, which return promises. */
export class RemoteRidgeline {
  #waiting = new Map();
  #calls = 0;
  #port;

  /** For load(). */
  static async start(module) {
    const remote = new RemoteRidgeline();
    remote.#port = await startWorker(
      (answer) => remote.#hear(answer),
      (why) => remote.#end(why),
    );
    remote.version = await remote.ask("start", module);
    return remote;
  }
  /** One question to the worker. */
  ask(verb, ...words) {
    if (this.#port === null) {
      return Promise.reject(new Error("the worker was closed"));
    }
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      try {
        this.#port.worker.postMessage({ id, verb, words });
      } catch (error) {
        reject(new TypeError(error.message)); // A value that cannot be sent: a function.
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      this.#port.keepAwake(true);
    });
  }
  forget(number) {
    this.#port?.worker.postMessage({ verb: "free", words: [number] });
  }
  #hear({ id, value, result, error }) {
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    this.#port?.keepAwake(this.#waiting.size > 0);
    const kept = result && new RemoteResult(this, result.number, result.tree);
    if (!error) {
      resolve(kept ?? value);
      return;
    }
    const Kind = KINDS[error.name] ?? Error;
    const raised = new Kind(error.errors ?? error.message);
    if (kept) {
      raised.result = kept;
    }
    reject(raised);
  }
  #end(why) {
    this.#port = null;
    for (const { reject } of this.#waiting.values()) {
      reject(new InternalError([problem("internal", "worker", `the worker ended: ${why}`, "load() starts another")]));
    }
    this.#waiting.clear();
  }
  #scenario({ scenario, ...options }) {
    return { scenario: scenario instanceof RemoteResult || scenario instanceof Result ? scenario.config : scenario, ...options };
  }
  run(options = {}) {
    return this.ask("run", this.#scenario(options));
  }
  explain(options = {}) {
    return this.ask("explain", this.#scenario(options));
  }
  step(options = {}) {
    return this.ask("step", this.#scenario(options));
  }
  list(kind) {
    return this.ask("list", kind);
  }
  schema(name) {
    return this.ask("schema", name);
  }
  call(verb, document = {}) {
    return this.ask("call", verb, document);
  }
  /** Ends the worker; what goes on is given up. */
  close() {
    const port = this.#port;
    this.#end("it was closed");
    port?.worker.terminate();
  }
}

/**
 * Loads the simulator: from beside this file, or from `wasm`: a URL, bytes, or a compiled module. With `worker` it runs
 * in a thread of its own, and its calls return promises.
 */
export async function load({ wasm, worker = false } = {}) {
  const module = await moduleFrom(wasm);
  return worker ? RemoteRidgeline.start(module) : new Ridgeline(module);
}
