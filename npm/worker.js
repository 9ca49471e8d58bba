// Answers a RemoteRidgeline (index.js): one call at a time, with results kept until they are freed.
import { Ridgeline } from "./index.js";

let rl;
let count = 0;
const results = new Map();

/** A table with every column read, and the buffers that can be handed over. */
function whole(table) {
  const columns = Object.fromEntries(Object.entries(table));
  const buffers = Object.values(columns).filter(ArrayBuffer.isView).map(({ buffer }) => buffer);
  return { value: columns, buffers };
}

const kept = (result) => {
  results.set(++count, result);
  return { number: count, tree: result.toJSON() };
};

const VERBS = {
  start: (module) => {
    rl = new Ridgeline(module);
    return { value: rl.version };
  },
  run: (options) => ({ result: kept(rl.run(options)) }),
  requests: (number) => whole(results.get(number).requests),
  steps: (number) => whole(results.get(number).steps),
  figures: (number) => ({ value: results.get(number).figures() }),
  figure: (number, name) => ({ value: results.get(number).figure(name) }),
  report: (number, format) => ({ value: results.get(number).report(format) }),
};
for (const verb of ["explain", "step", "list", "schema", "call"]) {
  VERBS[verb] = (...words) => ({ value: rl[verb](...words) });
}

function answer({ id, verb, words }, port) {
  if (verb === "free") {
    results.get(words[0])?.free();
    results.delete(words[0]);
    return;
  }
  try {
    if (typeof words[0] === "number" && !results.has(words[0])) {
      throw new Error("the result was freed");
    }
    const { value, result, buffers = [] } = VERBS[verb](...words);
    port.postMessage({ id, value, result }, buffers);
  } catch (error) {
    const { name, message, errors } = error;
    port.postMessage({ id, error: { name, message, errors }, result: error.result && kept(error.result) });
  }
}

if (globalThis.process?.versions?.node) {
  const { parentPort } = await import("node:worker_threads");
  parentPort.on("message", (data) => answer(data, parentPort));
} else {
  onmessage = ({ data }) => answer(data, globalThis);
}
