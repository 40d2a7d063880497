// Invariant 8, for messages and starts that a turn writes to other instances: the commit of the turn also
// writes their outcomes, of quiet ones only a failure (provider.asks.4). A history cannot show this later, because code may cancel such a
// call without an event.

import type { Dispatch } from "../../../core/provider/asks.ts";
import type { Provider } from "../../../core/provider/provider.ts";
import { writtenDispatches, type Carried } from "../calls.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

/** `last`: the snapshot of an instance after the call. */
export async function missingOutcomes(
  call: Carried,
  last: (key: number) => InstanceSnapshot | null,
  store: Provider,
): Promise<string[]> {
  if (call.method !== "commit") return [];
  const found: string[] = [];
  const [items] = call.args;
  for (const [i, item] of items.entries()) {
    if (item.kind !== "turn" || call.result[i]?.kind !== "committed") continue;
    const { key, execution, dispatched } = item;
    if (dispatched === undefined) continue;
    const now = last(key);
    const isLast = !items.slice(i + 1).some((later) => later.kind === "turn" && later.key === key);
    if (now !== null && isLast && item.change.kind === "none") {
      const refused = new Set(call.result[i].undelivered?.map(({ sequence }) => sequence));
      found.push(...unanswered(dispatched, refused, execution, now));
    }
    for (const each of writtenDispatches(item, call.result[i])) {
      if (each.kind !== "start" || (await store.readInstance(each.id)) !== null) continue;
      found.push(`a turn of ${now?.record.id ?? key} started ${each.id}, which does not exist`);
    }
  }
  return found;
}

function unanswered(
  dispatched: readonly Dispatch[],
  refused: ReadonlySet<number>,
  execution: number,
  { record, inbox }: InstanceSnapshot,
): string[] {
  if (record.execution !== execution) return []; // another item of the group restarted the instance
  return dispatched.flatMap(({ sequence, item, quiet }) => {
    if (item.kind !== "send" && item.kind !== "start") return []; // of an ask: reasons.ts
    if (quiet === true && !refused.has(sequence)) return [];
    const isThere = inbox.some((each) => each.kind === "sent" && each.sequence === sequence);
    return isThere ? [] : [`${record.id}: the ${item.kind} of event ${sequence} has no outcome`];
  });
}
