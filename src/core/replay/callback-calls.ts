// Callbacks of an execution: `ctx.callback` records its address and waits for the value.
//   - callback-calls.1: The history holds the address. A replay takes it from there, so that another secret or another
//        base address never changes what the code sees.
//   - callback-calls.2: A worker without the settings of callbacks blocks the instance. A worker with the settings then
//        continues it.
//   - The value arrives as an event with a reserved name, so the mailbox, the schema verdicts (received.ts) and the
//        cancellation of waits apply. A wait that is cancelled closes the callback; a refused value opens it again.

import { orNull } from "../context/combinators.ts";
import type { CallbackOptions, CallbackTask } from "../context/callback-types.ts";
import { checkMembers, invalidArgument, type Members } from "../checks.ts";
import type { CallbackAddress, CallbackDef } from "../define/callback.ts";
import type { CallbackCreated } from "../history/events.ts";
import { callbackMessageName, callbackRequestId } from "../ids/callback-messages.ts";
import { parseName } from "../ids/ids.ts";
import { parseDuration } from "../time/duration.ts";
import { checkSchema, type StandardSchema } from "../values/standard-schema.ts";
import { openCall } from "./calls.ts";
import { madeIn } from "./fork.ts";
import { decode } from "./delivery.ts";
import type { OpenWait } from "./open-task.ts";
import type { Command } from "./run-options.ts";
import type { Run } from "./run.ts";

const OPTIONS: Members<CallbackOptions> = { timeout: true, schema: true };

/** What the code sees of a callback. */
interface Seen {
  address: CallbackAddress;
  headers: Readonly<Record<string, string>> | undefined;
}

export function createCallback(
  run: Run,
  given: string | CallbackDef<unknown, never>,
  options: CallbackOptions,
): CallbackTask<unknown> {
  const name = parseName(typeof given === "string" ? given : given?.name, "callback name");
  checkMembers(options, OPTIONS, "ctx.callback");
  const schema = schemaOf(name, given, options);
  const { timeout } = options;
  const timeoutMs = timeout === undefined ? null : parseDuration(timeout, "timeout");
  const seen: Seen = { address: { url: "", token: "" }, headers: undefined };
  const body: CallbackCreated = {
    kind: "CallbackCreated",
    name,
    address: "",
    ...(timeoutMs === null ? {} : { expiresAt: Math.ceil(run.eventTime + timeoutMs) }),
    ...(schema === undefined ? {} : { checked: true }),
  };
  const wait = openCall(run, (scope, settle) => {
    const command = run.command(body);
    if (command === null || !readAddress(run, command, seen)) return null;
    const { sequence } = command;
    const task: OpenWait = {
      kind: "event",
      sequence,
      scope,
      name: callbackMessageName(sequence),
      details: undefined,
      schema,
      callback: {
        requestId: callbackRequestId({
          runId: run.runId,
          execution: madeIn(run, sequence),
          sequence,
        }),
        onHeaders: (headers) => (seen.headers = headers),
      },
      ...settle,
    };
    run.mailbox.wait(task.name, task);
    if (schema !== undefined) run.options.callbacks?.learn(run.started.name, name, schema);
    return task;
  });
  const task = timeoutMs === null ? wait : orNull(run, wait, timeoutMs);
  return Object.defineProperties(task, {
    url: { enumerable: true, value: seen.address.url },
    token: { enumerable: true, value: seen.address.token },
    headers: { enumerable: true, get: () => seen.headers },
  }) as CallbackTask<unknown>; // the three properties were just defined
}

function schemaOf(
  name: string,
  given: string | CallbackDef<unknown, never>,
  { schema }: CallbackOptions,
): StandardSchema | undefined {
  checkSchema(schema, `callback "${name}"`);
  const own = typeof given === "string" ? undefined : given.schema;
  if (own === undefined || schema === undefined) return own ?? schema;
  throw invalidArgument(
    `Callback "${name}" has a schema in its definition; omit the option schema.`,
  );
}

/** Signs the address of a new callback, or reads it from the history. False: the run is blocked. */
function readAddress(
  run: Run,
  { sequence, body, isNew }: Command<CallbackCreated>,
  seen: Seen,
): boolean {
  if (!isNew) {
    const recorded = decode(run, body.address);
    if (recorded === null) return false;
    seen.address = recorded.decoded as CallbackAddress; // this file wrote it
    return true;
  }
  const signer = run.options.callbacks;
  if (signer === undefined) {
    run.block({ code: "NOT_CONFIGURED", message: notConfigured(body.name) });
    return false;
  }
  seen.address = signer.sign({
    kind: "callback",
    instanceId: run.instanceId,
    runId: run.runId,
    execution: run.execution,
    sequence,
    attempt: 0,
    orchestration: run.started.name,
    name: body.name,
    expiresAt: body.expiresAt ?? 0,
    isChecked: body.checked === true,
  });
  // The event of this turn is completed before the turn is committed.
  Object.assign(body, { address: run.codec.encode(seen.address) });
  return true;
}

function notConfigured(name: string): string {
  return (
    `The code calls ctx.callback("${name}"), but this worker was opened without callbacks. ` +
    "Open the store with Perdure.open(address, { callbacks: { secrets, baseUrl } })."
  );
}
