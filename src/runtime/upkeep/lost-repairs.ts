// Lost repairs: deletes the repair calls of runtimes that are gone (repair-calls.2).
//   - A call runs only in the runtime that its name contains. Its client deletes it, unless the client crashed too.
//   - lost-repairs.1: The runtimes are read again after the calls. A runtime that registered in between is then listed,
//     so its calls are kept.
//   - A client that still waits for a deleted call asks the next worker (delegate.1).

import { parseTarget } from "../../core/ids/targets.ts";
import type { WaitingRecord } from "../../core/provider/admin.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeRecord } from "../../core/provider/runtimes.ts";
import { repairCodeName, runtimeOfRepairs } from "../../core/repair/repair-calls.ts";

/** The maximum of calls to one runtime that one look deletes. The next look finds the rest. */
const BATCH = 100;

/** `runtimes`: read before `waiting`. */
export async function deleteLostRepairs(
  provider: Pick<Provider, "listRuntimes" | "listInstances" | "deleteInstance">,
  waiting: readonly WaitingRecord[],
  runtimes: readonly RuntimeRecord[],
): Promise<void> {
  const called = new Set(waiting.flatMap((kind) => runtimeOf(kind) ?? []));
  for (const { id } of runtimes) called.delete(id);
  if (called.size === 0) return;
  for (const { id } of await provider.listRuntimes()) called.delete(id); // lost-repairs.1
  for (const runtimeId of called) {
    const name = repairCodeName(runtimeId);
    const { items } = await provider.listInstances({
      filter: { name, status: ["pending", "running"] },
      order: "oldest",
      limit: BATCH,
      cursor: null,
    });
    for (const { id } of items) await provider.deleteInstance({ id, force: true });
  }
}

function runtimeOf(kind: WaitingRecord): string | null {
  return kind.kind === "task" ? null : runtimeOfRepairs(parseTarget(kind.target).name);
}
