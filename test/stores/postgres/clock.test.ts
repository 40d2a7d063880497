// The clock of the database decides (I3): a process with a wrong clock takes over no live lease, and no timer fires early.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import {
  ALPHA,
  BETA,
  fresh,
  startItem,
  TARGETS,
} from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema } from "./support.ts";

const HOUR_MS = 3_600_000;
const LEASE_MS = 600_000;

test.each([HOUR_MS, -HOUR_MS])(
  "a process whose clock is %d ms off uses the time of the store, takes no live lease and finds due instances",
  async (skewMs) => {
    const schema = ownSchema();
    const store = await openStoreFor([ALPHA, BETA], { schema });
    await store.commit([startItem({ id: "leased" })]);
    const request = { limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 10 };
    const mine = await store.leaseInstances({
      ...request,
      owner: ALPHA,
      token: fresh(),
      leaseMs: LEASE_MS,
    });
    expect(mine.instances.map(({ id }) => id)).toEqual(["leased"]);
    await store.commit([
      startItem({ id: "due" }),
      startItem({ id: "later", delayMs: HOUR_MS / 2 }),
    ]);

    const seen = await skewed(schema, skewMs);
    expect(seen.taken).toEqual(["due"]);
    expect(Math.abs(seen.ownClock - Date.now() - skewMs)).toBeLessThan(60_000);
    expect(Math.abs(seen.storeClock - Date.now())).toBeLessThan(60_000);
  },
);

interface Seen {
  readonly ownClock: number;
  readonly storeClock: number;
  readonly taken: readonly string[];
}

async function skewed(schema: string, skewMs: number): Promise<Seen> {
  const { url } = await postgres();
  const program = join(import.meta.dirname, "skewed-process.ts");
  const child = spawn(process.execPath, [program, url, schema, String(skewMs)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  return JSON.parse(output) as Seen;
}
