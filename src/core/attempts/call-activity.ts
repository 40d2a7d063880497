// One call of an activity's function: its input, its schemas, and the executor's function in its place.
//   - Schemas are checked around the function, in the same thread as the function.

import type { ActivityContext, ActivityInfo, StepContext } from "../context/activity-context.ts";
import type { ContextValues } from "../context/app-types.ts";
import { decodeContext } from "../context/start-context.ts";
import type { Activity } from "../define/definitions.ts";
import type { ExecutorFunction } from "../define/executor.ts";
import { isPerdureError } from "../errors/errors.ts";
import { passAttempt } from "../middleware/layers.ts";
import type { ActivityCall, Layers } from "../middleware/middleware.ts";
import type { Codec } from "../values/codec.ts";
import { validate } from "../values/standard-schema.ts";
import type { LaterContext } from "./later.ts";
import type { Undecodable } from "./run-attempt.ts";

type Definition = Activity<never, unknown>;

/** The input and the context of a call, decoded. */
export interface DecodedCall {
  readonly kind: "decoded";
  readonly value: unknown;
  readonly context: ContextValues;
}

/** `context`: the text of the context; undefined: none. */
export function decodeCall(
  input: string,
  context: string | undefined,
  codec: Codec,
): Undecodable | DecodedCall {
  try {
    const value = codec.decode(input);
    return { kind: "decoded", value, context: decodeContext(context, codec) };
  } catch (error) {
    const keyMissing = isPerdureError(error, "KEY_MISSING");
    return { kind: "undecodable", why: String(error), keyMissing };
  }
}

/**
 * Calls the activity's function, or the executor's function in its place, through the layers of the middleware. Schemas
 * are checked inside the layers.
 */
export function callActivity(
  definition: Definition,
  input: unknown,
  context: ActivityContext & Partial<LaterContext>,
  executor: ExecutorFunction | null,
  layers: Layers["activity"] = null,
): unknown {
  if (layers === null) return callInside(definition, input, context, executor);
  const call: ActivityCall = {
    kind: "activity",
    name: definition.name,
    input,
    ...attemptMembers(context, context.info),
  };
  return passAttempt(layers, call, (changed) =>
    callInside(definition, changed.input, context, executor),
  );
}

/** The members of a call that come from its attempt. */
export function attemptMembers(
  { attempt, idempotencyKey, context }: StepContext,
  info: ActivityInfo,
): Pick<ActivityCall, "options" | "context" | "instanceId"> {
  const options = Object.freeze({ attempt, idempotencyKey, info });
  return { options, context, instanceId: info.instanceId };
}

function callInside(
  definition: Definition,
  input: unknown,
  context: ActivityContext & Partial<LaterContext>,
  executor: ExecutorFunction | null,
): unknown {
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  if (inputSchema !== undefined || outputSchema !== undefined) {
    return callChecked(definition, input, context, executor);
  }
  return callUnchecked(definition, input, context, executor);
}

function callUnchecked(
  definition: Definition,
  input: unknown,
  context: ActivityContext & Partial<LaterContext>,
  executor: ExecutorFunction | null,
): unknown {
  if (executor !== null) return executor({ name: definition.name, input, context });
  // The types of the definition guarantee that the handler accepts the definition's input.
  const handler = definition.handler as (input: unknown, ctx: ActivityContext) => unknown;
  return handler(input, context);
}

async function callChecked(
  definition: Definition,
  input: unknown,
  context: ActivityContext & Partial<LaterContext>,
  executor: ExecutorFunction | null,
): Promise<unknown> {
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  const what = `of activity "${definition.name}"`;
  const checked = inputSchema ? await validate(inputSchema, input, `input ${what}`) : input;
  const output = await callUnchecked(definition, checked, context, executor);
  if (context.later === "deferred") return undefined; // the value arrives from outside
  return outputSchema ? validate(outputSchema, output, `output ${what}`) : output;
}
