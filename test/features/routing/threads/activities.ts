// Activities that tests run in threads. threads(…) loads this module, and the process of the test registers them.

import {
  activity,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  type StandardSchema,
} from "../../../../src/index.ts";
import { isMainThread, threadId } from "node:worker_threads";

/** Keeps a core busy. */
export function burn(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

export const where = activity("where", () => ({ isMainThread, threadId }));

export const echo = activity("echo", (value: unknown) => value);

export const busy = activity("busy", (ms: number) => {
  burn(ms);
  return isMainThread;
});

/** Writes numbers to the stream "numbers", and fails in its first attempt. */
export const writes = activity("writes", async (count: number, { stream, attempt }) => {
  await using out = stream("numbers");
  for (let number = 0; number < count; number++) await out.write({ number, attempt, isMainThread });
  if (attempt === 1) throw new Error("again");
});

export const details = activity("details", (_: undefined, { info, attempt, idempotencyKey }) => ({
  info,
  attempt,
  idempotencyKey,
}));

export const logs = activity("logs", (_: undefined, { log }) => {
  log.info("from a thread", { at: new Date(7), odd: Symbol("strange"), error: new Error("why") });
});

/** Sends heartbeats without returning to the event loop of its thread. */
export const beats = activity("beats", (pages: number, { heartbeat, lastHeartbeat, attempt }) => {
  if (attempt > 1) return lastHeartbeat;
  for (let page = 1; page <= pages; page++) heartbeat({ page });
  throw new Error("retry");
});

export const silent = activity("silent", () => new Promise<never>(() => undefined));

export const reports = activity("reports", async (steps: number, { progress, signal }) => {
  for (let step = 1; step <= steps; step++) progress({ step });
  await aborted(signal);
});

/** Ends when it is aborted, and logs the reason. */
export const waits = activity("waits", async (_: undefined, { signal, log }) => {
  log.info("waiting");
  await aborted(signal);
  const reason = signal.reason as { name?: unknown; code?: unknown; message?: unknown };
  log.info("aborted", { name: reason.name, code: reason.code, message: reason.message });
});

/** Ignores its abort signal. */
export const spins = activity("spins", (_: undefined, { log }) => {
  log.info("spinning");
  for (;;);
});

/** Ends its thread in the given way in its first `lives` attempts. */
export const dies = activity(
  "dies",
  async ({ how, lives }: { how: "exit" | "throw" | "hoard"; lives: number }, { attempt }) => {
    if (attempt > lives) return attempt;
    if (how === "exit") process.exit(3);
    if (how === "throw") {
      setTimeout(() => {
        throw new Error("thrown outside of a promise");
      });
    }
    const kept: unknown[] = [];
    // Large steps: with many small ones, V8 sometimes ends the process before the thread can be stopped.
    while (how === "hoard") kept.push(new Array(200_000).fill(kept.length));
    return new Promise<never>(() => undefined);
  },
);

export const floats = activity("floats", async () => {
  void Promise.reject(new Error("not awaited"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  return threadId;
});

export const fails = activity("fails", (how: "plain" | "final" | "later", { attempt }) => {
  if (how === "final") throw new NonRetryableError("never again");
  if (how === "later" && attempt === 1) throw new RetryAfterError("40ms", "not now");
  if (how === "plain") throw Object.assign(new RangeError("too much"), { limit: 5 });
  return attempt;
});

export const unstorable = activity("unstorable", () => () => 1);

const wholeNumber: StandardSchema<number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      Number.isInteger(value)
        ? { value: value as number }
        : { issues: [{ message: "no whole number" }] },
  },
};
export const checked = activity("checked", (n) => n + 1, { input: wholeNumber });

export const child = orchestration("child", async (_ctx, n: number) => n * 2);

/** Starts an instance through the client of its context and waits for its end. */
export const delegates = activity("delegates", async (n: number, { client, idempotencyKey }) => {
  const handle = await client.start(child, n, { id: `child-${n}`, requestId: idempotencyKey });
  const value = await handle.result();
  const info = await handle.describe();
  const refusal = await client
    .start(child, n, { id: `child-${n}` })
    .catch((error: unknown) => error);
  return {
    value,
    status: info.status,
    refusal: (refusal as { code?: unknown }).code,
    isMainThread,
  };
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Completes later: the test completes it with the token that it reports. */
export const later = activity("later", (_: undefined, { completeLater, progress }) => {
  progress(completeLater().token);
  return () => "a value that cannot be stored";
});

/** Completes itself by its token, with the client of the thread. */
export const selfMade = activity("selfMade", async (value: string, { completeLater, client }) => {
  await client.complete(completeLater().token, `${value}, ${isMainThread}`);
});
