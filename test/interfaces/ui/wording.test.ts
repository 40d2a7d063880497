// The dashboard's texts are plain English: these words must not appear.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const DIALECT =
  /\b(nobody|somebody|anybody|whoever|anew|nevertheless|taken away|asked to end|under way|made up|of its own|took|goes on|sign of life)\b/i;

test("no text of the dashboard uses a forbidden word", () => {
  const folder = join(projectRoot, "ui", "src");
  const found = globSync("**/*.{ts,tsx}", { cwd: folder }).flatMap((file) =>
    readFileSync(join(folder, file), "utf8")
      .replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "")
      .split("\n")
      .filter((line) => DIALECT.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
