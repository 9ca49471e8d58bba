// What the page is asked for: option names with their texts, as a link, as a call of the library, as a command.

/** Shown where the link says nothing. */
export const USUAL = {
  model: "llama-3.1-8b", gpu: "h100", request_rate: "8", num_prompts: "1000", input_len: "512", output_len: "256",
  slo_ttft: "50ms", slo_tpot: "10ms", seed: "1",
};

const WHOLE = /^[-+]?\d+$/;
const REAL = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
const NUMBERS = { integer: WHOLE, "integer or distribution": WHOLE, number: REAL, duration: REAL };

/** The value that a text means for an option, as the library takes it; a text that means none goes as it is. */
export function valueOf(option, text) {
  const plain = text.trim();
  if (option?.kind === "true or false" && (plain === "true" || plain === "false")) {
    return plain === "true";
  }
  if (NUMBERS[option?.kind]?.test(plain)) {
    return Number(plain);
  }
  if (/^[[{]/.test(plain)) {
    try {
      return JSON.parse(plain);
    } catch {
      return text; // The library says what it expects.
    }
  }
  return text;
}

/** Options for rl.run(). */
export function optionsOf(state, table) {
  return Object.fromEntries(Object.entries(state).map(([name, text]) => [name, valueOf(table[name], text)]));
}

const flagOf = (name) => name.replaceAll("_", "-");

/** The part of a link behind its "#": flags' names and their texts. */
export function linkOf(state) {
  return new URLSearchParams(Object.entries(state).map(([name, text]) => [flagOf(name), text])).toString();
}

export function stateOf(link) {
  const entries = [...new URLSearchParams(link.replace(/^#/, ""))].map(([flag, text]) => [flag.replaceAll("-", "_"), text]);
  return entries.length > 0 ? Object.fromEntries(entries) : { ...USUAL };
}

/** One word of a POSIX shell. */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that gives the same digest. */
export function commandOf(state) {
  return ["ridgeline", "run", ...Object.entries(state).map(([name, text]) => quoted(`--${flagOf(name)}=${text}`))].join(" ");
}
