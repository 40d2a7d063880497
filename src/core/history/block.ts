// Blocks: why an instance cannot continue, as data for people and tools.
//   - A block does not end the instance. The instance waits for other code, other data or an operator
//       (semantics 5, 6, P6).

import { defined } from "../values/defined.ts";
import type { CommandBody, EventBody } from "./events.ts";

export type BlockCode =
  | "NONDETERMINISM"
  | "FOREIGN_AWAIT"
  | "HISTORY_CORRUPT"
  | "KEY_MISSING"
  | "LIMIT_EXCEEDED"
  | "NOT_CONFIGURED"
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
  /** The answer to a request. */
  readonly output?: string;
}
/** Why an instance is blocked. For a divergence it includes both sides. */
export interface BlockReason {
  readonly code: BlockCode;
  readonly message: string;
  /** For a divergence: the sequence number of the event. */
  readonly sequence?: number;
  /** The event that the history holds there; null if the history ends before it. */
  readonly recorded?: CommandSketch | null;
  /** The command that the code issued; null if it issued none. */
  readonly requested?: CommandSketch | null;
  /**
   * The source line of the command. For FOREIGN_AWAIT: where the code used its context outside of a turn, if
   * it did.
   */
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
  const held = recorded === null ? "missing" : describeCommand(recorded);
  const asked = requested === null ? "no command" : describeCommand(requested);
  const at = source === undefined ? "" : ` at ${source}`;
  return {
    code: "NONDETERMINISM",
    message:
      `nondeterministic: event ${sequence} of the history is ${held}, but the code issued ${asked}${at}. ` +
      `Deploy the code that wrote this history, or put the change behind ctx.patched("…") or a new version.`,
    sequence,
    recorded,
    requested,
    ...defined({ source }),
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
    ...("received" in body ? { scheduled: body.received } : {}),
    ...(body.kind === "RequestAnswered" ? { output: cut(body.output) } : {}),
    ...(body.kind === "KeyValueSet" ? { name: body.key, input: cut(body.value) } : {}),
    ...(body.kind === "KeyValueCleared" && body.key !== undefined ? { name: body.key } : {}),
  };
}

function describeCommand(side: CommandSketch): string {
  const name = side.name === undefined ? "" : ` "${side.name}"`;
  const of = side.scheduled === undefined ? "" : ` of event ${side.scheduled}`;
  const id = side.id === undefined ? "" : ` as "${side.id}"`;
  const input = side.input === undefined ? "" : ` with input ${side.input}`;
  const since = side.since === undefined ? "" : ` since "${side.since}"`;
  const session = side.session === undefined ? "" : ` in session "${side.session}"`;
  const tags = side.tags === undefined ? "" : ` with tags ${side.tags.join(", ")}`;
  const node = side.node === undefined ? "" : ` of node "${side.node}"`;
  const answer = side.output === undefined ? "" : ` with answer ${side.output}`;
  return `${side.kind}${name}${of}${id}${node}${input}${answer}${since}${session}${tags}`;
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/**
 * A call that an execution made, without its input. A run keeps its last call for the message of
 * FOREIGN_AWAIT.
 */
export interface CallSummary {
  readonly sequence: number;
  readonly kind: string;
  readonly name: string | undefined;
}

export function callSummary(sequence: number, body: CommandBody): CallSummary {
  return { sequence, kind: body.kind, name: "name" in body ? body.name : undefined };
}

/**
 * `source`: where the code used its context after the foreign await. `after`: the last call before the await.
 * The engine does not know the position of the await itself: it only sees that no durable task is open.
 */
export function foreignAwait(
  found: { readonly source?: string | undefined; readonly after?: CallSummary | null } = {},
): BlockReason {
  const { source, after = null } = found;
  const name = after?.name === undefined ? "" : ` "${after.name}"`;
  return {
    code: "FOREIGN_AWAIT",
    message:
      "The orchestration waits for a promise that is not durable (fetch, a timer, a database…). " +
      (after === null
        ? ""
        : `Its last durable call was event ${after.sequence}, ${after.kind}${name}. `) +
      (source === undefined ? "" : `It continued outside a turn at ${source}. `) +
      "Do such work in an activity (ctx.run) or a step (ctx.step), and wait with ctx.sleep or ctx.waitFor.",
    ...defined({ source }),
  };
}

/** The inbox has messages for an execution whose start event is missing. */
export function startMissing(): BlockReason {
  const message =
    "The start of this execution is missing: it is neither in the history nor in the inbox.";
  return { code: "HISTORY_CORRUPT", message };
}
