// Long histories: describe, watch and pages of a history read a few rows, whatever the length (open-history.1).

import { expect, onTestFinished, test } from "vitest";
import { encryptingCodec } from "../../../src/encryption/index.ts";
import { activity, Client, orchestration, Perdure, type Provider } from "../../../src/index.ts";
import { openCalls, projectFrom, projectHistory } from "../../../src/core/history/projection.ts";
import {
  checkpointOf,
  decodeHistory,
  decodeRow,
  type HistoryRow,
} from "../../../src/core/history/rows.ts";
import type { RuntimeOptions } from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";

const count = activity("count", async (n: number) => n + 1);
const never = orchestration("never", async (ctx) => ctx.waitFor("never"));

/** Leaves one call of every kind open, then appends `2 * rounds` events in as many rows. */
const long = orchestration("long", async (ctx, rounds: number) => {
  ctx.setStatus("begun");
  await ctx.race({
    loose: ctx.call(never, undefined, { id: "loose", onParentClose: "abandon" }),
    first: ctx.run(count, 0),
  });
  const failing = ctx.step("failing", () => Promise.reject(new Error("not yet")), {
    retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "1h" } },
  });
  const open = [
    failing,
    ctx.call(never, undefined, { id: "held" }),
    ctx.sleep("30d"),
    ctx.waitFor("later", { details: { of: "long" } }),
    ctx.waitFor("fresh", { since: "now" }),
  ];
  for (let i = 0; i < rounds; i++) await ctx.run(count, i);
  open.push(ctx.waitFor("extra"), ctx.waitFor("go"));
  await Promise.all(open);
});
const rounds = orchestration("rounds", async (ctx, left: number): Promise<unknown> => {
  for (let i = 0; i < 200; i++) await ctx.run(count, i);
  await ctx.waitFor("next");
  return left === 0 ? "done" : ctx.continueAsNew(left - 1);
});

