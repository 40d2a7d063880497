// Garbage collection on demand, for tests of memory use.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The bytes of the heap that are in use after a full collection. */
export async function heapInUse(): Promise<number> {
  // Targets of WeakRefs that this macrotask has read stay alive until the macrotask ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
