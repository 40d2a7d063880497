// Published state: a value that code derives from its history and writes with each turn that changes it, so that
// clients can read it without a turn. Entities use it.
//   - published-state.1: It is not in the history: a replay computes it again. So a large state costs one write per
//       turn, not one per request.
//   - It is a key-value with a reserved key, which no limit on keys counts.

import { PerdureError } from "../errors/errors.ts";
import { bytesOver } from "../values/limits.ts";
import { decodeNow } from "./delivery.ts";
import { callStep } from "./calls.ts";
import type { DurableTask } from "../context/durable-task.ts";
import type { Run } from "./run.ts";
import { invalidArgument } from "../checks.ts";

/** No user can set a key that begins like this (ids.ts). */
export const PUBLISHED_KEY = "perdure.state";
const BYTES_MAX = 1_048_576;
const READ_STEP = "perdure.state.get";

/** The state as codec text. Throws if it cannot be stored or is too large. */
export function encodeState(run: Run, state: unknown): string {
  const text = run.codec.encode(state);
  const bytes = bytesOver(text, BYTES_MAX);
  if (bytes === 0) return text;
  const message = `The state of instance "${run.instanceId}" has ${bytes} bytes; the limit is ${BYTES_MAX}.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}

/** Writes the state with this turn. */
export function publishState(run: Run, text: string): void {
  if (!run.isReplaying) run.effects.published = text;
}

export function decodeState(run: Run, text: string): unknown {
  return decodeNow(run, text);
}

/** Reads the state that another instance has published, once, and records it. Undefined: there is none. */
export function readPublished(run: Run, id: string): DurableTask<unknown> {
  const { readKeyValue } = run.options;
  if (readKeyValue === undefined) throw invalidArgument("A read needs a store; this run has none.");
  return callStep(run, { kind: "StepScheduled", name: READ_STEP }, () =>
    readKeyValue(id, PUBLISHED_KEY),
  );
}
