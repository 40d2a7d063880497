// Garbage collection on demand, for tests of what is kept in memory.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The bytes of the heap that are in use after a full collection. */
export async function heapInUse(): Promise<number> {
  // What this macrotask has read from a WeakRef counts as in use until the macrotask ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
