// Garbage collection on demand, for tests of memory use.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const collect = collector();

/** The bytes of the heap that are in use after a full collection. */
export async function heapInUse(): Promise<number> {
  // Targets of WeakRefs that this macrotask has read stay alive until the macrotask ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function collector(): () => void {
  const { Bun: bun } = globalThis as { readonly Bun?: { gc(force: boolean): number } };
  if (bun !== undefined) return () => void bun.gc(true);
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
