// The liveness thread sends heartbeats over its own connection.

import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { LivenessThread } from "../../../src/core/provider/runtimes.ts";
import { systemEnvironment } from "../../../src/core/time/system-environment.ts";
import type { PostgresProvider } from "../../../src/postgres/index.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { postgres } from "../../support/postgres.ts";
import { openStore, openStoreFor, until } from "./support.ts";

const RUNTIME = "r";

function start(provider: PostgresProvider, stallMs: number): LivenessThread {
  if (provider.startLivenessThread === undefined)
    throw new Error("a store opened by URL must offer a liveness thread");
  return provider.startLivenessThread({ runtimeId: RUNTIME, beatMs: 20, stallMs });
}

const rowOf = async (provider: PostgresProvider) => (await provider.listRuntimes())[0];

/** Keeps the event loop turning until the condition holds. */
async function turning(thread: LivenessThread, condition: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => thread.turned(), 5);
  try {
    await vi.waitFor(condition, { timeout: 20_000, interval: 10 });
  } finally {
    clearInterval(timer);
  }
}

test("heartbeats arrive while the loop turns, and steadySince() is the time of the first one", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const thread = start(provider, 60_000);
  const first = (await rowOf(provider))?.beatAt ?? 0;
  await turning(thread, async () => {
    expect((await rowOf(provider))?.beatAt).toBeGreaterThan(first + 50);
    expect(systemEnvironment.monotonic() - thread.steadySince()).toBeGreaterThan(50);
  });
  expect(thread.lost()).toBe(false);
  await thread.stop();
});

test("a stalled loop stops the heartbeats and is noted; they resume with the loop", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const thread = start(provider, 100);
  thread.entering("a long turn");
  await vi.waitFor(
    async () => {
      expect(JSON.parse((await rowOf(provider))?.note ?? "{}")).toMatchObject({
        running: "a long turn",
      });
    },
    { timeout: 20_000 },
  );
  const stopped = (await rowOf(provider))?.beatAt ?? 0;
  await turning(thread, async () => {
    const row = await rowOf(provider);
    expect(row?.beatAt).toBeGreaterThan(stopped);
    expect(row?.note).toBeNull();
  });
  await thread.stop();
});

test("lost() is true after the runtime was declared dead", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const thread = start(provider, 60_000);
  await provider.expireRuntime({ id: RUNTIME, staleMs: null });
  await turning(thread, async () => expect(thread.lost()).toBe(true));
  await thread.stop();
});

test("after a broken connection the heartbeats continue", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const thread = start(provider, 60_000);
  const { query } = await postgres();
  const terminate = () =>
    query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdure liveness'",
    );
  const timer = setInterval(() => thread.turned(), 5);
  onTestFinished(() => clearInterval(timer));
  await until("the connection of the thread was ended", async () => (await terminate()).length > 0);
  const before = (await rowOf(provider))?.beatAt ?? 0;
  await until(
    "heartbeats arrive again",
    async () => ((await rowOf(provider))?.beatAt ?? 0) > before + 50,
  );
  await thread.stop();
});

test("there is no liveness thread if it could not connect, or if its clock would differ", async () => {
  const { url } = await postgres();
  const pool = new pg.Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  const config = { connectionString: url, password: () => "fetched" };
  const environment = new VirtualEnvironment();
  for (const options of [{ target: pool }, { target: config }, { environment }]) {
    const provider = await openStore(options);
    expect(provider.startLivenessThread).toBeUndefined();
    await provider.close();
  }
});
