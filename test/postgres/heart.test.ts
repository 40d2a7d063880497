// The heart: beats from a thread with a connection of its own.

import pg from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Heart } from "../../src/core/provider/runtimes.ts";
import { systemEnvironment } from "../../src/core/system-environment.ts";
import type { PostgresProvider } from "../../src/postgres/index.ts";
import { VirtualEnvironment } from "../../src/testing/virtual-environment.ts";
import { postgres } from "../support/postgres.ts";
import { openStore, openStoreFor, until } from "./support.ts";

const RUNTIME = "r";

function start(provider: PostgresProvider, stallMs: number): Heart {
  if (provider.startHeart === undefined) throw new Error("a store by URL offers a heart");
  return provider.startHeart({ runtimeId: RUNTIME, beatMs: 20, stallMs });
}

const rowOf = async (provider: PostgresProvider) => (await provider.listRuntimes())[0];

/** The loop turns, until the condition holds. */
async function turning(heart: Heart, condition: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => heart.turned(), 5);
  try {
    await vi.waitFor(condition, { timeout: 20_000, interval: 10 });
  } finally {
    clearInterval(timer);
  }
}

test("beats arrive while the loop turns, and vouch for the time since the first", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const heart = start(provider, 60_000);
  const first = (await rowOf(provider))?.beatAt ?? 0;
  await turning(heart, async () => {
    expect((await rowOf(provider))?.beatAt).toBeGreaterThan(first + 50);
    expect(systemEnvironment.monotonic() - heart.steadySince()).toBeGreaterThan(50);
  });
  expect(heart.lost()).toBe(false);
  await heart.stop();
});

test("a loop that stands still stops the beats, is noted, and resumes them", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const heart = start(provider, 100);
  heart.entering("a long turn");
  await vi.waitFor(
    async () => {
      expect(JSON.parse((await rowOf(provider))?.note ?? "{}")).toMatchObject({
        running: "a long turn",
      });
    },
    { timeout: 20_000 },
  );
  const stopped = (await rowOf(provider))?.beatAt ?? 0;
  await turning(heart, async () => {
    const row = await rowOf(provider);
    expect(row?.beatAt).toBeGreaterThan(stopped);
    expect(row?.note).toBeNull();
  });
  await heart.stop();
});

test("a runtime that was declared dead learns it from its heart", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const heart = start(provider, 60_000);
  await provider.expireRuntime({ id: RUNTIME, staleMs: null });
  await turning(heart, async () => expect(heart.lost()).toBe(true));
  await heart.stop();
});

test("a connection that breaks costs a beat, and the heart goes on", async () => {
  const provider = await openStoreFor([RUNTIME]);
  const heart = start(provider, 60_000);
  const { query } = await postgres();
  const terminate = () =>
    query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdure heart'",
    );
  const timer = setInterval(() => heart.turned(), 5);
  onTestFinished(() => clearInterval(timer));
  await until("its connection was ended", async () => (await terminate()).length > 0);
  const before = (await rowOf(provider))?.beatAt ?? 0;
  await until("it beats again", async () => ((await rowOf(provider))?.beatAt ?? 0) > before + 50);
  await heart.stop();
});

test("there is none where a thread could not connect, or would have another clock", async () => {
  const { url } = await postgres();
  const pool = new pg.Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  const config = { connectionString: url, password: () => "fetched" };
  const environment = new VirtualEnvironment();
  for (const options of [{ target: pool }, { target: config }, { environment }]) {
    const provider = await openStore(options);
    expect(provider.startHeart).toBeUndefined();
    await provider.close();
  }
});
