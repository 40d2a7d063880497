// The public API does not change unnoticed, and every exported name is documented.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readApi } from "../../scripts/api/model.ts";
import { API_FOLDER, apiPages } from "../../scripts/api/pages.ts";
import { projectRoot } from "../support/source-files.ts";

const modules = readApi();
const pages = await apiPages(modules);

test("the API reference matches the source; `npm run api:update` writes it", () => {
  const onDisk = (path: string): string | null =>
    existsSync(join(projectRoot, path)) ? readFileSync(join(projectRoot, path), "utf8") : null;
  for (const { path, text } of pages) expect(onDisk(path), path).toBe(text);
  const written = pages.map(({ path }) => path).filter((path) => path.startsWith(`${API_FOLDER}/`));
  expect(globSync(`${API_FOLDER}/*`, { cwd: projectRoot }).sort()).toEqual(written.sort());
});

test("every exported name has a doc comment", () => {
  const undocumented = modules.flatMap(({ name, items }) =>
    items.filter(({ doc }) => doc === "").map((item) => `${name} ${item.name} (${item.source})`),
  );
  expect(undocumented).toEqual([]);
});

test("private members are not shown", () => {
  const shown = modules.flatMap(({ items }) => items.map(({ signature }) => signature)).join("\n");
  expect(shown).not.toMatch(/#\w+;|\bprivate\b/);
});

test("each function, class and constant is exported from one module", () => {
  const places = new Map<string, string[]>();
  for (const { name, items } of modules) {
    for (const item of items.filter(({ kind }) => kind !== "type")) {
      const key = `${item.name} (${item.source})`;
      places.set(key, [...(places.get(key) ?? []), name]);
    }
  }
  expect([...places].filter(([, names]) => names.length > 1)).toEqual([]);
});