async function open(
  provider: Provider,
  codec?: NonNullable<RuntimeOptions["codec"]>,
): Promise<Perdure> {
  const perdure = await Perdure.open(provider, {
    register: [long, rounds, never, count],
    runtime: { log: () => undefined, ...(codec === undefined ? {} : { codec }) },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

async function untilEvent({ client }: Perdure, id: string, name: string): Promise<void> {
  for await (const { waitingFor } of client.get(id).watch()) {
    if (waitingFor.some((wait) => wait.kind === "event" && wait.name === name)) return;
  }
}

/** The rows that `work` reads, in the order of the reads. */
async function rowsRead(provider: Provider, work: () => Promise<unknown>): Promise<HistoryRow[]> {
  const read = provider.readHistory.bind(provider);
  const found: HistoryRow[] = [];
  provider.readHistory = async (request) => {
    const rows = await read(request);
    found.push(...rows);
    return rows;
  };
  await work().finally(() => (provider.readHistory = read));
  return found;
}

async function wholeHistory(provider: Provider, id: string): Promise<readonly HistoryRow[]> {
  const record = await provider.readInstance(id);
  return provider.readHistory({ key: record?.key ?? 0, execution: record?.execution ?? 1 });
}

test("describe of a long history returns every kind of open call and reads a few rows", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(long, 700, { id: "l" });
  await handle.raise("extra", "unread until the last wait");
  await handle.raise("fresh", "before its wait, so it stays unread"); // events are delivered after the start
  await untilEvent(perdure, "l", "go");
  const rows = await wholeHistory(provider, "l");
  const events = decodeHistory(rows);
  expect(events.length).toBeGreaterThan(1_400);
  expect(rows.filter((row) => checkpointOf(row) !== null).length).toBeGreaterThan(3);

  const reading = rowsRead(provider, async () => {
    const { waitingFor } = await handle.describe();
    const expected = openCalls(projectHistory(events)).map(({ scheduled }) => scheduled.sequence);
    expect(waitingFor.map(({ sequence }) => sequence)).toEqual(expected);
    expect(waitingFor.filter(({ kind }) => kind !== "event")).toMatchObject([
      { kind: "child", id: "loose" },
      { kind: "step", name: "failing", attempt: 2, lastError: "not yet" },
      { kind: "child", id: "held" },
      { kind: "timer" },
    ]);
    expect(waitingFor).toContainEqual(
      expect.objectContaining({ name: "later", details: { of: "long" } }),
    );
  });
  expect((await reading).length).toBeLessThan(400);
});

test("every checkpoint of a history agrees with the events before it", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(long, 300, { id: "l" });
  await untilEvent(perdure, "l", "go");
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toThrow("enough");
  const rows = await wholeHistory(provider, "l");
  const events = decodeHistory(rows);
  const marked = rows.filter((row) => checkpointOf(row) !== null);
  expect(marked.length).toBeGreaterThan(1);
  for (const row of marked) {
    const checkpoint = checkpointOf(row)!;
    const kept = events.filter(({ sequence }) => checkpoint.events.includes(sequence));
    const before = projectHistory(events.slice(0, row.last));
    const open = (found: Parameters<typeof openCalls>[0]) =>
      openCalls(found).map(({ scheduled, failedAttempts }) => [scheduled, failedAttempts.at(-1)]);
    expect(open(projectFrom(checkpoint, kept, []))).toEqual(open(before));
    expect(checkpoint.unread.reduce((sum, [, n]) => sum + n, 0)).toBe(before.unread.length);
  }
});

test("a cancelled instance shows the time of the request and what it interrupted, also far back in its history", async () => {
  const provider = await freshStore();
  const busy = orchestration("busy", async (ctx) => {
    await ctx.waitFor("never").catch(() => undefined);
    await ctx.shield(async () => {
      for (let i = 0; i < 300; i++) await ctx.run(count, i);
      await ctx.waitFor("go");
    });
  });
  const perdure = await Perdure.open(provider, {
    register: [busy, count],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const handle = await perdure.client.start(busy, undefined, { id: "b" });
  await untilEvent(perdure, "b", "never");
  await handle.cancel({ reason: "enough", by: "ada" });
  await untilEvent(perdure, "b", "go");
  const events = await handle.history();
  const request = events.find(({ kind }) => kind === "OrchestrationCancelRequested");
  const interrupted = [{ kind: "event", name: "never", sequence: 2 }];
  const cancelled = { at: new Date(request!.at), interrupted };
  expect(await handle.describe()).toMatchObject({ cancelled });
  expect((await rowsRead(provider, () => handle.describe())).length).toBeLessThan(400);
});

test("a page of a history reads the rows of its events only", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(rounds, 0, { id: "r" });
  await untilEvent(perdure, "r", "next");
  const all = await handle.history();
  for (const part of [{ after: 300, limit: 4 }, { after: 1, limit: 1 }, { after: 390 }]) {
    const { after, limit = Infinity } = part;
    const read = await rowsRead(provider, async () => {
      expect(await handle.history(part)).toEqual(all.slice(after, after + limit));
    });
    const isNeeded = ({ first, last }: HistoryRow) => last > after && first <= after + limit;
    expect(read.every(isNeeded)).toBe(true);
  }
  expect(await handle.history({ after: all.length })).toEqual([]);
  expect(await handle.history({ after: Number.MAX_SAFE_INTEGER })).toEqual([]);
});

test("a missing row makes a page HISTORY_CORRUPT and describe unreadable", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(rounds, 0, { id: "r" });
  await untilEvent(perdure, "r", "next");
  const last = (await handle.history()).length;
  const read = provider.readHistory.bind(provider);
  for (const missing of [last, last - 20]) {
    provider.readHistory = async (request) =>
      (await read(request)).filter((row) => missing < row.first || missing > row.last);
    expect((await handle.describe()).unreadable).toContain("rows are missing");
    const page = handle.history({ after: missing - 1, limit: 1 });
    await expect(page).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
    expect(await handle.history({ after: 5, limit: 2 })).toHaveLength(2);
  }
  const broken = (row: HistoryRow) => row.data.replace(/"events":\[[^\]]*\]/, '"events":[9,3]');
  provider.readHistory = async (request) =>
    (await read(request)).map((row) => ({ ...row, data: broken(row) }));
  expect((await handle.describe()).unreadable).toContain("its checkpoint is not valid");
  provider.readHistory = read;
  expect((await handle.describe()).unreadable).toBeUndefined();
});

test("describe during turns, continueAsNew, pruning and deletion shows the moment of its first read", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const { client } = perdure;
  const handle = await client.start(rounds, 2, { id: "r" });
  await untilEvent(perdure, "r", "next");
  const before = await handle.describe();
  /** Describes the instance; `change` happens before the n-th read of the history. */
  const describeWith = async (n: number, change: () => Promise<unknown>) => {
    const read = provider.readHistory.bind(provider);
    let reads = 0;
    provider.readHistory = async (request) => {
      if (++reads === n) {
        provider.readHistory = read;
        await change();
      }
      return read(request);
    };
    return handle.describe().finally(() => (provider.readHistory = read));
  };
  const continued = async (): Promise<void> => {
    const { execution } = await handle.describe();
    await handle.raise("next");
    for await (const info of handle.watch()) {
      if (info.execution > execution && info.waitingFor.some(({ kind }) => kind === "event")) break;
    }
  };
  expect(await describeWith(1, continued)).toEqual(before);
  const second = await handle.describe();
  expect(second).toMatchObject({ execution: 2, waitingFor: [{ kind: "event" }] });
  const pruned = await describeWith(1, async () => {
    await continued();
    await client.prune("r", { keepLast: 1 });
  });
  expect(pruned).toMatchObject({ execution: 2, waitingFor: [] });
  expect(pruned.unreadable).toBeUndefined();
  const deleted = await describeWith(1, () => client.delete("r", { force: true }));
  expect(deleted).toMatchObject({ execution: 3, waitingFor: [] });
  expect(deleted.unreadable).toBeUndefined();
  await expect(handle.describe()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  await expect(handle.history({ after: 9 })).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});

