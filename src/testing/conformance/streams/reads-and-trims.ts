// Contract of reading, listing, trimming and deleting streams.

import { expect } from "vitest";
import type { News } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  claimOf,
  forkItem,
  fresh,
  LEASE_LOST,
  outcomeText,
  refused,
  TASK_LEASE,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import {
  append,
  appended,
  appendItem,
  entries,
  nextAttempt,
  page,
  read,
  states,
  TOKENS,
  v,
  writingCall,
} from "./stream-steps.ts";

const DONE = { kind: "done" };

function trim(setup: Setup, before: number, fields: { id?: string; name?: string } = {}) {
  return setup.commit({ kind: "trim", id: "a", name: TOKENS, before, ...fields });
}

/** A stream with the values 0 to 5 in three chunks of two. */
async function sixItems(setup: Setup) {
  const call = await writingCall(setup);
  for (const position of [0, 2, 4]) {
    await appended(setup, call.task, [position, position + 1], { position });
  }
  return call;
}

/** The ids in the `streamed` members of the news of an action. */
async function streamedBy(setup: Setup, act: () => Promise<unknown>): Promise<readonly string[]> {
  const heard: News[] = [];
  const unsubscribe = setup.provider.subscribe((news) => heard.push(news));
  await act();
  await setup.environment.settle();
  unsubscribe();
  return [...new Set(heard.flatMap(({ streamed = [] }) => streamed))];
}

