// Published state: a value that code derives from its history and writes with each turn that changes it, so that
// clients can read it without a turn. Entities use it.
//   - published-state.1: The turn that changes it writes it once, as a key-value with a reserved key, however many
//       requests the turn answers. No limit on keys counts this key.
//   - published-state.2: The last answer of a turn records the state in the history, and so does the answer before
//       a handler that makes calls. A replay takes the state from there. It does not run a handler again whose
//       answer follows its receipt at once. So new code of such a handler never changes the past.

import { PerdureError } from "../../errors/errors.ts";
import { bytesOver } from "../../values/limits.ts";
import { decodeNow } from "../delivery.ts";
import { callStep } from "../calls.ts";
import type { DurableTask } from "../../context/durable-task.ts";
import type { Run } from "../run.ts";
import { invalidArgument } from "../../checks.ts";

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

/** A state as codec text, and the answer that led to it. */
export interface PublishedState {
  readonly text: string;
  readonly answer: { state?: string };
}

/** Writes the state after this answer with the turn. */
export function publishState(run: Run, published: PublishedState): void {
  run.effects.published = published;
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
