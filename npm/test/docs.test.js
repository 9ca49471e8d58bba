// The blocks of docs/javascript.md print what stands below them. One after the other, as a reader would run them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));

test("docs/javascript.md", () => {
  const page = readFileSync(`${here}../../docs/javascript.md`, "utf8");
  const blocks = [...page.matchAll(/```js\n([^]*?)```\n```\n([^]*?)```/g)];
  assert.ok(blocks.length >= 4);
  const program = blocks.map(([, code]) => code).join("\n");
  const output = execFileSync("node", ["--input-type=module", "--eval", program], { cwd: here, encoding: "utf8" });
  assert.equal(output, blocks.map(([, , text]) => text).join(""));
});
