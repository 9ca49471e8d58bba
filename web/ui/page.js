// The page: controls from the option table, one run in flight, the newest wins.
const PATIENCE_MS = 250; // A run that takes longer is ended when a newer one is asked for.

// The controls at the top; the others are below "more settings". Sliders run over powers of ten between two ends.
const MAIN = [
  { name: "model", list: "models" },
  { name: "gpu", list: "gpus" },
  { name: "tensor_parallel_size", choices: ["1", "2", "4", "8"] },
  { name: "request_rate", from: 0.1, to: 1000 },
  { name: "input_len", from: 1, to: 100000, whole: true },
  { name: "output_len", from: 1, to: 10000, whole: true },
  { name: "num_prompts", from: 10, to: 100000, whole: true },
  { name: "slo_ttft" },
  { name: "slo_tpot" },
  { name: "seed" },
];

// Numbers of the result that stand on top: what they are called, their place in the JSON, their unit.
const TILES = [
  ["TTFT p99", "summary.ttft_ms.p99", "ms", "ttft"],
  ["TPOT p99", "summary.tpot_ms.p99", "ms", "tpot"],
  ["end to end p99", "summary.e2e_ms.p99", "ms", "e2e"],
  ["output", "summary.output_throughput", "tok/s", "output_throughput"],
  ["goodput", "summary.goodput", "req/s"],
  ["KV cache peak", "summary.kv_cache.peak", "%"],
];

const LISTS = { model: "models", gpu: "gpus" };

const $ = (id) => document.getElementById(id);
const at = (tree, path) => path.split(".").reduce((place, key) => place?.[key], tree);

/** An element with attributes and children; texts are text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

/** The token of a served page, which is no setting. */
function taken(found) {
  const { token, ...rest } = found;
  if (token) {
    sessionStorage.setItem("token", token);
  }
  return Object.keys(rest).length > 0 ? rest : { ...USUAL };
}

const isServed = document.body.dataset.backend === "native";
const read = (link) => (isServed ? taken(stateOf(link)) : stateOf(link));
let state = read(location.hash || document.body.dataset.link);
const native = isServed ? { origin: location.origin, token: sessionStorage.getItem("token") ?? "" } : null;
let table = {};
const fields = new Map(); // Of every option: the elements that show it.

// Controls

function set(name, text) {
  if (text === "") {
    delete state[name];
  } else {
    state[name] = text;
  }
  show(name);
  changed();
}

/** Writes an option's text where it is shown, but not where it is being typed. */
function show(name) {
  for (const element of fields.get(name) ?? []) {
    const text = state[name] ?? "";
    if (element.type === "range") {
      const value = Number(text);
      element.disabled = text !== "" && !Number.isFinite(value);
      element.value = value > 0 ? Math.log10(value) : element.min;
    } else if (element !== document.activeElement) {
      element.value = text;
    }
  }
}

function control(name, { list, choices, from, to, whole } = {}) {
  const option = table[name];
  const id = `${from || list || choices ? "main" : "more"}-${name}`;
  const known = choices ?? option.anyOf?.find((either) => either.enum)?.enum ?? (option.kind === "true or false" ? ["true", "false"] : null);
  const title = `${option.description} (${[option.unit, option.range_text, `default: ${option.default_text}`].filter(Boolean).join("; ")})`;
  const input = known
    ? make("select", { id }, ...["", ...known].map((word) => make("option", { value: word }, String(word) || `(${option.default_text})`)))
    : make("input", { id, type: "text", list, spellcheck: "false", autocomplete: "off", placeholder: option.default_text });
  input.addEventListener(known ? "change" : "input", () => set(name, input.value));
  const shown = [input];
  if (from) {
    const range = make("input", { type: "range", min: Math.log10(from), max: Math.log10(to), step: 0.01, "aria-label": `${name}, slider` });
    range.addEventListener("input", () => {
      const value = 10 ** range.value;
      set(name, whole ? String(Math.round(value)) : String(Number(value.toPrecision(3))));
    });
    shown.push(range);
  }
  fields.set(name, [...(fields.get(name) ?? []), ...shown]);
  return make("div", { class: "control", title, "data-option": name }, make("label", { for: id }, name.replaceAll("_", " ")), ...shown);
}

/** The settings in which B differs: one line each, and one to add another. */
function showSide() {
  const own = Object.entries(state).filter(([name]) => name.startsWith("B."));
  const line = ([name, value]) => {
    const plain = name.slice(2);
    const field = make("input", { value, type: "text", id: `b-${plain}`, list: LISTS[plain], autocomplete: "off", spellcheck: "false" });
    field.addEventListener("input", () => {
      state[name] = field.value;
      changed();
    });
    const drop = make("button", { type: "button", "aria-label": `B as A in ${plain}` }, "remove");
    drop.addEventListener("click", () => {
      delete state[name];
      showSide();
      changed();
    });
    return make("div", { class: "control" }, make("label", { for: field.id }, `B ${plain.replaceAll("_", " ")}`), field, drop);
  };
  $("side").replaceChildren(...own.map(line));
}

