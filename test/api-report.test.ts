// The public surface does not change unseen, and every name of it says what it is.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readApi } from "../scripts/api/model.ts";
import { API_FOLDER, apiPages } from "../scripts/api/pages.ts";
import { projectRoot } from "./support/source-files.ts";

const modules = readApi();
const pages = await apiPages(modules);

test("the API reference is the source's; `npm run api:update` writes it", () => {
  const onDisk = (path: string): string | null =>
    existsSync(join(projectRoot, path)) ? readFileSync(join(projectRoot, path), "utf8") : null;
  for (const { path, text } of pages) expect(onDisk(path), path).toBe(text);
  const written = pages.map(({ path }) => path).filter((path) => path.startsWith(`${API_FOLDER}/`));
  expect(globSync(`${API_FOLDER}/*`, { cwd: projectRoot }).sort()).toEqual(written.sort());
});

test("every exported name has a doc comment", () => {
  const silent = modules.flatMap(({ name, items }) =>
    items.filter(({ doc }) => doc === "").map((item) => `${name} ${item.name} (${item.source})`),
  );
  expect(silent).toEqual([]);
});

test("what is private, and what users cannot reach, is not shown", () => {
  const shown = modules.flatMap(({ items }) => items.map(({ signature }) => signature)).join("\n");
  expect(shown).not.toMatch(/#\w+;|\bprivate\b/);
});
