// What a browser must fetch: little, and only from the server.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { builtUi } from "./support/built-ui.ts";

const held = { folder: "" };
beforeAll(async () => {
  held.folder = await builtUi();
});

function files(pattern: string): readonly { readonly name: string; readonly text: string }[] {
  const names = globSync(pattern, { cwd: held.folder });
  return names.map((name) => ({ name, text: readFileSync(join(held.folder, name), "utf8") }));
}

function zipped(texts: readonly { readonly text: string }[]): number {
  return texts.reduce((sum, { text }) => sum + gzipSync(text).length, 0);
}

test("all scripts together are less than 200 kB, zipped; with styles less than 350 kB", () => {
  const scripts = zipped(files("assets/*.js"));
  expect(scripts).toBeGreaterThan(50_000);
  expect(scripts).toBeLessThan(200_000);
  expect(scripts + zipped(files("assets/*.css"))).toBeLessThan(350_000);
});

test("the first page needs less than 110 kB of scripts, zipped", () => {
  const [page] = files("index.html");
  const asked = [...(page?.text.matchAll(/assets\/[\w.-]+\.js/g) ?? [])].map(([name]) => name);
  expect(asked.length).toBeGreaterThan(0);
  expect(zipped(files("assets/*.js").filter(({ name }) => asked.includes(name)))).toBeLessThan(
    110_000,
  );
});

test("nothing is inlined, and nothing is loaded from another host", () => {
  const [page] = files("index.html");
  expect(page?.text).not.toMatch(/<script(?![^>]*\bsrc=)[^>]*>|<style|https?:/);
  for (const { name, text } of files("assets/*.css")) {
    expect([name, text.match(/url\(|@import/)]).toEqual([name, null]);
  }
  const named = files("assets/*.js").flatMap(({ text }) => text.match(/https?:\/\/[\w.]+/g) ?? []);
  // React's error decoder in messages, and the namespaces of SVG and MathML: texts that are never fetched.
  expect([...new Set(named)].toSorted()).toEqual(["http://www.w3.org", "https://react.dev"]);
});
