// The changes of an instance's visible state by the events of a turn, as the store writes them.

import type { EventBody } from "../history/events.ts";
import type { KeyValueChange, StateChange } from "../provider/state.ts";

/** Null if nothing changes. The last status wins. Changes of key-values keep their order. */
export function stateChangeOf(
  events: readonly EventBody[],
  attributes: Readonly<Record<string, string>>,
): StateChange | null {
  let status: { readonly value: string | null } | null = null;
  let changesAttributes = false;
  const keyValues: KeyValueChange[] = [];
  for (const event of events) {
    if (event.kind === "StatusSet") status = { value: event.status };
    else if (event.kind === "AttributesSet") changesAttributes = true;
    else if (event.kind === "KeyValueSet") keyValues.push({ key: event.key, value: event.value });
    else if (event.kind === "KeyValueCleared")
      keyValues.push({ key: event.key ?? null, value: null });
  }
  if (status === null && !changesAttributes && keyValues.length === 0) return null;
  return { status, attributes: changesAttributes ? attributes : null, keyValues };
}
