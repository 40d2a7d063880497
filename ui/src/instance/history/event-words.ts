// Texts about history events.

import type { HistoryEvent } from "../../api/types.ts";

/** Turns "ActivityScheduled" into "Activity scheduled". */
export function kindWords(kind: string): string {
  const words = kind.replace(/([a-z])([A-Z])/g, "$1 $2").split(" ");
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/**
 * The subject of an event: a name, a key, the request whose outcome it is. `asked`: the requesting event, if
 * known.
 */
export function aboutOf(event: HistoryEvent, asked: HistoryEvent | undefined): string {
  const { kind, name, names, node, key, change, scheduled, received, from } = event;
  const { reason, id, attempts, attempt, outcome } = event;
  const request = scheduled ?? received;
  const of = asked?.node ?? asked?.name;
  const parts = [
    node ?? name,
    node !== undefined && name !== undefined && name !== node ? `(${name})` : undefined,
    names?.join(", "),
    kind === "EventReceived" ? undefined : key, // here the key is the sender's idempotency key
    change,
    kind === "RequestReceived" ? `from ${from?.id ?? "a client"}` : id, // here the id is the request id
    of,
    request === undefined ? undefined : `of event ${request}`,
    outcome,
    attempt === undefined ? undefined : `attempt ${attempt}`,
    attempts === undefined || attempts < 2 ? undefined : `${attempts} attempts`,
    reason,
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}

export type EventTone = "good" | "bad" | "asked" | "state" | "plain";

export function toneOf(kind: string): EventTone {
  if (/(Failed|Cancelled|CancelRequested|Refused)$/.test(kind)) return "bad";
  if (/(Completed|Fired|Received|Answered)$/.test(kind)) return "good";
  if (/(Scheduled|Created|Subscribed|DetachedStarted|Raised|Sent|Served)$/.test(kind))
    return "asked";
  if (/^(Status|KeyValue|Attributes|Patch)/.test(kind)) return "state";
  return "plain";
}

/** The members of an event that are payloads, in the order of display. */
export const PAYLOADS = [
  "input",
  "sent",
  "output",
  "data",
  "value",
  "status",
  "details",
  "state",
  "schemas",
] as const;

export function payloadsOf(
  event: HistoryEvent,
): readonly { readonly name: string; readonly value: unknown }[] {
  return PAYLOADS.flatMap((name) =>
    name in event && event[name] !== undefined ? [{ name, value: event[name] }] : [],
  );
}

export const GROUPS: Readonly<Record<string, RegExp>> = {
  activities: /^Activity/,
  steps: /^Step/,
  timers: /^Timer/,
  events: /^(Event|Send|Callback)/,
  requests: /^(Request|Ask)/,
  children: /^(Child|Detached)/,
  state: /^(Status|KeyValue|Attributes|Patch)/,
  orchestration: /^Orchestration/,
  failures: /Failed$/,
};
