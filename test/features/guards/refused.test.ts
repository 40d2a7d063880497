// Refused calls: a call that cannot be derived throws, and the error names the alternative (guards.2).

import childProcess, { execFileSync } from "node:child_process";
import nodeCrypto, { randomBytes, randomInt } from "node:crypto";
import dns from "node:dns";
import fs, { existsSync, readFileSync, writeFileSync } from "node:fs";
import fsPromises, { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import timers from "node:timers";
import timersPromises, { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { virtualWorld } from "../../faults/trouble/support.ts";

const RANDOM = "ctx.random() or ctx.uuid(), or a step (ctx.step)";
const WORK = "an activity (ctx.run) or a step (ctx.step)";
const nothing = (): void => undefined;
/** A file that no call below may create. */
const file = join(tmpdir(), `perdure-guards-${process.pid}`);

const database = new DatabaseSync(":memory:");
const statement = database.prepare("SELECT 1");
afterAll(() => database.close());

type Row = readonly [name: string, call: () => unknown, instead: string];
const REFUSED: readonly Row[] = [
  ["crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(4)), RANDOM],
  ["crypto.getRandomValues", () => nodeCrypto.getRandomValues(new Uint8Array(4)), RANDOM],
  ["crypto.getRandomValues", () => nodeCrypto.webcrypto.getRandomValues(new Uint8Array(4)), RANDOM],
  ["crypto.randomBytes", () => nodeCrypto.randomBytes(4), RANDOM],
  ["crypto.randomInt", () => nodeCrypto.randomInt(6), RANDOM],
  ["crypto.randomFillSync", () => nodeCrypto.randomFillSync(new Uint8Array(4)), RANDOM],
  ["setTimeout", () => setTimeout(nothing, 1), "ctx.sleep"],
  ["setInterval", () => setInterval(nothing, 1), "ctx.sleep"],
  ["setImmediate", () => setImmediate(nothing), "ctx.sleep"],
  ["setTimeout", () => timers.setTimeout(nothing, 1), "ctx.sleep"],
  ["setTimeout", () => timersPromises.setTimeout(1), "ctx.sleep"],
  ["setInterval", () => timersPromises.setInterval(1), "ctx.sleep"],
  ["scheduler.wait", () => timersPromises.scheduler.wait(1), "ctx.sleep"],
  ["scheduler.yield", () => timersPromises.scheduler.yield(), "ctx.sleep"],
  ["AbortSignal.timeout", () => AbortSignal.timeout(1), "ctx.race with ctx.sleep"],
  ["fetch", () => fetch("http://127.0.0.1:9/"), WORK],
  ["fs.readFileSync", () => fs.readFileSync("package.json"), WORK],
  ["fs.writeFileSync", () => fs.writeFileSync(file, "x"), WORK],
  ["fs.existsSync", () => fs.existsSync("."), WORK],
  ["fs.createReadStream", () => fs.createReadStream("package.json"), WORK],
  ["fs/promises.readFile", () => fsPromises.readFile("package.json"), WORK],
  ["fs/promises.writeFile", () => fs.promises.writeFile(file, "x"), WORK],
  ["http.get", () => http.get("http://127.0.0.1:9/"), WORK],
  ["http.request", () => http.request("http://127.0.0.1:9/"), WORK],
  ["https.request", () => https.request("https://127.0.0.1:9/"), WORK],
  ["net.connect", () => net.connect(9), WORK],
  ["dns.lookup", () => dns.lookup("localhost", nothing), WORK],
  ["child_process.spawn", () => childProcess.spawn("touch", [file]), WORK],
  ["child_process.execFileSync", () => childProcess.execFileSync("touch", [file]), WORK],
  ["sqlite.DatabaseSync.exec", () => database.exec("SELECT 1"), WORK],
  ["sqlite.DatabaseSync.prepare", () => database.prepare("SELECT 1"), WORK],
  ["sqlite.StatementSync.get", () => statement.get(), WORK],
  ["sqlite.StatementSync.all", () => statement.all(), WORK],
  ["sqlite.StatementSync.run", () => statement.run(), WORK],
  ["sqlite.StatementSync.iterate", () => statement.iterate(), WORK],
];

/** Names imported from Node's modules, which follow the guards on Node only. */
const BY_NAME: readonly Row[] = [
  ["crypto.randomBytes", () => randomBytes(4), RANDOM],
  ["crypto.randomInt", () => randomInt(6), RANDOM],
  ["setTimeout", () => pause(1), "ctx.sleep"],
  ["fs.readFileSync", () => readFileSync("package.json"), WORK],
  ["fs.writeFileSync", () => writeFileSync(file, "x"), WORK],
  ["fs.existsSync", () => existsSync("."), WORK],
  ["fs/promises.readFile", () => readFile("package.json"), WORK],
  ["child_process.execFileSync", () => execFileSync("touch", [file]), WORK],
];

async function expectRefusal(...[name, call, instead]: Row): Promise<void> {
  const work = orchestration("work", async () => {
    call();
  });
  const { client } = await virtualWorld([work]);
  const handle = await client.start(work);
  await expect(handle.result()).rejects.toMatchObject({
    message: `${name} was called in the orchestration "work", where it could not be replayed. Use ${instead}.`,
    cause: { code: "GUARD_VIOLATION" },
  });
  expect(existsSync(file)).toBe(false);
}

test.each(REFUSED)("%s is refused at the call, and the error names the alternative", expectRefusal);

test.each(BY_NAME)("%s, imported by name, is refused like the property", expectRefusal);

test("a promisified setTimeout is refused", () =>
  expectRefusal("setTimeout", () => promisify(setTimeout)(1), "ctx.sleep"));

test("code that catches the refusal continues, and its replay gives the same result", async () => {
  const work = orchestration("work", async (ctx) => {
    const attempt = (): string => {
      try {
        setTimeout(nothing, 1);
        return "set";
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const first = attempt();
    await ctx.sleep("1s");
    return [first, attempt()];
  });
  const { client, environment } = await virtualWorld([work], { stickyCacheMax: 0 });
  const handle = await client.start(work);
  await environment.advance(1_000);
  expect(await handle.result()).toEqual(["GUARD_VIOLATION", "GUARD_VIOLATION"]);
});

test("microtasks, ticks, clearTimeout, hashing and the console are not refused", async () => {
  const work = orchestration("work", async () => {
    const order: string[] = [];
    queueMicrotask(() => order.push("microtask"));
    await new Promise<void>((resolve) =>
      process.nextTick(() => {
        order.push("tick");
        resolve();
      }),
    );
    clearTimeout(undefined);
    console.debug(nodeCrypto.createHash("sha256").update("x").digest("hex").length);
    return order.sort();
  });
  const { client } = await virtualWorld([work]);
  expect(await (await client.start(work)).result()).toEqual(["microtask", "tick"]);
});
