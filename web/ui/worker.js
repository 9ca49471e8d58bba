// Behind npm/index.js in one module: answers the page, one run at a time.
let rl;
onmessage = ({ data: { module, id, options } }) => {
  if (module) {
    rl = new Ridgeline(module);
    const table = rl.schema("options").properties;
    const names = (kind) => rl.list(kind).map(({ name, summary }) => ({ name, summary }));
    postMessage({ version: rl.version, table, models: names("models"), gpus: names("gpus") });
    return;
  }
  const start = performance.now();
  try {
    const result = rl.run({ ...options, requests: false });
    const figures = result.figures().map((figure) => ({ ...figure, svg: result.figure(figure.name) }));
    const tree = result.toJSON();
    const text = result.report("table");
    result.free();
    postMessage({ id, tree, text, figures, ms: performance.now() - start });
  } catch (error) {
    const errors = error instanceof RidgelineError ? error.errors : [{ field: "", message: String(error), hint: "" }];
    postMessage({ id, errors });
  }
};
