// Contract of kept messages: how long an early event waits, how it expires, and how it is listed (kept.ts,
// semantics 18a).

import { expect } from "vitest";
import type { KeptRequest } from "../../../core/provider/kept.ts";
import type { ContractSubject } from "../contract-case.ts";
import { keepItem, refused, sendItem } from "../fixture.ts";
import type { Setup } from "../setup.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const keep = (data: string, id = "a", keepForMs = HOUR_MS) =>
  keepItem({ id, data, requestId: `keep-${id}-${data}`, keepForMs });

async function list(setup: Setup, request: Partial<KeptRequest> = {}) {
  const whole = { id: null, after: null, limit: 1_000, bytesMax: 1_000_000, ...request };
  return setup.provider.readKept(whole);
}

async function dataOf(setup: Setup, request: Partial<KeptRequest> = {}) {
  return (await list(setup, request)).messages.map(({ data }) => data);
}

export const keptMessages: ContractSubject = {
  subject: "kept messages",
  cases: [
    {
      title:
        "an early event waits as long as its sender says, and not a millisecond longer (kept.1)",
      async run(setup) {
        await setup.commit(keep("1", "in time"));
        await setup.commit(keep("1", "too late"));
        await setup.commit(keep("1", "patient", 100 * DAY_MS));
        await setup.environment.advance(HOUR_MS - 1);
        const { key } = await setup.start("in time");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        await setup.environment.advance(1);
        const late = await setup.start("too late");
        expect(await setup.inboxKinds(late.key)).toEqual(["start"]);
        await setup.environment.advance(99 * DAY_MS);
        const patient = await setup.start("patient");
        expect(await setup.inboxKinds(patient.key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "the list has every kept event with its times, in the order of sending",
      async run(setup) {
        const now = setup.provider.now();
        await setup.commit(keep("1", "b"));
        await setup.environment.advance(1_000);
        await setup.commit(keepItem({ id: "a", data: "2", name: "go", requestId: "r" }));
        const { messages, more } = await list(setup);
        expect(more).toBe(false);
        expect(messages).toEqual([
          {
            number: expect.any(Number) as number,
            id: "b",
            name: "news",
            requestId: "keep-b-1",
            data: "1",
            createdAt: now,
            expiresAt: now + HOUR_MS,
          },
          {
            number: expect.any(Number) as number,
            id: "a",
            name: "go",
            requestId: "r",
            data: "2",
            createdAt: now + 1_000,
            expiresAt: now + 1_000 + 7 * DAY_MS,
          },
        ]);
      },
    },
    {
      title: "the list is paged by number, by size and by id",
      async run(setup) {
        for (const id of ["a", "b"]) {
          for (const data of ["1", "2", "3"]) await setup.commit(keep(data, id));
        }
        const first = await list(setup, { limit: 4 });
        expect(first.more).toBe(true);
        const after = first.messages.at(-1)?.number ?? 0;
        const second = await list(setup, { limit: 4, after });
        expect(second.more).toBe(false);
        expect([...first.messages, ...second.messages].map(({ id, data }) => id + data)).toEqual([
          ...["a1", "a2", "a3"],
          ...["b1", "b2", "b3"],
        ]);
        expect(await list(setup, { bytesMax: 2 })).toMatchObject({
          messages: [{ data: "1" }, { data: "2" }],
          more: true,
        });
        expect(await list(setup, { bytesMax: 0 })).toMatchObject({ messages: [{ data: "1" }] });
        expect(await dataOf(setup, { id: "b" })).toEqual(["1", "2", "3"]);
        expect(await list(setup, { id: "b", limit: 2 })).toMatchObject({ more: true });
        expect(await list(setup, { id: "missing" })).toEqual({ messages: [], more: false });
      },
    },
    {
      title: "a start takes its events off the list",
      async run(setup) {
        for (const id of ["a", "b"]) await setup.commit(keep("1", id));
        await setup.start("a");
        expect((await list(setup)).messages).toMatchObject([{ id: "b" }]);
      },
    },
    {
      title: "an event that has expired is listed without its data, also before it is marked",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.commit(keep("2", "a", 2 * HOUR_MS));
        await setup.environment.advance(HOUR_MS);
        expect(await dataOf(setup)).toEqual([null, "2"]);
        await setup.provider.expireKept(10);
        const { messages } = await list(setup);
        expect(messages.map(({ data }) => data)).toEqual([null, "2"]);
        expect(messages.some(({ damaged }) => damaged === true)).toBe(false);
      },
    },
    {
      title:
        "expireKept returns each expired event once, oldest expiry first, up to the limit (kept.2)",
      async run(setup) {
        const createdAt = setup.provider.now();
        expect(await setup.provider.expireKept(10)).toEqual([]);
        await setup.commit(keep("1", "a", 3 * HOUR_MS));
        await setup.commit(keep("2", "b", 2 * HOUR_MS));
        await setup.commit(keep("3", "c", HOUR_MS));
        await setup.commit(keep("4", "d", 9 * HOUR_MS));
        expect(await setup.provider.expireKept(10)).toEqual([]);
        await setup.environment.advance(3 * HOUR_MS);
        expect(await setup.provider.expireKept(2)).toEqual([
          { id: "c", name: "news", createdAt, expiresAt: createdAt + HOUR_MS },
          { id: "b", name: "news", createdAt, expiresAt: createdAt + 2 * HOUR_MS },
        ]);
        expect(await setup.provider.expireKept(2)).toMatchObject([{ id: "a" }]);
        expect(await setup.provider.expireKept(2)).toEqual([]);
      },
    },
    {
      title: "of concurrent calls of several processes, one returns an expired event (kept.2)",
      needs: ["reopen"],
      async run(setup) {
        const providers = [setup.provider, await setup.another(), await setup.another()];
        const items = Array.from({ length: 90 }, (_, n) => keep(`${n}`));
        await setup.provider.commit(items);
        await setup.environment.advance(HOUR_MS);
        const calls = providers.map((provider) => provider.expireKept(100));
        expect((await Promise.all(calls)).flat()).toHaveLength(90);
      },
    },
    {
      title: "a start does not remove expired events from the list, marked or not (kept.2)",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.environment.advance(HOUR_MS);
        await setup.commit(keep("2"));
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        expect(await dataOf(setup)).toEqual([null]);
        expect(await setup.provider.expireKept(10)).toMatchObject([{ id: "a" }]);
        await setup.provider.deleteInstance({ id: "a", force: true });
        const again = await setup.start("a");
        expect(await setup.inboxKinds(again.key)).toEqual(["start"]);
        expect(await dataOf(setup)).toEqual([null]);
      },
    },
    {
      title: "a marked entry is deleted seven days after it was marked",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.environment.advance(3 * DAY_MS);
        await setup.provider.expireKept(10);
        await setup.environment.advance(7 * DAY_MS - 1);
        await setup.provider.expireKept(10);
        expect(await dataOf(setup)).toEqual([null]);
        await setup.environment.advance(1);
        expect(await setup.provider.expireKept(10)).toEqual([]);
        expect(await dataOf(setup)).toEqual([]);
      },
    },
    {
      title: "an expired event that no runtime has reported stays listed (kept.2)",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.environment.advance(30 * DAY_MS);
        await setup.commit(keep("2"));
        expect(await dataOf(setup)).toEqual([null, "2"]);
        expect(await setup.provider.expireKept(10)).toHaveLength(1);
        expect(await dataOf(setup)).toEqual([null, "2"]);
      },
    },
    {
      title: "the request id of an expired event is free: the event is kept again (kept.1)",
      async run(setup) {
        const again = { ...keep("1"), requestDigest: "another" };
        for (const marked of [false, true]) {
          await setup.commit(keep("1"));
          await setup.environment.advance(HOUR_MS);
          if (marked) await setup.provider.expireKept(10);
          const lost = sendItem({ id: "a", requestId: "keep-a-1" });
          expect(await setup.commit(lost)).toEqual(refused("INSTANCE_NOT_FOUND"));
          expect(await setup.provider.settle(keep("1"))).toBeNull();
          expect(await setup.commit(again)).toEqual({ kind: "done" });
          expect(await dataOf(setup)).toEqual(["1"]);
          await setup.environment.advance(HOUR_MS);
        }
        await setup.commit(keep("1"));
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "expired events do not count towards the limit per id",
      async run(setup) {
        const items = (from: number) =>
          Array.from({ length: 1_000 }, (_, i) => keep(`${from + i}`));
        await setup.provider.commit(items(0));
        expect(await setup.commit(keep("x"))).toEqual(refused("LIMIT_EXCEEDED"));
        await setup.environment.advance(HOUR_MS);
        const results = await setup.provider.commit(items(1_000));
        expect(results.every(({ kind }) => kind === "done")).toBe(true);
        expect(await setup.commit(keep("x"))).toEqual(refused("LIMIT_EXCEEDED"));
      },
    },
    {
      title: "the metrics count kept and expired events",
      async run(setup) {
        const counts = async () => {
          const { keptMessages: kept, expiredMessages: expired } =
            await setup.provider.readMetrics();
          return { kept, expired };
        };
        await setup.commit(keep("1"));
        await setup.commit(keep("2", "a", 2 * HOUR_MS));
        expect(await counts()).toEqual({ kept: 2, expired: 0 });
        await setup.environment.advance(HOUR_MS);
        expect(await counts()).toEqual({ kept: 1, expired: 1 });
        await setup.provider.expireKept(10);
        expect(await counts()).toEqual({ kept: 1, expired: 1 });
      },
    },
  ],
};
