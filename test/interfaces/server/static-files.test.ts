// The server serves the dashboard's files, and nothing else (S21).

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { TRAVERSALS } from "./inputs/corpora.ts";
import { rawRequest } from "./inputs/raw-request.ts";
import { openScene, temporaryFolder, type Scene } from "./support.ts";

const SECRET = "do not show this";

async function sceneWithUi(): Promise<Scene> {
  const folder = temporaryFolder();
  const ui = join(folder, "ui");
  mkdirSync(join(ui, "assets"), { recursive: true });
  mkdirSync(join(folder, "outside"));
  writeFileSync(join(folder, "secret.txt"), SECRET);
  writeFileSync(join(folder, "outside", "secret.txt"), SECRET);
  writeFileSync(
    join(ui, "index.html"),
    "<!doctype html><html><head><title>ui</title></head></html>",
  );
  writeFileSync(join(ui, "assets", "app-abc123.js"), `console.log("${"x".repeat(2_000)}");`);
  writeFileSync(join(ui, "assets", "packed-abc123.css.gz"), gzipSync("body { color: red }"));
  writeFileSync(join(ui, "logo.svg"), "<svg/>");
  symlinkSync(join(folder, "secret.txt"), join(ui, "link.txt"));
  symlinkSync(join(folder, "outside"), join(ui, "folder-link"));
  return openScene({ ui });
}

test("S21: no path leads out of the folder", async () => {
  const { listening } = await sceneWithUi();
  expect(TRAVERSALS.length).toBeGreaterThanOrEqual(200);
  for (const path of TRAVERSALS) {
    for (const Accept of ["*/*", "text/html", "text/plain"]) {
      const answer = await rawRequest({ port: listening.port, path, headers: { Accept } });
      // The page itself answers for any path that looks like one of its own addresses.
      const shown = answer.status === 200 ? answer.text.includes("<title>ui</title>") : true;
      expect([path, shown]).toEqual([path, true]);
      expect(answer.text).not.toContain(SECRET);
      expect(answer.text).not.toContain("root:");
      expect([200, 400, 404]).toContain(answer.status);
    }
  }
});

test("the page is served at each of its addresses, with the base it is mounted at", async () => {
  const { listening } = await sceneWithUi();
  for (const path of ["/", "/instances", "/instances/a%2Fb.js", "/index.html"]) {
    const response = await fetch(listening.url + path, { headers: { Accept: "text/html,*/*" } });
    expect([path, response.status]).toEqual([path, 200]);
    expect(await response.text()).toContain('<head><base href="/"><title>ui</title>');
    expect(response.headers.get("cache-control")).toBe("no-cache");
  }
  expect((await fetch(`${listening.url}/instances`)).status).toBe(404);
});

test("files with a hash in their name are cached forever, compressed, and revalidated by ETag", async () => {
  const { listening } = await sceneWithUi();
  const url = `${listening.url}/assets/app-abc123.js`;
  const response = await fetch(url);
  expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(await response.text()).toContain("xxx");
  const etag = response.headers.get("etag") ?? "";
  const again = await fetch(url, { headers: { "If-None-Match": etag } });
  expect(again.status).toBe(304);
  const plain = await rawRequest({ port: listening.port, path: "/assets/app-abc123.js" });
  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect((await fetch(`${listening.url}/assets/missing.js`)).status).toBe(404);
  expect((await fetch(`${listening.url}/logo.svg`)).headers.get("content-type")).toBe(
    "image/svg+xml",
  );
});

test("a file stored compressed is sent under its own name, compressed or not", async () => {
  const { listening } = await sceneWithUi();
  const path = "/assets/packed-abc123.css";
  const response = await fetch(listening.url + path);
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8");
  expect(await response.text()).toBe("body { color: red }");
  const plain = await rawRequest({ port: listening.port, path });
  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect(plain.text).toBe("body { color: red }");
  expect((await fetch(`${listening.url + path}.gz`)).status).toBe(404);
});

test("a dashboard that is not built shows a page that says so, and a disabled one is 404", async () => {
  const without = await openScene({ ui: join(temporaryFolder(), "nothing") });
  const page = await fetch(without.listening.url, { headers: { Accept: "text/html" } });
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining("has not been built"),
  ]);
  const off = await openScene({ ui: false });
  expect((await fetch(off.listening.url, { headers: { Accept: "text/html" } })).status).toBe(404);
});

test("other methods get 404", async () => {
  const { listening } = await sceneWithUi();
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
    expect([method, (await fetch(`${listening.url}/index.html`, { method })).status]).toEqual([
      method,
      404,
    ]);
  }
  const head = await fetch(`${listening.url}/logo.svg`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});