export const streamReads: ContractSubject = {
  subject: "reading streams",
  cases: [
    {
      title: "an unknown instance has no streams, and a stream without entries is empty",
      async run(setup) {
        const request = { id: "b", name: TOKENS, from: 0, chunksMax: 1, bytesMax: 1 };
        expect(await setup.provider.readStream({ ...request, settled: false })).toBeNull();
        expect(await setup.provider.readStream({ ...request, settled: true })).toBeNull();
        expect(await setup.provider.listStreams("b")).toBeNull();
        const { key } = await setup.hold("a");
        const empty = { key, first: 0, next: 0, isOver: false, chunks: [] };
        expect(await page(setup)).toEqual(empty);
        expect(await page(setup, { from: 7, settled: true })).toEqual(empty);
        expect(await setup.provider.listStreams("a")).toEqual([]);
      },
    },
    {
      title: "a page begins with the chunk that contains the offset",
      async run(setup) {
        await sixItems(setup);
        for (const [from, first] of [
          ...[[0, 0] as const, [1, 0] as const, [2, 2] as const],
          ...[[3, 2] as const, [5, 4] as const],
        ]) {
          expect((await page(setup, { from })).chunks[0]).toMatchObject({ offset: first });
          expect((await page(setup, { from, settled: true })).chunks[0]).toMatchObject({
            offset: first,
          });
        }
        for (const from of [6, 7, 1e6, Number.MAX_SAFE_INTEGER]) {
          expect(await page(setup, { from })).toMatchObject({ next: 6, chunks: [] });
        }
      },
    },
    {
      title: "a page has at most chunksMax chunks",
      async run(setup) {
        await sixItems(setup);
        const first = await page(setup, { chunksMax: 2 });
        expect(entries(first)).toEqual(["0:2=0", "1:2=1", "2:2=2", "3:2=3"]);
        expect(first).toMatchObject({ first: 0, next: 6 });
        const second = await page(setup, { chunksMax: 2, from: 4 });
        expect(entries(second)).toEqual(["4:2=4", "5:2=5"]);
        const middle = await page(setup, { chunksMax: 1, from: 3, settled: true });
        expect(entries(middle)).toEqual(["2:2=2", "3:2=3"]);
      },
    },
    {
      title: "a page ends after about bytesMax bytes, and always has its first chunk",
      async run(setup) {
        const { task } = await writingCall(setup);
        const long = "x".repeat(10_000);
        for (const position of [0, 1, 2, 3]) await appended(setup, task, [long], { position });
        const count = async (bytesMax: number, from = 0): Promise<number> =>
          (await page(setup, { bytesMax, from })).chunks.length;
        expect(await count(1)).toBe(1);
        expect(await count(0)).toBe(1);
        expect(await count(1, 2)).toBe(1);
        expect(await count(15_000)).toBe(2);
        expect(await count(25_000, 1)).toBe(3);
        expect(await count(1e9)).toBe(4);
      },
    },
    {
      title: "a long stream is read page by page, completely and in order",
      async run(setup) {
        const { task } = await writingCall(setup);
        const items = Array.from({ length: 300 }, (_, i) =>
          appendItem(task, [i, i], { position: 2 * i }),
        );
        for (const result of await setup.provider.commit(items)) expect(result).toEqual(DONE);
        const found: string[] = [];
        for (let from = 0; from < 600;) {
          const { chunks } = await page(setup, { from, chunksMax: 7 });
          expect(chunks[0]?.offset).toBe(from);
          found.push(...entries({ chunks }));
          from = found.length;
        }
        expect(found).toEqual(items.flatMap((_, i) => [`${2 * i}:2=${i}`, `${2 * i + 1}:2=${i}`]));
      },
    },
    {
      title: "a damaged chunk is marked, and the others are read",
      needs: ["corruptStream"],
      async run(setup) {
        const { held, task } = await sixItems(setup);
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [9], { run: "run-2" });
        const { key } = held;
        await setup.tamper.corruptStream({ key, name: TOKENS, first: 2, text: "[1]" });
        await setup.tamper.corruptStream({ key, name: TOKENS, first: 6, text: "3" });
        const { chunks } = await page(setup);
        const damaged = { kind: "items", values: [], damaged: true, call: 2, execution: 1 };
        expect(chunks).toEqual([
          expect.objectContaining({ offset: 0, values: ["0", "1"] }),
          { ...damaged, offset: 2, count: 2 },
          expect.objectContaining({ offset: 4, values: ["4", "5"] }),
          { ...damaged, offset: 6, count: 1 },
          expect.objectContaining({ offset: 7, values: ["9"] }),
        ]);
        expect(chunks[0]).not.toHaveProperty("damaged");
        expect(await trim(setup, 4)).toEqual(DONE);
        expect((await page(setup)).chunks[0]).toMatchObject({ offset: 4 });
      },
    },
    {
      title: "the streams of an instance are listed by name",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        for (const name of ["b", "a", "ä", "B"]) await appended(setup, task, [1], { name });
        const at = setup.environment.now();
        await setup.environment.advance(5_000);
        await setup.turn(held, { streams: [{ name: "a", values: [v(2)], closes: true }] });
        const list = await setup.provider.listStreams("a");
        expect(list).toEqual([
          { name: "B", first: 0, next: 1, isClosed: false, updatedAt: at },
          { name: "a", first: 0, next: 2, isClosed: true, updatedAt: at + 5_000 },
          { name: "b", first: 0, next: 1, isClosed: false, updatedAt: at },
          { name: "ä", first: 0, next: 1, isClosed: false, updatedAt: at },
        ]);
      },
    },
    {
      title: "appends, writes of turns, closes and settled items are reported to readers",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        expect(await streamedBy(setup, () => appended(setup, task, [1]))).toEqual(["a"]);
        const write = { streams: [{ name: TOKENS, values: [v(1)] }] };
        expect(await streamedBy(setup, () => setup.turn(held, write))).toEqual(["a"]);
        const close = { streams: [{ name: "other", values: [], closes: true as const }] };
        expect(await streamedBy(setup, () => setup.turn(held, close))).toEqual(["a"]);
        const finished = [{ ...task, streamValues: 1 }];
        expect(await streamedBy(setup, () => setup.turn(held, { finished }))).toEqual(["a"]);
        const stale = appendItem(task, [2], { position: 1 });
        expect(await streamedBy(setup, () => setup.commit(stale))).toEqual([]);
        expect(await streamedBy(setup, () => setup.turn(held))).toEqual([]);
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, next, [1]);
        const task2 = { ...next, streamValues: 1 } as const;
        const completion = { kind: "completion", task: task2, outcome: outcomeText(3) } as const;
        expect(await streamedBy(setup, () => setup.commit(completion))).toEqual(["a"]);
      },
    },
    {
      title: "an append through another provider is reported",
      needs: ["reopen"],
      async run(setup) {
        const { task } = await writingCall(setup);
        const other = await setup.another();
        const heard: News[] = [];
        other.subscribe((news) => heard.push(news));
        await setup.environment.settle();
        await appended(setup, task, [1]);
        const isReported = (): boolean =>
          heard.some(({ streamed = [], elsewhere }) => elsewhere || streamed.includes("a"));
        await expect.poll(isReported, { timeout: 5_000 }).toBe(true);
      },
    },
  ],
};

