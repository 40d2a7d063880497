// Bad input of jobs raises an error with a code, and nothing is written.

import { afterAll, expect, onTestFinished, test } from "vitest";
import { activity, job, orchestration, type EnqueueOptions } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";
import { digits } from "../../support/schemas.ts";

const work = job("work", async (text: string) => text);
const perKey = job("perKey", async (text: string) => text, { limit: { perKey: 2 } });
const unfair = job("unfair", async (text: string) => text, {
  fair: { weight: (key) => Number(key) },
});
const checked = job("checked", async (n: number) => n, { input: digits });

const environment = await TestEnvironment.create({ register: [work, perKey, unfair, checked] });
const { client } = environment;
afterAll(() => environment.close());

const REFUSED: readonly (readonly [why: string, options: object, message: RegExp])[] = [
  ["an unknown option", { prio: 1 }, /unknown option "prio"/],
  ["a priority out of range", { priority: 9 }, /priority of job "work" must be/],
  ["an invalid delay", { delay: "soon" }, /delay/],
  ["delay and at", { delay: "1s", at: new Date() }, /delay or at/],
  ["a key that is not a text", { key: 5 }, /key of job "work" must be a text; got 5/],
  ["a unique key that is empty", { unique: "" }, /must have 1 to 256 bytes/],
  ["an unknown policy", { unique: { key: "k", onConflict: "merge" } }, /onConflict/],
  [
    "unique and debounce",
    { unique: "k", debounce: { key: "k", wait: "1s" } },
    /unique or debounce/,
  ],
  [
    "debounce and throttle",
    { debounce: { key: "k", wait: "1s" }, throttle: { key: "k", per: "1s" } },
    /debounce or throttle/,
  ],
  ["debounce and delay", { debounce: { key: "k", wait: "1s" }, delay: "1s" }, /delay/],
  ["debounce without wait", { debounce: { key: "k" } }, /wait/],
  ["max below wait", { debounce: { key: "k", wait: "2s", max: "1s" } }, /max/],
  ["throttle and at", { throttle: { key: "k", per: "1s" }, at: new Date() }, /at/],
  ["throttle without per", { throttle: { key: "k" } }, /per/],
  ["unique and tx", { unique: "k", tx: {} }, /tx/],
  ["unique and requestId", { unique: "k", requestId: "r" }, /requestId/],
];

test.each(REFUSED)("%s is refused", async (_, options, message) => {
  const enqueued = client.enqueue(work, "a", options as EnqueueOptions);
  await expect(enqueued).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(enqueued).rejects.toThrow(message);
  expect(await client.count()).toBe(0);
});

test("a limit per key requires a key, also in an orchestration", async () => {
  const main = orchestration("main", (ctx) => ctx.run(perKey, "a"));
  const other = await TestEnvironment.create({ register: [perKey, main] });
  onTestFinished(() => other.close());
  const message = /job "perKey" has limit.perKey|activity "perKey" has limit.perKey/;
  await expect(other.client.enqueue(perKey, "a")).rejects.toThrow(message);
  const handle = await other.client.start(main);
  await expect(handle.result()).rejects.toThrow(message);
});

test.each(["0", "-1", "NaN", "Infinity", "abc"])("the weight %s is refused", async (key) => {
  await expect(client.enqueue(unfair, "a", { key })).rejects.toThrow(/finite number above 0/);
  expect(await client.count()).toBe(0);
});

test("the schema of the input is checked before anything is written", async () => {
  await expect(client.enqueue(checked, "x")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(await client.count()).toBe(0);
});

test("a bad item of enqueueMany is named by its index, and nothing is written", async () => {
  const items = ["a", { input: "b", priority: 9 }, "c"];
  await expect(client.enqueueMany(work, items)).rejects.toThrow(/^Item 1: priority/);
  await expect(client.enqueueMany(work, 5 as unknown as string[])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  const keyed = ["a", { input: "b", unique: "k" }];
  await expect(client.enqueueMany(work, keyed, { requestId: "r" })).rejects.toThrow(
    /^Item 1: requestId of job "work" must not be given together with unique/,
  );
  expect(await client.count()).toBe(0);
});

const DEFINITIONS: readonly (readonly [why: string, options: object])[] = [
  ["an empty limit", { limit: {} }],
  ["a concurrency of 0", { limit: { concurrency: 0 } }],
  ["a rate without per", { limit: { rate: { count: 5 } } }],
  ["a rate of 0", { limit: { rate: { count: 0, per: "1s" } } }],
  ["a window of 0", { limit: { rate: { count: 1, per: 0 } } }],
  ["an unknown limit", { limit: { perTenant: 1 } }],
  ["a weight that is not a function", { fair: { weight: 2 } }],
  ["an unknown option", { fairness: true }],
  ["a key", { key: "k" }],
];

test.each(DEFINITIONS)("a definition with %s is refused", (_, options) => {
  for (const define of [activity, job]) {
    const definition = () => define("x", async () => undefined, options);
    expect(definition).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
});

test("a job with an unknown status in keep is refused", () => {
  const keep = { terminated: "1h" } as object;
  expect(() => job("x", async () => undefined, { keep })).toThrow(/keep of job "x"/);
});
