// The recipes of docs/cookbook that wait: polling, email drip, nightly report, and the import of many rows.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { drip, mail, stop } from "../../../examples/cookbook/email-drip.ts";
import { importRows, load, split } from "../../../examples/cookbook/import-rows.ts";
import * as nightly from "../../../examples/cookbook/nightly-report.ts";
import { awaitRendering, look } from "../../../examples/cookbook/polling.ts";
import { durableWrites, faultAt, TestEnvironment } from "../../../src/testing/index.ts";
import { kitOf, network } from "./support.ts";

const ROWS = process.env["PERDURE_FULL"] === "1" ? 100_000 : 10_500;

test("polling: the pauses grow until the rendering is ready", async () => {
  const running = { body: { state: "running" } };
  const ready = { body: { state: "ready", url: "https://render.example/r-1.mp4" } };
  const sent = network(running, running, { status: 503 }, running, ready);
  const kit = await kitOf(awaitRendering, look);
  const before = kit.now.getTime();
  const handle = await kit.start(awaitRendering, "r-1");
  expect(await handle.result()).toBe("https://render.example/r-1.mp4");
  expect(sent).toHaveLength(5);
  const seconds = (kit.now.getTime() - before) / 1_000;
  expect(Math.floor(seconds)).toBe(5 + 10 + 20); // and 100 ms between the failed attempt and the next
});

test("polling: it gives up after a day, and at once if the rendering failed", async () => {
  const kit = await kitOf(awaitRendering, look);
  kit.mock(look, () => ({ state: "running" }));
  const endless = await kit.start(awaitRendering, "r-1");
  await expect(endless.result()).rejects.toThrow("not ready after a day");
  expect(kit.calls(look).length).toBeLessThan(200);
  kit.mock(look, () => ({ state: "failed", reason: "no such scene" }));
  const failed = await kit.start(awaitRendering, "r-2");
  await expect(failed.result()).rejects.toThrow("no such scene");
});

test("email drip: four mails over two weeks, each once, across deploys", async () => {
  const kit = await kitOf(drip, mail);
  kit.mock(mail, () => undefined);
  const start = kit.now.getTime();
  const handle = await kit.start(drip, "ada@example.com");
  await kit.advance("3d");
  await kit.restartRuntime();
  expect(await handle.result()).toBe("finished");
  const days = kit
    .calls(mail)
    .map(({ input, at }) => [input.template, Math.floor((at.getTime() - start) / 86_400_000)]);
  expect(days).toEqual([
    ["welcome", 0],
    ["first-project", 2],
    ["case-study", 7],
    ["discount", 14],
  ]);
});

test("email drip: a customer who buys gets no further mail", async () => {
  const kit = await kitOf(drip, mail);
  kit.mock(mail, () => undefined);
  const handle = await kit.start(drip, "ada@example.com");
  kit.raiseAt(handle, stop, "bought", "3d");
  expect(await handle.result()).toBe("bought");
  expect(kit.calls(mail).map(({ input }) => input.template)).toEqual(["welcome", "first-project"]);
});

test("nightly report: a mail per night, also for nights without a worker, at three o'clock in Berlin", async () => {
  const kit = await kitOf(nightly);
  kit.mock(nightly.revenue, ({ region = "", day = "" }) => ({ region, day, cents: 100 }));
  kit.mock(nightly.mail, () => undefined);
  await kit.advance("2h");
  await kit.deploy([]); // no worker runs the schedule on two nights
  await kit.advance("48h");
  await kit.deploy([nightly]);
  await kit.advance("24h");
  const mails = kit.calls(nightly.mail);
  expect(mails.map(({ input, at }) => [input.day, at.toISOString().slice(0, 13)])).toEqual([
    ["2025-12-31", "2026-01-01T02"],
    ["2026-01-01", "2026-01-03T02"],
    ["2026-01-02", "2026-01-03T02"],
    ["2026-01-03", "2026-01-04T02"],
  ]);
  expect(mails[0]?.input.lines).toEqual(["eu: 100", "us: 100", "asia: 100"]);
});

test(`import: ${ROWS.toLocaleString("en")} rows are loaded once, although the process crashes`, async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, database] = [join(folder, "customers.csv"), join(folder, "customers.db")];
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},customer ${n}\n`);
  writeFileSync(file, lines.join(""));
  using customers = new DatabaseSync(database);
  customers.exec("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL)");

  const faults = faultAt(6, { kind: "crash", when: "before" }, durableWrites);
  await using kit = await TestEnvironment.create({ register: [importRows, split, load], faults });
  const handle = await kit.start(importRows, { file, database });
  expect(await handle.result()).toBe(ROWS);
  const count = customers.prepare("SELECT count(*) AS rows, sum(id) AS ids FROM customers").get();
  expect(count).toEqual({ rows: ROWS, ids: (ROWS * (ROWS - 1)) / 2 });
  expect(await kit.status(handle)).toEqual({ rows: ROWS, chunksLeft: 0 });
  expect(kit.calls(load).length).toBeGreaterThan(Math.ceil(ROWS / 1_000)); // the crash repeated some
});
