// C34: a rewind returns the events that were read after its cut to the inbox: each once, in order, and in front of
// those that waited there.

import { isCallbackMessage } from "../../../core/ids/callback-messages.ts";
import { requestNameOf } from "../../../core/ids/request-messages.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

/** Compares the snapshots before and after a rewind. After the first turn there is nothing to compare. */
export function returnedEvents(now: InstanceSnapshot, before: InstanceSnapshot | null): string[] {
  const { execution, copiedUntil, lastEvent, key } = now.record;
  const isRewound = before?.record.key === key && before.record.execution === execution - 1;
  if (!isRewound || copiedUntil === 0 || lastEvent !== copiedUntil) return [];
  const read = before.events.flatMap((event) =>
    event.kind === "EventReceived" && event.sequence > copiedUntil ? [event] : [],
  );
  const expected = [...read, ...waiting(before)].filter(({ name }) => isOrdinary(name));
  const found = waiting(now).filter(({ name }) => isOrdinary(name));
  for (const name of new Set([...expected, ...found].map((event) => event.name))) {
    const wanted = textsOf(expected, name);
    const actual = textsOf(found, name);
    if (wanted !== actual) return [`the inbox has ${name} ${actual}, not ${wanted}`];
  }
  return [];
}

interface Event {
  readonly name: string | null;
  readonly data: string;
}

function waiting({ inbox }: InstanceSnapshot): readonly Event[] {
  return inbox.filter(({ kind }) => kind === "event").sort((a, b) => a.id - b.id);
}

function textsOf(events: readonly Event[], name: string | null): string {
  return events.flatMap((event) => (event.name === name ? [event.data] : [])).join(", ");
}

function isOrdinary(name: string | null): boolean {
  return name !== null && !isCallbackMessage(name) && requestNameOf(name) === null;
}
