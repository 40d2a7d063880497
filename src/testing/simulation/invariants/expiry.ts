// Expiry: which instances may disappear because their time is over (admin.6). Every other instance that disappears
// without a call that names it violates C4.

import { isTerminalStatus } from "../../../core/provider/instances.ts";
import type { Carried } from "../calls.ts";
import { refill } from "./refill.ts";
import type { Snapshots } from "./snapshot.ts";

type Known = Pick<Snapshots, "last" | "idOf">;

export class Expiry {
  /** How long an instance is kept after its end, by id. */
  readonly #keepMs = new Map<string, number>();

  checkpoint(): () => void {
    const keepMs = [...this.#keepMs];
    return () => refill(this.#keepMs, keepMs);
  }

  /** Returns the instances that this call may have deleted. */
  see(call: Carried, snapshots: Known): readonly string[] {
    if (call.method === "commit") this.#seeEnds(call, snapshots);
    if (call.method !== "deleteExpired" || call.result.instances === 0) return [];
    return [...this.#keepMs].flatMap(([id, keepMs]) => {
      const record = snapshots.last(id)?.record;
      if (record === undefined || !isTerminalStatus(record.status)) return [];
      return (record.completedAt ?? Infinity) + keepMs <= call.now ? [id] : [];
    });
  }

  #seeEnds(call: Extract<Carried, { readonly method: "commit" }>, snapshots: Known): void {
    for (const [i, item] of call.args[0].entries()) {
      if (item.kind !== "turn" || call.result[i]?.kind !== "committed") continue;
      const id = snapshots.idOf(item.key);
      if (id === undefined || item.change.kind !== "ended") continue;
      if (item.change.keepMs === undefined) this.#keepMs.delete(id);
      else this.#keepMs.set(id, item.change.keepMs);
    }
  }
}
