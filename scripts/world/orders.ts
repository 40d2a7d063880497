// The client's side of the programmes: it starts orders, waits for them, and reports each one without its right result.

import { Client, type Handle } from "../../src/index.ts";
import { WorkerProcess, type WorkerOptions } from "../../test/faults/kill/fleet.ts";
import { openAddress } from "../../test/faults/kill/store-address.ts";
import { storeUnderTest, type StoreUnderTest } from "../../test/faults/kill/stores.ts";
import type { Setting } from "./programme.ts";
import { resultOf, type Order } from "./work.ts";

/** An order that has not ended after this time is stuck. */
export const STUCK_MS = 120_000;

/** An empty store with a client in this process. */
export interface Shop extends AsyncDisposable {
  readonly store: StoreUnderTest;
  readonly client: Client;
}

export async function openShop({ store: kind, folder }: Setting, name = "store"): Promise<Shop> {
  const store = await storeUnderTest(kind, folder, name);
  const provider = await openAddress(store.address);
  return {
    store,
    client: new Client(provider),
    async [Symbol.asyncDispose]() {
      await provider.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** A process that runs the work. */
export function newWorker(options: Omit<WorkerOptions, "program">): WorkerProcess {
  return new WorkerProcess({ program: new URL("./worker.ts", import.meta.url), ...options });
}

export async function startOrders(
  client: Client,
  { count, order, prefix = "order" }: { count: number; order: Order; prefix?: string },
): Promise<readonly Handle[]> {
  const starts = Array.from({ length: count }, (_, n) =>
    client.start("order", order, { id: `${prefix}-${n}` }),
  );
  return Promise.all(starts);
}

/** The orders that are stuck, failed or returned another result. */
export async function wrongOrders(
  handles: readonly Handle[],
  order: Order,
  timeout = STUCK_MS,
): Promise<readonly string[]> {
  const wrong = await Promise.all(
    handles.map(async (handle) => {
      try {
        const result = await handle.result({ timeout });
        return result === resultOf(order) ? null : `${handle.id} returned ${String(result)}`;
      } catch (error) {
        return `${handle.id}: ${error instanceof Error ? error.message : String(error)}`;
      }
    }),
  );
  return wrong.filter((text) => text !== null);
}

/** How long the call took. */
export async function timed(call: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await call();
  return performance.now() - began;
}