function build({ models, gpus, version }) {
  $("version").textContent = version;
  for (const [id, all] of Object.entries({ models, gpus })) {
    document.body.append(make("datalist", { id }, ...all.map(({ name, summary }) => make("option", { value: name }, summary))));
  }
  $("main").append(...MAIN.map((how) => control(how.name, how)));
  const sections = new Map();
  for (const [name, option] of Object.entries(table)) {
    const section = option.path.includes(".") ? option.path.slice(0, option.path.lastIndexOf(".")) : "run";
    sections.set(section, [...(sections.get(section) ?? []), name]);
  }
  const main = new Set(MAIN.map(({ name }) => name));
  for (const [section, names] of sections) {
    const others = names.filter((name) => !main.has(name));
    if (others.length > 0) {
      $("more").append(make("details", {}, make("summary", {}, section), ...others.map((name) => control(name))));
    }
  }
  $("compare").append(make("option", { value: "" }, "compare with another ..."), ...Object.keys(table).map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  $("compare").addEventListener("change", () => {
    const name = $("compare").value;
    $("compare").value = "";
    if (name) {
      state[`B.${name}`] ??= state[name] ?? "";
      showSide();
      $(`b-${name}`).focus();
      changed();
    }
  });
  $("filter").addEventListener("input", () => {
    const word = $("filter").value.trim().replaceAll(" ", "_").toLowerCase();
    for (const group of $("more").children) {
      const found = [...group.querySelectorAll(".control")].filter((element) => {
        element.hidden = !`${element.dataset.option} ${element.title}`.toLowerCase().includes(word);
        return !element.hidden;
      });
      group.hidden = found.length === 0;
      group.open = word !== "" && found.length > 0;
    }
  });
}

// Runs

let compiled, worker, asked, waiting;
let count = 0;
let searched = false;

function start(onReady) {
  worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => {
    if (data.table) {
      onReady?.(data);
      return;
    }
    asked = undefined;
    clearTimeout(waiting);
    if (data.id === count) {
      answer(data);
    } else {
      ask();
    }
  };
  return () => worker.postMessage(native ? { native } : { module: compiled });
}

function ask() {
  if (asked) {
    // The newest is asked for when the run in flight ends, or is ended.
    const left = Math.max(0, asked.start + PATIENCE_MS - performance.now());
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      worker.terminate();
      asked = undefined;
      start()();
      ask();
    }, left);
    return;
  }
  asked = { start: performance.now() };
  const { a, b } = sidesOf(state);
  worker.postMessage({ id: count, options: optionsOf(a, table), other: b && optionsOf(b, table), search: searched ? optionsOf(a, table) : undefined });
}

/** The highest rate within the targets; a change of the settings ends the search. */
function findCapacity() {
  searched = true;
  $("capacity").textContent = "searching";
  document.body.dataset.state = "searching";
  ++count;
  ask();
}

/** The address follows with the answers: a browser takes 200 changes of it in half a minute. */
function showLink() {
  history.replaceState(null, "", `#${linkOf(state)}`);
}

function changed() {
  const { a, b } = sidesOf(state);
  $("command").textContent = [a, b].filter(Boolean).map(commandOf).join("\n");
  searched = false;
  $("capacity").textContent = "";
  document.body.dataset.state = "asked";
  ++count;
  ask();
}

// Answers

/** A number of the result in its unit; shares are percent. */
function text(value, unit) {
  return typeof value === "number" ? `${Number((unit === "%" ? 100 * value : value).toPrecision(4))} ${unit}` : "–";
}

/** Why a number has no error to expect: the words of the report's page. */
function whyNoError(tree, metric) {
  if (tree.bound) {
    return "a bound, not an estimate";
  }
  if (tree.expected_error?.tpot && tree.summary.overload) {
    return "the queue grows: it says how long the run is";
  }
  return tree.expected_error?.tpot && metric === "output_throughput" ? "set by the rate of requests" : "too few measured runs like this";
}

/** One headline number of A, and of B beside it: the target, and how far such predictions were off. */
function tile([name, path, unit, metric], tree, other) {
  const slo = tree.summary.slo?.[metric];
  const verdict = slo ? (slo.met ? "met" : "missed") : "";
  const band = tree.expected_error?.[metric];
  const [mine, theirs] = [at(tree, path), other && at(other, path)];
  const ratio = mine > 0 && theirs > 0 ? `, ${Number((theirs / mine).toPrecision(3))} of A` : "";
  return make(
    "div",
    { class: `tile ${verdict}`, "data-key": path },
    make("span", {}, name),
    make("b", {}, text(mine, unit)),
    other ? make("b", { "data-side": "b" }, `B ${text(theirs, unit)}${ratio}`) : "",
    make("span", {}, verdict && `target ${verdict}`),
    metric ? make("small", { title: band?.slice ?? "" }, band ? `means off by ${band.p90_pct.low} to ${band.p90_pct.high} % in 90 % of ${band.groups} deployments` : whyNoError(tree, metric)) : "",
  );
}

// Pictures: those near the screen are drawn with the answer, the others when they come near it or nothing else is to do.

