// Received values: checks the input of a start and the data of an event against the schema of the receiver.
//   - received.1: Only the live turn that receives a value calls the schema. The history holds the verdict: the
//        schema's output, or why the schema refused the value. A replay reads the verdict and calls no schema.
//   - received.2: If the schema refuses the input of a start, the execution fails without running its code.
//   - received.3: If the schema of a wait refuses an event, the event stays unread and the wait goes on. The
//        schema sees the event again when the code calls the wait again after a replay or in the next execution,
//        because a deploy may have changed the schema. A wait without a schema takes every event.
//   - received.4: Several open waits for one name: the oldest wait whose schema accepts the event receives it.
//   - received.5: A turn cannot wait for an asynchronous schema. A start then fails; an event is accepted
//        unchecked, because its sender has validated it.

import { inRootContext } from "../context/async-context.ts";
import { invalidArgument } from "../checks.ts";
import { PerdureError } from "../errors/errors.ts";
import { toFailure, type Failure } from "../errors/failure.ts";
import type {
  DeliveryBody,
  EventReceived,
  EventSubscribed,
  OrchestrationStarted,
  RefusedEvent,
} from "../history/events.ts";
import { checkPayload } from "../values/limits.ts";
import { verdictOf, type StandardSchema, type Verdict } from "../values/standard-schema.ts";
import { decode, type PendingCancel } from "./delivery.ts";
import { hasRefused, rememberRefusal, type UnreadMessage } from "./mailbox.ts";
import type { Run } from "./run.ts";

/**
 * Checks a new event, then appends and delivers it with its verdict. If a value cannot be read, the run is
 * blocked. Call it inside a drain. `cancel`: see core.delivery.1.
 */
export function deliverReceived(
  run: Run,
  body: DeliveryBody,
  at: number,
  cancel: PendingCancel = null,
): void {
  const checked = checkReceived(run, body);
  if (checked !== null) run.deliver(checked, at, cancel);
}

function checkReceived(run: Run, body: DeliveryBody): DeliveryBody | null {
  if (body.kind === "OrchestrationStarted") return checkStart(run, body);
  return body.kind === "EventReceived" ? checkEvent(run, body) : body;
}

/** received.2 */
function checkStart(run: Run, body: OrchestrationStarted): OrchestrationStarted | null {
  const { unchecked, ...started } = body;
  const schema = run.options.inputSchema;
  if (unchecked !== true || schema === undefined) return started;
  const verdict = judge(run, schema, { text: body.input, what: `input of "${body.name}"` });
  if (verdict === null) return null;
  if (verdict.kind === "accepted") return { ...started, input: verdict.text };
  const failure = verdict.kind === "refused" ? verdict.failure : asynchronous(run, body.name);
  return { ...started, refused: failure };
}

/** received.5 */
function asynchronous(run: Run, name: string): Failure {
  const rule = `The schema of the input of "${name}" is asynchronous, so a worker cannot check the input`;
  const wayOut =
    "Start it with its definition, client.start(definition, input), or make the schema synchronous";
  return failureOf(run, invalidArgument(`${rule}. ${wayOut}.`));
}

/** received.4 */
function checkEvent(run: Run, body: EventReceived): EventReceived | null {
  let refused: Failure | undefined;
  for (const [index, wait] of run.mailbox.waits(body.name).entries()) {
    const taker = index === 0 ? {} : { wait: wait.sequence };
    if (wait.schema === undefined) return { ...body, ...taker };
    const verdict = judge(run, wait.schema, { text: body.data, what: `event "${body.name}"` });
    if (verdict === null) return null;
    if (verdict.kind !== "refused") return { ...body, ...taker, ...outputOf(verdict, body.data) };
    refused ??= verdict.failure;
  }
  if (refused === undefined) return body;
  warn(run, body.name, refused);
  for (const { callback } of run.mailbox.waits(body.name)) {
    if (callback !== undefined) run.effects.changeCallback(callback.requestId, "open");
  }
  return { ...body, refused };
}

/**
 * The body of a new wait, with the verdicts about the unread events of its name. In a replay the recorded body
 * has them.
 */
export function checkUnread(
  run: Run,
  body: EventSubscribed,
  schema: StandardSchema | undefined,
): EventSubscribed {
  if (schema === undefined || body.since === "now" || run.hasMoreHistory) return body;
  const refused: RefusedEvent[] = [];
  const members = () => (refused.length === 0 ? {} : { refused });
  const unread = run.mailbox.unreadOf(body.name);
  for (const [index, message] of unread.entries()) {
    if (hasRefused(schema, message)) continue;
    const verdict = judge(run, schema, { text: message.data, what: `event "${body.name}"` });
    if (verdict === null) return body; // the run is blocked and records nothing
    if (verdict.kind !== "refused") {
      const taken = index === 0 ? {} : { taken: message.sequence };
      return { ...body, ...taken, ...outputOf(verdict, message.data), ...members() };
    }
    rememberRefusal(schema, message);
    if (message.isRefused === true) continue;
    refused.push({ event: message.sequence, failure: verdict.failure });
    warn(run, body.name, verdict.failure);
  }
  return unread.length === 0 ? body : { ...body, taken: 0, ...members() };
}

/** The unread event that the recorded wait takes; null: none. */
export function takeUnread(run: Run, recorded: EventSubscribed): UnreadMessage | null {
  const { name, since, taken, refused = [] } = recorded;
  for (const { event } of refused) run.mailbox.refuse(name, event);
  return since === "now" ? null : run.mailbox.take(name, taken);
}

type Checked =
  | { readonly kind: "accepted"; readonly text: string }
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "asynchronous" };

/** Null: the value cannot be read, and the run is blocked. */
function judge(
  run: Run,
  schema: StandardSchema,
  { text, what }: { readonly text: string; readonly what: string },
): Checked | null {
  const value = decode(run, text);
  if (value === null) return null;
  // Outside of the user's context: the guards apply to code that a replay runs again.
  const verdict = inRootContext(() => verdictOf(schema, value.decoded, what));
  if (verdict.kind === "asynchronous") return verdict;
  return verdict.kind === "refused"
    ? { kind: "refused", failure: failureOf(run, verdict.error) }
    : encoded(run, verdict, what);
}

/** An output that cannot be stored is refused. */
function encoded(run: Run, verdict: Verdict & { kind: "accepted" }, what: string): Checked {
  try {
    const text = run.codec.encode(verdict.output);
    checkPayload(text, `The schema's output for the ${what}`, run.limits);
    return { kind: "accepted", text };
  } catch (error) {
    return { kind: "refused", failure: failureOf(run, error) };
  }
}

function outputOf(
  verdict: Exclude<Checked, { kind: "refused" }>,
  data: string,
): { readonly output?: string } {
  return verdict.kind === "asynchronous" || verdict.text === data ? {} : { output: verdict.text };
}

/** The error has no stack: every frame would belong to the library or to the schema. */
function failureOf(run: Run, error: unknown): Failure {
  if (error instanceof PerdureError) error.stack = `${error.name}: ${error.message}`;
  return toFailure(error, { codec: run.codec, retryable: false });
}

/** The line shows the failure as it is stored, so that a sealed message stays sealed (failure-lines.1). */
function warn(run: Run, name: string, { message }: Failure): void {
  const text = `event "${name}" stays unread, because its schema refused it: ${message}`;
  run.logs.push({ level: "warn", message: text, fields: { event: name } });
}
