// Behind npm/index.js in one module: answers the page, one question at a time.
let rl;

function answerOf(options) {
  const result = rl.run({ ...options, requests: false });
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

onmessage = ({ data: { module, id, options, other, search } }) => {
  if (module) {
    rl = new Ridgeline(module);
    const table = rl.schema("options").properties;
    const names = (kind) => rl.list(kind).map(({ name, summary }) => ({ name, summary }));
    postMessage({ version: rl.version, table, models: names("models"), gpus: names("gpus") });
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
