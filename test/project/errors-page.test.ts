// docs/errors.md and the table in the code agree.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/core/errors/errors.ts";

test("docs/errors.md lists every error code with its text from the source, in the same order", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\|\s*`([A-Z_]+)`\s*\|\s*(.+?)\s*\|.+\|$/gm)];
  expect(rows.map((row) => [row[1], row[2]])).toEqual(Object.entries(ERROR_CODES));
});
