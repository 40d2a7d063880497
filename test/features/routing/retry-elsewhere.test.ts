// The retry of a failed attempt prefers another worker (semantics 10).

import { expect, test } from "vitest";
import { activity, Client, orchestration, type RuntimeOptions } from "../../../src/index.ts";
import { startRuntime, virtualStore } from "../../faults/trouble/support.ts";

function fleet() {
  const ran: string[] = [];
  const flaky = activity("flaky", (fails: number, { attempt, info }) => {
    ran.push(info.worker);
    if (attempt <= fails) throw new Error("not yet");
    return attempt;
  });
  const main = orchestration("main", async (ctx, session: string | null) =>
    ctx.run(flaky, 3, {
      retry: { maxAttempts: 4, backoff: { kind: "fixed", base: "100ms" } },
      ...(session === null ? {} : { session }),
    }),
  );
  return { ran, flaky, main };
}

async function run(options: { runtimes: number; session?: string; runtime?: RuntimeOptions }) {
  const { provider, environment } = await virtualStore();
  const { ran, flaky, main } = fleet();
  for (let n = 0; n < options.runtimes; n++) {
    await startRuntime(provider, [flaky, main], options.runtime ?? {});
  }
  await environment.advance(3_000); // until the workers have seen each other
  const began = environment.now();
  const handle = await new Client(provider).start(main, options.session ?? null);
  let ms = 0;
  for (; (await handle.describe()).status !== "completed"; ms += 50) await environment.advance(50);
  return { ran, took: environment.now() - began };
}

test("with two workers every retry runs on the other worker", async () => {
  const { ran, took } = await run({ runtimes: 2 });
  expect(ran).toHaveLength(4);
  for (const [index, worker] of ran.entries()) {
    if (index > 0) expect(worker).not.toBe(ran[index - 1]);
  }
  expect(took).toBeLessThan(2_000);
});

test("a single worker retries at once", async () => {
  const { ran, took } = await run({ runtimes: 1 });
  expect(new Set(ran).size).toBe(1);
  expect(took).toBeLessThan(500);
});

test("on a session the retry stays on the worker of the session", async () => {
  const { ran } = await run({ runtimes: 2, session: "s" });
  expect(ran).toHaveLength(4);
  expect(new Set(ran).size).toBe(1);
});

test("if other workers have no capacity, the same worker retries after one second", async () => {
  const { provider, environment } = await virtualStore();
  const { ran, flaky, main } = fleet();
  await startRuntime(provider, [flaky, main]);
  await startRuntime(provider, [flaky, main], { activityConcurrency: 0 });
  await environment.advance(3_000);
  const began = environment.now();
  const handle = await new Client(provider).start(main, null);
  for (; (await handle.describe()).status !== "completed";) await environment.advance(50);
  expect(ran).toHaveLength(4);
  expect(new Set(ran).size).toBe(1);
  expect(environment.now() - began).toBeGreaterThanOrEqual(3 * 1_100);
  expect(environment.now() - began).toBeLessThan(5_000);
});