const REST_MS = 200; // Without a newer answer.
const NEAR = "200px";
const pictures = new Map(); // By side and name: { box, caption, image, svg, isNear, isStale }.
let resting;

function draw(picture) {
  picture.image.src = `data:image/svg+xml,${encodeURIComponent(picture.svg)}`;
  picture.isStale = false;
}

const watch = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const picture = pictures.get(target.dataset.key);
      if (picture?.box === target) {
        picture.isNear = isIntersecting;
        if (isIntersecting && picture.isStale) {
          draw(picture);
        }
      }
    }
  },
  { rootMargin: NEAR },
);

function drawStale() {
  const next = [...pictures.values()].find(({ isStale }) => isStale);
  if (next) {
    draw(next);
    resting = setTimeout(drawStale);
  }
}

function newPicture(key, name, side) {
  const caption = make("figcaption");
  const image = make("img", { "data-figure": name, "data-side": side || undefined });
  const box = make("figure", { "data-key": key }, caption, image);
  return { box, caption, image, isNear: false };
}

/** Shows these figures, [figure, side] each, in the places of those before where they have the same names. */
function showPictures(list) {
  clearTimeout(resting);
  const keys = list.map(([{ name }, side]) => `${side || ""} ${name}`);
  const isNew = keys.join() !== [...pictures.keys()].join();
  if (isNew) {
    watch.disconnect();
    pictures.clear();
  }
  list.forEach(([{ title, description, name, svg }, side], i) => {
    const picture = pictures.get(keys[i]) ?? newPicture(keys[i], name, side);
    pictures.set(keys[i], picture);
    picture.caption.textContent = (side ? `${side}: ` : "") + (title || name);
    picture.image.alt = description || name;
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
    picture.image.width = width;
    picture.image.height = height;
    picture.isStale = picture.isStale || picture.svg !== svg;
    picture.svg = svg;
  });
  if (isNew) {
    $("figures").replaceChildren(...[...pictures.values()].map(({ box }) => box));
    for (const picture of pictures.values()) {
      picture.isNear = picture.box.getBoundingClientRect().top < innerHeight;
      watch.observe(picture.box);
    }
  }
  for (const picture of pictures.values()) {
    if (picture.isStale && picture.isNear) {
      draw(picture);
    }
  }
  resting = setTimeout(drawStale, REST_MS);
}

addEventListener("beforeprint", () => {
  for (const picture of pictures.values()) {
    if (picture.isStale) {
      draw(picture);
    }
  }
});

function answer({ tree, text: printed, figures, other, capacity, errors, ms }) {
  showLink();
  if (capacity) {
    searched = false;
    $("capacity").textContent = `highest rate within the targets: ${capacity.rate} req/s (${capacity.runs} runs, to 1 %)`;
    document.body.dataset.state = "answered";
    return;
  }
  $("errors").replaceChildren(
    ...(errors ?? []).map(({ field, message, hint }) => make("li", {}, [field, message].filter(Boolean).join(": "), hint ? make("small", {}, ` ${hint}`) : "")),
  );
  $("results").hidden = Boolean(errors);
  if (!errors) {
    $("tiles").replaceChildren(...TILES.map((shown) => tile(shown, tree, other?.tree)));
    $("warnings").replaceChildren(...tree.warnings.map(({ message, hint }) => make("li", {}, hint ? `${message} (${hint})` : message)));
    const drawn = figures.filter(({ svg }) => svg);
    const beside = (name) => other?.figures.filter((figure) => figure.svg && figure.name === name) ?? [];
    showPictures(drawn.flatMap((figure) => [[figure, other && "A"], ...beside(figure.name).map((theirs) => [theirs, "B"])]));
    $("printed").textContent = other ? `A\n${printed}\nB\n${other.text}` : printed;
    $("digest").textContent = tree.digest;
    $("digest-b").textContent = other ? ` B ${other.tree.digest}` : "";
    $("time").textContent = `${ms.toFixed(0)} ms ${native ? "by the program" : "in this browser"}`;
  }
  document.body.dataset.state = errors ? "refused" : "answered";
}

function unpacked() {
  const { size, compressedSize } = $("wasm").dataset;
  return unpackedLzma(bytesOf($("wasm").textContent, Number(compressedSize)), Number(size));
}

async function open() {
  // The worker's thread starts while the module is unpacked, and it runs while the controls are made.
  const send = start((ready) => {
    table = ready.table;
    changed();
    build(ready);
    const showAll = () => {
      for (const name of fields.keys()) {
        show(name);
      }
      showSide();
    };
    addEventListener("hashchange", () => {
      state = read(location.hash);
      showAll();
      changed();
    });
    showAll();
  });
  if (!native) {
    compiled = await WebAssembly.compile(unpacked());
  }
  send();
  $("copy-command").addEventListener("click", () => navigator.clipboard.writeText($("command").textContent));
  $("find-capacity").addEventListener("click", findCapacity);
  $("copy-link").addEventListener("click", () => {
    showLink();
    navigator.clipboard.writeText(location.href);
  });
}

open().catch((error) => {
  $("errors").replaceChildren(make("li", {}, `This browser cannot run the simulator: ${error}`));
});
