// Queues as an operator sees and controls them with the client: figures, pauses, and retries of failed jobs.

import { describe, expect, test } from "vitest";
import { job, orchestration } from "../../../src/index.ts";
import {
  refusalOf,
  startRuntime,
  virtualStore,
  virtualWorld,
} from "../../faults/trouble/support.ts";

const mail = job("mail", async (to: string) => `sent to ${to}`, {
  limit: { concurrency: 5, perKey: 2, rate: { count: 100, per: "1m" } },
  fair: true,
});
const LIMIT = { concurrency: 5, perKey: 2, rate: { count: 100, perMs: 60_000 }, fair: true };

describe("client.queues and client.queue", () => {
  test("show depth, age, limits, keys and the tasks without a worker", async () => {
    const { client, environment, provider } = await virtualStore();
    expect(await client.queues()).toEqual([]);
    for (const key of ["a", "b", "b"]) await client.enqueue(mail, "ada", { key });
    await environment.advance(1_500);
    const unclaimed = 'no running worker registers activity "mail"';
    const kinds = [{ tags: [], priority: 3, waiting: 3, running: 0, delayed: 0, unclaimed }];
    expect(await client.queues()).toMatchObject([
      { name: "mail", depth: 3, running: 0, delayed: 0, oldestAgeMs: 1_500, unclaimed, kinds },
    ]);
    expect(await client.queue("mail")).toMatchObject({
      depth: 3,
      limit: null,
      topKeys: [
        { key: "b", waiting: 2, running: 0 },
        { key: "a", waiting: 1, running: 0 },
      ],
    });
    await startRuntime(provider, [mail]);
    await client.get((await client.list({ name: "mail" })).items[0]?.id ?? "").result();
    expect((await client.queue("mail")).limit).toEqual(LIMIT);
  });

  test("show the outcomes of the last minute", async () => {
    const twice = job(
      "twice",
      async (name: string, { attempt }) => {
        if (name === "bad" || attempt === 1) throw new Error("not now");
      },
      { retry: { maxAttempts: 2, backoff: { base: "1s" } } },
    );
    const { client, environment } = await virtualWorld([twice]);
    const good = await client.enqueue(twice, "good");
    const bad = await client.enqueue(twice, "bad");
    await environment.advance(5_000);
    await good.result();
    await refusalOf(bad.result());
    await environment.advance(11_000); // runtimes report every ten seconds
    const [queue] = await client.queues();
    expect(queue).toMatchObject({
      name: "twice",
      depth: 0,
      oldestAgeMs: null,
      rate: 1 / 60,
      failures: 1,
      recent: { completed: 1, failed: 1, retried: 2 },
      paused: null,
      limit: null,
      kinds: [],
    });
    await environment.advance(120_000);
    expect(await client.queues()).toMatchObject([{ failures: 1, rate: 0 }]);
  });

  test("a queue without tasks has figures of 0", async () => {
    const { client } = await virtualStore();
    expect(await client.queue("nothing")).toEqual({
      name: "nothing",
      depth: 0,
      running: 0,
      delayed: 0,
      oldestAgeMs: null,
      rate: 0,
      failures: 0,
      recent: { completed: 0, failed: 0, retried: 0 },
      paused: null,
      limit: null,
      kinds: [],
      topKeys: [],
    });
    for (const name of ["", "perdure.x", 5 as never]) {
      expect((await refusalOf(client.queue(name))).code).toBe("INVALID_ARGUMENT");
    }
  });
});

describe("client.pauseQueue and client.resumeQueue", () => {
  test("a paused queue begins no attempt until it is resumed, and the first pause counts", async () => {
    const { client, environment } = await virtualWorld([mail]);
    await client.pauseQueue("mail", { reason: "provider is down", by: "ada" });
    await client.pauseQueue("mail", { reason: "again" });
    const handle = await client.enqueue(mail, "bob", { key: "k" });
    await environment.advance(60_000);
    const queue = await client.queue("mail");
    expect(queue).toMatchObject({ depth: 1, paused: { reason: "provider is down", by: "ada" } });
    expect(queue.paused?.at).toBeInstanceOf(Date);
    await client.resumeQueue("mail");
    await environment.advance(1_000);
    expect(await handle.result()).toBe("sent to bob");
    expect((await client.queue("mail")).paused).toBeNull();
    await client.resumeQueue("mail");
  });

  test("invalid names and options are refused before anything is written", async () => {
    const { client } = await virtualStore();
    const refused = [
      client.pauseQueue(""),
      client.pauseQueue("mail", { reason: 5 as never }),
      client.pauseQueue("mail", { who: "ada" } as never),
      client.resumeQueue("perdure.x"),
      client.retryFailed("mail", { limit: 0 }),
      client.retryFailed("mail", { dryRun: "yes" as never }),
      client.retryFailed("mail", { by: "" }),
      client.retryFailed("mail", { to: "failure" } as never),
      client.retryFailed("", {}),
    ];
    for (const call of refused) expect((await refusalOf(call)).code).toBe("INVALID_ARGUMENT");
    expect(await client.queues()).toEqual([]);
  });
});

describe("client.retryFailed", () => {
  test("runs the failed jobs of one name again, from the first attempt, with the same idempotency key and queue key", async () => {
    let isDown = true;
    const seen: number[] = [];
    const keys = new Map<string, Set<string>>();
    const send = job(
      "send",
      async (to: string, { attempt, idempotencyKey }) => {
        seen.push(attempt);
        keys.set(to, (keys.get(to) ?? new Set()).add(idempotencyKey));
        if (isDown) throw new Error("down");
        return "sent";
      },
      { retry: { maxAttempts: 2, backoff: { base: "1s" } }, limit: { perKey: 1 } },
    );
    const fails = orchestration("send", async () => {
      throw new Error("not a job");
    });
    const { client, environment } = await virtualWorld([send, fails]);
    const handles = await Promise.all(
      ["a", "b", "c"].map((key) => client.enqueue(send, key, { key })),
    );
    await refusalOf((await client.start(fails)).result());
    await environment.advance(5_000);
    for (const handle of handles) await refusalOf(handle.result());
    expect(seen.toSorted()).toEqual([1, 1, 1, 2, 2, 2]);

    expect(await client.retryFailed("send", { dryRun: true })).toEqual({
      matched: 3,
      done: 0,
      refused: [],
    });
    isDown = false;
    seen.length = 0;
    const first = await client.retryFailed("send", { limit: 2, requestId: "r" });
    expect(first).toEqual({
      matched: 3,
      done: 2,
      refused: [],
      cursor: expect.any(String) as string,
    });
    await environment.advance(1_000);
    expect(await client.queue("send")).toMatchObject({ failures: 1 });
    expect(await client.retryFailed("send")).toEqual({ matched: 1, done: 1, refused: [] });
    await environment.advance(1_000);
    for (const handle of handles) expect(await handle.result()).toBe("sent");
    expect(seen).toEqual([1, 1, 1]);
    expect([...keys.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
    expect((await handles[0]?.describe())?.repairs).toMatchObject([
      { kind: "rewind", reason: "retried by request" },
    ]);
    const events = await handles[0]?.history();
    expect(events?.[1]).toMatchObject({ kind: "ActivityScheduled", queueKey: "a" });
    expect(await client.count({ status: "failed", name: "send" })).toBe(1); // the orchestration
  });
});
