// Blocks: why an instance cannot go on, in a form that people and tools read.
//   Q1. A block ends nothing: the instance waits for other code, other data or an operator (semantics 5, 6, P6).

import type { EventBody } from "./history-events.ts";

export type BlockCode =
  | "NONDETERMINISM"
  | "FOREIGN_AWAIT"
  | "HISTORY_CORRUPT"
  | "KEY_MISSING"
  | "LIMIT_EXCEEDED"
  | "QUARANTINE";

/** One side of a divergence. */
export interface CommandSketch {
  readonly kind: string;
  readonly name?: string;
  readonly id?: string;
  readonly scheduled?: number;
  readonly input?: string;
  readonly since?: string;
  readonly session?: string;
  readonly tags?: readonly string[];
  readonly node?: string;
}
/** Why an instance is blocked; for a divergence also both sides of it. */
export interface BlockReason {
  readonly code: BlockCode;
  readonly message: string;
  /** The place in history, for a divergence. */
  readonly sequence?: number;
  /** What history holds there; null: nothing, or something that is no command. */
  readonly recorded?: CommandSketch | null;
  /** What the code asked for; null: nothing. */
  readonly requested?: CommandSketch | null;
  /** Where the code asked for it. */
  readonly source?: string;
}

export function nondeterminism(options: {
  sequence: number;
  recorded: EventBody | null;
  requested: EventBody | null;
  source?: string | undefined;
}): BlockReason {
  const { sequence, source } = options;
  const recorded = options.recorded === null ? null : sketch(options.recorded);
  const requested = options.requested === null ? null : sketch(options.requested);
  const held = recorded === null ? "nothing more" : say(recorded);
  const asked = requested === null ? "nothing" : say(requested);
  const at = source === undefined ? "" : ` at ${source}`;
  return {
    code: "NONDETERMINISM",
    message:
      `nondeterministic: event ${sequence} of the history is ${held}, but the code asked for ${asked}${at}. ` +
      `Deploy the code that wrote this history, or put the change behind ctx.patched("…") or a new version.`,
    sequence,
    recorded,
    requested,
    ...(source === undefined ? {} : { source }),
  };
}

function sketch(body: EventBody): CommandSketch {
  return {
    kind: body.kind,
    ...("name" in body ? { name: body.name } : {}),
    ...("id" in body ? { id: body.id } : {}),
    ...("scheduled" in body ? { scheduled: body.scheduled } : {}),
    ...("input" in body ? { input: cut(body.input) } : {}),
    ...("since" in body ? { since: body.since } : {}),
    ...("session" in body ? { session: body.session } : {}),
    ...("tags" in body ? { tags: body.tags } : {}),
    ...("node" in body ? { node: body.node } : {}),
    ...(body.kind === "KeyValueSet" ? { name: body.key, input: cut(body.value) } : {}),
    ...(body.kind === "KeyValueCleared" && body.key !== undefined ? { name: body.key } : {}),
  };
}

function say(side: CommandSketch): string {
  const name = side.name === undefined ? "" : ` "${side.name}"`;
  const of = side.scheduled === undefined ? "" : ` of event ${side.scheduled}`;
  const id = side.id === undefined ? "" : ` as "${side.id}"`;
  const input = side.input === undefined ? "" : ` with input ${side.input}`;
  const since = side.since === undefined ? "" : ` since "${side.since}"`;
  const session = side.session === undefined ? "" : ` in session "${side.session}"`;
  const tags = side.tags === undefined ? "" : ` with tags ${side.tags.join(", ")}`;
  const node = side.node === undefined ? "" : ` of node "${side.node}"`;
  return `${side.kind}${name}${of}${id}${node}${input}${since}${session}${tags}`;
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

export function foreignAwait(): BlockReason {
  return {
    code: "FOREIGN_AWAIT",
    message:
      "The orchestration waits for a promise that is not durable (fetch, a timer, a database…). " +
      "Do such work in an activity (ctx.run) or a step (ctx.step), and wait with ctx.sleep or ctx.event.",
  };
}

/** Messages came to an execution of which nothing says how it began. */
export function startMissing(): BlockReason {
  return {
    code: "HISTORY_CORRUPT",
    message:
      "Nothing says how this execution began: its start is neither recorded nor in its inbox.",
  };
}