export const streamTrims: ContractSubject = {
  subject: "trimming and deleting streams",
  cases: [
    {
      title: "a trim deletes the entries before its offset, and offsets are never reused",
      async run(setup) {
        const { task } = await sixItems(setup);
        expect(await trim(setup, 4)).toEqual(DONE);
        expect(await page(setup)).toMatchObject({ first: 4, next: 6 });
        expect(await read(setup)).toEqual(["4:2=4", "5:2=5"]);
        expect(await trim(setup, 6)).toEqual(DONE);
        expect(await page(setup)).toMatchObject({ first: 6, next: 6, chunks: [] });
        await appended(setup, task, [6], { position: 6 });
        expect(await read(setup)).toEqual(["6:2=6"]);
        expect(await page(setup, { from: 2, settled: true })).toMatchObject({ first: 6, next: 7 });
      },
    },
    {
      title: "a trim inside a chunk moves the first offset; the chunk begins before it",
      async run(setup) {
        await sixItems(setup);
        expect(await trim(setup, 3)).toEqual(DONE);
        expect(await page(setup)).toMatchObject({ first: 3, next: 6 });
        expect((await page(setup)).chunks.map(({ offset }) => offset)).toEqual([2, 4]);
        expect((await page(setup, { from: 3 })).chunks[0]).toMatchObject({ offset: 2 });
        expect(await setup.provider.listStreams("a")).toMatchObject([{ first: 3, next: 6 }]);
      },
    },
    {
      title: "a trim beyond the end, before the first offset or of a missing stream is accepted",
      async run(setup) {
        await sixItems(setup);
        expect(await trim(setup, 0)).toEqual(DONE);
        expect(await trim(setup, 1e9)).toEqual(DONE);
        expect(await page(setup)).toMatchObject({ first: 6, next: 6, chunks: [] });
        expect(await trim(setup, 2)).toEqual(DONE);
        expect(await page(setup)).toMatchObject({ first: 6, next: 6 });
        expect(await trim(setup, 2, { name: "other" })).toEqual(DONE);
        expect(await setup.provider.listStreams("a")).toHaveLength(1);
        expect(await trim(setup, 2, { id: "b" })).toEqual(refused("INSTANCE_NOT_FOUND"));
      },
    },
    {
      title: "settle does not claim that a trim was written, which may be repeated",
      async run(setup) {
        await sixItems(setup);
        const item = { kind: "trim", id: "a", name: TOKENS, before: 2 } as const;
        expect(await setup.provider.settle(item)).toBeNull();
        await setup.commit(item);
        expect(await setup.provider.settle(item)).toBeNull();
        expect(await setup.commit(item)).toEqual(DONE);
      },
    },
    {
      title: "a running call continues after all its items were trimmed, and its reset remains",
      async run(setup) {
        const { task } = await sixItems(setup);
        await trim(setup, 6);
        await appended(setup, task, [4, 5], { position: 4 }); // they were written
        expect(await read(setup)).toEqual([]);
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [0], { run: "run-2" });
        expect(await read(setup)).toEqual(["6:2 reset 0", "7:2=0"]);
      },
    },
    {
      title: "a trim changes no other stream, call or instance",
      async run(setup) {
        const { held, task } = await sixItems(setup);
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, next, ["n"]);
        await appended(setup, task, ["o"], { name: "other" });
        const { task: elsewhere } = await writingCall(setup, "b");
        await appended(setup, elsewhere, ["b"]);
        await setup.turn(held, { finished: [{ ...next, streamValues: 1 }] });
        await setup.turn(held, { finished: [{ ...task, streamValues: 7 }] });
        await trim(setup, 6);
        expect(await read(setup)).toEqual(['6:3="n"']);
        expect(await states(setup)).toEqual(["6 settled"]);
        expect(await states(setup, { name: "other" })).toEqual(["0 settled"]);
        expect(await read(setup, "b")).toEqual(['0:2="b"']);
        expect(await append(setup, task, [6], { position: 6 })).toEqual(LEASE_LOST);
      },
    },
    {
      title: "deleting an instance deletes its streams",
      async run(setup) {
        const { held, task } = await sixItems(setup);
        await setup.complete(held);
        expect(await setup.provider.deleteInstance({ id: "a", force: false })).toMatchObject({
          kind: "deleted",
        });
        expect(await setup.provider.listStreams("a")).toBeNull();
        expect(await append(setup, task, [6], { position: 6 })).toEqual(LEASE_LOST);
        await setup.hold("a");
        expect(await setup.provider.listStreams("a")).toEqual([]);
        expect(await page(setup)).toMatchObject({ first: 0, next: 0, chunks: [] });
      },
    },
    {
      title: "a retention sweep deletes the streams of the instances that it deletes",
      async run(setup) {
        const { held } = await sixItems(setup);
        await setup.complete(held);
        await setup.environment.advance(10_000);
        const completedBefore = setup.environment.now();
        const request = { status: "completed", completedBefore, limit: 10, cursor: null } as const;
        expect(await setup.provider.deleteEnded(request)).toMatchObject({ instances: 1 });
        expect(await setup.provider.listStreams("a")).toBeNull();
      },
    },
    {
      title: "a fork begins without streams",
      async run(setup) {
        await sixItems(setup);
        await setup.commit(forkItem("copy"));
        expect(await setup.provider.listStreams("copy")).toEqual([]);
        expect(await page(setup, { id: "copy" })).toMatchObject({ next: 0, chunks: [] });
        expect(await page(setup)).toMatchObject({ next: 6 });
      },
    },
    {
      title: "pruning executions keeps their streams",
      async run(setup) {
        const { held } = await sixItems(setup);
        await setup.complete(held);
        await setup.hold("a", { onConflict: "restart", runId: `run-${fresh()}` });
        await setup.provider.pruneExecutions({ id: "a", keepLast: 1 });
        expect(await page(setup)).toMatchObject({ first: 0, next: 6 });
      },
    },
  ],
};
