// The context of an instance: a small record that is stored with its start and handed to everything that it starts.
//   - start-context.1: The start event holds the context as codec text; without a context it holds nothing. A task of an
//       activity holds a copy. The recorded context counts, so it is the same in every replay and every attempt.
//   - start-context.2: A child inherits the context of its caller. Its own members replace inherited ones; the command
//       then records the whole context.

import { invalidArgument } from "../checks.ts";
import { PerdureError } from "../errors/errors.ts";
import type { OrchestrationStarted } from "../history/events.ts";
import { showValue } from "../ids/ids.ts";
import type { Codec } from "../values/codec.ts";
import { bytesOver } from "../values/limits.ts";
import type { ContextInput, ContextValues } from "./app-types.ts";

/** The most bytes of a context, as encoded. */
export const CONTEXT_BYTES_MAX = 4_096;

/** The context of an instance that was started without one. */
export const NO_CONTEXT: ContextValues = Object.freeze({}) as ContextValues; // each member may be absent

/** What an instance hands to everything that it starts: instances and tasks. */
export type Inherited = Pick<OrchestrationStarted, "traceParent" | "context">;

/** The members of a start or a task that it inherits. `own`: the context that the call records (start-context.2). */
export function inheritedMembers({ traceParent, context }: Inherited, own = context): Inherited {
  if (traceParent === undefined) return own === undefined ? NOTHING : { context: own };
  return own === undefined ? { traceParent } : { traceParent, context: own };
}
const NOTHING: Inherited = {};

/** Throws INVALID_ARGUMENT unless it is a record. Returns a copy without members that are undefined. */
export function checkContext(given: unknown, what: string): Record<string, unknown> {
  if (given === undefined) return {};
  if (!isRecord(given)) {
    throw invalidArgument(
      `The context of ${what} must be a plain object; got ${showValue(given)}.`,
    );
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The text of a context; undefined: it has no members. Throws if it is not a record, or too large. */
export function encodeContext(given: unknown, codec: Codec, what: string): string | undefined {
  if (given === undefined) return undefined;
  const context = checkContext(given, what);
  return Object.keys(context).length === 0 ? undefined : textOf(context, codec, what);
}

/** The member `context` of a command that changes the inherited context (start-context.2). */
export function changedContext(
  inherited: ContextValues,
  changes: ContextInput | undefined,
  codec: Codec,
  what: string,
): { readonly context?: string } {
  if (changes === undefined) return {};
  checkContext(changes, what);
  return { context: textOf(checkContext({ ...inherited, ...changes }, what), codec, what) };
}

/** The context of this text. It cannot be changed: a change would be lost. Throws the codec's error. */
export function decodeContext(text: string | undefined, codec: Codec): ContextValues {
  if (text === undefined) return NO_CONTEXT;
  const decoded = codec.decode(text);
  if (!isRecord(decoded)) {
    throw new PerdureError("HISTORY_CORRUPT", "The stored context is not a record.");
  }
  return freeze(decoded) as ContextValues; // the application declares what it stores
}

function textOf(context: object, codec: Codec, what: string): string {
  const text = codec.encode(context);
  const bytes = bytesOver(text, CONTEXT_BYTES_MAX);
  if (bytes === 0) return text;
  const message = `The context of ${what} has ${bytes} bytes; the limit is ${CONTEXT_BYTES_MAX}.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function freeze(value: unknown): unknown {
  if (!Array.isArray(value) && !isRecord(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}
