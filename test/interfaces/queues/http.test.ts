// Queues over HTTP: figures, pauses, retries of failed jobs, and enqueueing by name.

import { expect, test, vi } from "vitest";
import { job } from "../../../src/index.ts";
import { openScene } from "../server/support.ts";

const mail = job("mail", async (to: string) => `sent to ${to}`, { limit: { perKey: 1 } });

test("an operator pauses a queue, sees what waits, and resumes it", async () => {
  const { as, perdure } = await openScene({}, [mail]);
  const client = as("operator");
  await client.pauseQueue("mail", { reason: "provider is down" });
  const handles = await Promise.all(
    ["a", "b", "b"].map((key) => client.enqueue(mail, "ada", { key })),
  );
  expect(await vi.waitUntil(async () => (await perdure.client.queue("mail")).depth === 3)).toBe(
    true,
  );
  const [queue] = await as("viewer").queues();
  expect(queue).toMatchObject({
    name: "mail",
    depth: 3,
    running: 0,
    paused: { reason: "provider is down", by: "otto", at: expect.any(Date) as Date },
    limit: { perKey: 1 },
  });
  expect((await as("viewer").queue("mail")).topKeys).toEqual([
    { key: "b", waiting: 2, running: 0 },
    { key: "a", waiting: 1, running: 0 },
  ]);
  await client.resumeQueue("mail");
  for (const handle of handles) expect(await handle.result()).toBe("sent to ada");
  expect(await as("viewer").queue("mail")).toMatchObject({ depth: 0 });
  expect(await as("viewer").queue("nothing")).toMatchObject({ name: "nothing", depth: 0 });
});

test("failed jobs are counted and retried, and the audit names them", async () => {
  let isDown = true;
  const keys: string[] = [];
  const send = job("send", async (_: unknown, { idempotencyKey }) => {
    keys.push(idempotencyKey);
    if (isDown) throw new Error("down");
  });
  const { as, audit } = await openScene({}, [send]);
  const client = as("operator");
  for (const id of ["s-1", "s-2"]) {
    const handle = await client.enqueue(send, undefined, { id });
    await handle.result().catch(() => undefined);
  }
  const nothing = { dryRun: false, applied: 0, refusedCount: 0, refused: [] };
  expect(await client.retryFailed("send", { dryRun: true })).toEqual({
    ...nothing,
    dryRun: true,
    matched: 2,
  });
  expect(await client.queue("send")).toMatchObject({ failures: 2 });
  isDown = false;
  const options = { limit: 1, requestId: "once" };
  const { cursor, ...retried } = await client.retryFailed("send", options);
  expect(retried).toEqual({ ...nothing, matched: 2, applied: 1 });
  expect(cursor).toBeTypeOf("string");
  expect(await client.retryFailed("send", options)).toMatchObject({ matched: 2, applied: 1 });
  await client.get("s-1").result();
  const why = { reason: "up again", by: "ada" };
  expect(await client.retryFailed("send", why)).toMatchObject({ matched: 1, applied: 1 });
  await client.get("s-2").result();
  expect((await client.get("s-2").describe()).repairs).toMatchObject([
    { reason: "up again", by: "ada via otto" },
  ]);
  expect(new Set(keys).size).toBe(2);
  expect(await client.queue("send")).toMatchObject({ failures: 0 });
  const entries = audit.filter(({ operation }) => operation === "retryFailed");
  expect(entries.map(({ instances, dryRun }) => instances ?? dryRun)).toEqual([
    true,
    ["s-1"],
    undefined, // the second call is answered from the cache
    ["s-2"],
  ]);
});

test("a job is enqueued by name, once per Idempotency-Key or request id", async () => {
  const { as, call, perdure } = await openScene({}, [mail]);
  const body = { input: "bob", key: "k", priority: 2, attributes: { team: "blue" } };
  const send = (content: object, headers: Record<string, string> = {}): Promise<Response> =>
    call("operator", "POST", "/queues/mail/jobs", { body: content, headers });
  const first = await send(body, { "Idempotency-Key": "one" });
  expect(first.status).toBe(201);
  const { id } = (await first.json()) as { id: string };
  const again = await send(body, { "Idempotency-Key": "one" });
  expect([await again.json(), again.headers.get("idempotency-replayed")]).toEqual([{ id }, "true"]);
  expect((await send({ ...body, key: "other" }, { "Idempotency-Key": "one" })).status).toBe(422);
  expect(await perdure.client.get(id).result()).toBe("sent to bob");
  expect(await perdure.client.get(id).describe()).toMatchObject({
    name: "mail",
    priority: 2,
    attributes: { team: "blue" },
  });
  const named = { input: "eve", key: "k", requestId: "named" };
  const twice = await Promise.all([send(named), send(named)].map(async (r) => (await r).json()));
  expect(twice[0]).toEqual(twice[1]);

  const client = as("operator");
  await client.pauseQueue("mail");
  const unique = { key: "k", unique: "ada", delay: "1h" } as const;
  const jobs = [await client.enqueue(mail, "ada", unique), await client.enqueue("mail", 1, unique)];
  expect(new Set(jobs.map((handle) => handle.id)).size).toBe(1);
  await expect(
    client.enqueue("mail", "ada", { unique: { key: "ada", onConflict: "fail" } }),
  ).rejects.toMatchObject({ code: "INSTANCE_EXISTS" });
  await client.enqueue("mail", 1, { debounce: { key: "x", wait: "1h" } });
  await client.enqueue("mail", 1, { throttle: { key: "x", per: "1h", trailing: true } });
  for (const bad of [{ priority: 9 }, { unknown: 1 }, { debounce: { key: "x" } }, { delay: "x" }]) {
    expect([bad, (await send(bad)).status]).toEqual([bad, 400]);
  }
});
