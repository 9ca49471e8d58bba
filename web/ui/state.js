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

const OF_B = "B.";

/** The settings of A, and those of B, which are A's but for the names that begin with "B."; null where nothing is compared. */
export function sidesOf(state) {
  const entries = Object.entries(state);
  const a = Object.fromEntries(entries.filter(([name]) => !name.startsWith(OF_B)));
  const own = entries.filter(([name]) => name.startsWith(OF_B)).map(([name, text]) => [name.slice(OF_B.length), text]);
  return { a, b: own.length > 0 ? { ...a, ...Object.fromEntries(own) } : null };
}

/** One word of a POSIX shell. */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that gives the same digest. */
export function commandOf(state) {
  return ["ridgeline", "run", ...Object.entries(state).map(([name, text]) => quoted(`--${flagOf(name)}=${text}`))].join(" ");
}

/**
 * So many bytes of a text that tools/build_page.py packed: letters of windows-1252, of which a script cannot hold NUL, CR, and
 * "<" before "/" and "!". The letter 1 stands before what means one of these, or itself.
 */
export function bytesOf(text, count) {
  const ESCAPE = 1;
  const ESCAPED = { a: 0, b: 13, c: 60, d: ESCAPE };
  const letters = new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  const byteOf = new Map(Array.from(letters, (letter, byte) => [letter.charCodeAt(0), byte]));
  const bytes = new Uint8Array(count);
  let size = 0;
  for (let i = 0; i < text.length; ++i) {
    const letter = text.charCodeAt(i);
    bytes[size++] = letter === ESCAPE ? ESCAPED[text[++i]] : letter < 128 ? letter : byteOf.get(letter);
  }
  return bytes;
}