test("an instance that is deleted between two reads of one describe has no waits", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(long, 200, { id: "l" });
  await untilEvent(perdure, "l", "go");
  const read = provider.readHistory.bind(provider);
  let reads = 0;
  provider.readHistory = async (request) => {
    if (++reads === 2) await perdure.client.delete("l", { force: true });
    return read(request);
  };
  const info = await handle.describe();
  expect(reads).toBeGreaterThan(1);
  expect(info).toMatchObject({ id: "l", status: "running", waitingFor: [] });
  expect(info.unreadable).toBeUndefined();
});

test("with seals, a part of a history is verified, and rows from before the seals are read in full", async () => {
  const provider = await freshStore();
  const codec = encryptingCodec({ keys: { k: new Uint8Array(32).fill(7) }, current: "k" });
  const perdure = await open(provider, codec);
  const { client } = perdure;
  const handle = await client.start(rounds, 0, { id: "r" });
  await untilEvent(perdure, "r", "next");
  const rows = await wholeHistory(provider, "r");
  expect(rows.some((row) => checkpointOf(row) !== null)).toBe(true);
  expect(await handle.history({ after: 200, limit: 3 })).toHaveLength(3);
  expect((await rowsRead(provider, () => handle.describe())).length).toBeLessThan(rows.length);

  const read = provider.readHistory.bind(provider);
  const tamper = (change: (row: HistoryRow) => string): void => {
    provider.readHistory = async (request) =>
      (await read(request)).map((row) => (row.first > 200 ? { ...row, data: change(row) } : row));
  };
  const withoutSeal = ({ data }: HistoryRow): string => data.replace(/,"s":"[^"]+"\}$/, "}");
  for (const change of [
    withoutSeal,
    (row: HistoryRow) => row.data.replace('"at":', '"at":1'),
    (row: HistoryRow) => row.data.replace('"events":[', '"events":[1,'),
  ]) {
    tamper(change);
    expect((await handle.describe()).unreadable).toMatch(/seal/);
  }
  tamper(withoutSeal);
  const page = handle.history({ after: 300, limit: 2 });
  await expect(page).rejects.toMatchObject({ code: "HISTORY_CORRUPT" });
  provider.readHistory = read;

  const plain = await open(provider);
  const old = await plain.client.start(rounds, 0, { id: "old" });
  await untilEvent(plain, "old", "next");
  const sealing = new Client(provider, { codec });
  expect(await sealing.get("old").history({ after: 300, limit: 2 })).toHaveLength(2);
  expect((await sealing.get("old").describe()).waitingFor).toEqual(
    (await old.describe()).waitingFor,
  );
});

test("an event in the part of a row that is outside the page is left out", async () => {
  const provider = await freshStore();
  const perdure = await open(provider);
  const handle = await perdure.client.start(rounds, 0, { id: "r" });
  await untilEvent(perdure, "r", "next");
  const row = (await wholeHistory(provider, "r")).find(({ first, last }) => last > first)!;
  const events = decodeRow(row);
  expect(await handle.history({ after: row.first, limit: 1 })).toEqual(events.slice(1, 2));
  expect(await handle.history({ after: row.first - 1, limit: 1 })).toEqual(events.slice(0, 1));
});

test("describe of a long history shows the requests that the code receives after a deploy", async () => {
  const provider = await freshStore();
  const served = async (names: readonly string[], asks: number) => {
    const server = orchestration("server", async (ctx) => {
      for await (const call of ctx.requests(...names)) call.answer(call.input);
    });
    const options = { register: [server], runtime: { log: () => undefined } };
    await using perdure = await Perdure.open(provider, options);
    const handle = await perdure.client.start(server, undefined, {
      id: "server",
      onConflict: "useExisting",
    });
    for (let i = 0; i < asks; i++) expect(await handle.ask("a", i)).toBe(i);
    return (await handle.describe()).waitingFor;
  };
  expect(await served(["a"], 1)).toMatchObject([{ kind: "requests", names: ["a"] }]);
  expect(await served(["a", "b"], 150)).toMatchObject([{ kind: "requests", names: ["a", "b"] }]);
});
