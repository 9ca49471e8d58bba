// Behind npm/index.js in one module: answers the page, one question at a time.
let rl;

/** The program behind `ridgeline ui --listen`, asked as the library is. */
class Native {
  #table;
  constructor({ origin, token }) {
    this.origin = origin;
    this.token = token;
  }
  #call(verb, document) {
    const request = new XMLHttpRequest();
    request.open("POST", `${this.origin}/call/${verb}`, false);
    request.setRequestHeader("Content-Type", "application/json");
    request.setRequestHeader("X-Ridgeline-Token", this.token);
    request.send(JSON.stringify(document));
    const why = { 401: "the link has another token: open the one that the program printed", 403: "a file outside of --root", 413: "more than 1 MiB", 503: "the program has other calls to answer" };
    if (request.status !== 200) {
      throw new RidgelineError([problem("usage", "", `the program refused: ${why[request.status] ?? request.status}`)]);
    }
    const answer = JSON.parse(request.responseText);
    if (answer.errors) {
      throw new RidgelineError(answer.errors);
    }
    return answer;
  }
  schema(name) {
    return this.#call("schema", { name });
  }
  list(kind) {
    return this.#call("list", { kind });
  }
  run({ requests: _, figures = WINDOWS, ...options }) {
    this.#table ??= this.schema("options").properties;
    const document = { keep: figures ? ["figures"] : [], ...(figures ? { series_buckets: figures } : {}) };
    for (const [name, value] of Object.entries(options)) {
      const path = this.#table[name]?.path.split(".") ?? [name];
      path.slice(0, -1).reduce((place, key) => (place[key] ??= {}), document)[path.at(-1)] = value;
    }
    const { code, tree, text, figures: drawn } = this.#call("run", document);
    if (code === EXIT.infeasible) {
      throw new RidgelineError([problem("infeasible", "requests", "no request got an answer")]);
    }
    return { toJSON: () => tree, report: () => text, figures: () => drawn, figure: (wanted) => drawn.find(({ name }) => name === wanted)?.svg, free: () => {} };
  }
}

// Windows of the pictures over time: as many as a picture in two columns has pixels.
const WINDOWS = 256;

function answerOf(options) {
  const result = rl.run({ ...options, requests: false, figures: WINDOWS });
  const figures = result.figures().map((figure) => ({ ...figure, svg: result.figure(figure.name) }));
  const answer = { tree: result.toJSON(), text: result.report("table"), figures };
  result.free();
  return answer;
}

/** The highest request rate at which every target is met, to 1 %: doubled until one is missed, then halved between. */
function capacityOf(options) {
  const DOUBLINGS = 20;
  const CLOSE = 1.01;
  let runs = 0;
  const isMet = (rate) => {
    ++runs;
    const result = rl.run({ ...options, request_rate: rate, requests: false, figures: false });
    const targets = Object.values(result.toJSON().summary.slo ?? {}).filter((slo) => typeof slo?.met === "boolean");
    result.free();
    if (targets.length === 0) {
      throw new RidgelineError([problem("usage", "slo_ttft", "missing: a search for the capacity needs a target")]);
    }
    return targets.every(({ met }) => met);
  };
  const start = Number(options.request_rate) > 0 ? Number(options.request_rate) : 1;
  let [low, high] = [start, start];
  for (let i = 0; i < DOUBLINGS && isMet(high); ++i) {
    low = high;
    high *= 2;
  }
  for (let i = 0; i < DOUBLINGS && low === high && !isMet(low); ++i) {
    high = low;
    low /= 2;
  }
  while (high / low > CLOSE) {
    const middle = Math.sqrt(low * high);
    [low, high] = isMet(middle) ? [middle, high] : [low, middle];
  }
  return { rate: Number(low.toPrecision(3)), runs };
}

onmessage = ({ data: { module, native, id, options, other, search } }) => {
  if (module || native) {
    rl = native ? new Native(native) : new Ridgeline(module);
    const table = rl.schema("options").properties;
    const names = (kind) => rl.list(kind).map(({ name, summary }) => ({ name, summary }));
    postMessage({ version: rl.version ?? "", table, models: names("models"), gpus: names("gpus") });
    return;
  }
  const start = performance.now();
  try {
    if (search) {
      postMessage({ id, capacity: capacityOf(search) });
      return;
    }
    const answer = answerOf(options);
    const second = other && answerOf(other);
    postMessage({ id, ...answer, other: second, ms: performance.now() - start });
  } catch (error) {
    const errors = error instanceof RidgelineError ? error.errors : [{ field: "", message: String(error), hint: "" }];
    postMessage({ id, errors });
  }
};
