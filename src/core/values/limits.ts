// Limits on sizes and counts: their defaults, their checks, and when a warning is due (semantics 9).
//   - limits.1: Exceeding a limit throws at the call, before anything is recorded.
//   - limits.2: In a replay the history decides. An event in the history was within the limits when it was
//        written, and later changes of the limits do not affect it.
//   - A size is the number of bytes of the encoded text. A text that is too short to exceed its limit is not
//       measured.

import type { StoredAttributes } from "../define/attributes.ts";
import { checkInteger, invalidArgument, unknownMember } from "../checks.ts";
import { PerdureError } from "../errors/errors.ts";
import type { EventBody } from "../history/events.ts";
import { showValue } from "../ids/ids.ts";

/** Limits on sizes and counts. At three quarters of a limit the runtime logs a warning. */
export interface Limits {
  /** Events of one execution. Default 50,000. */
  readonly historyEventsMax: number;
  /** Bytes of one execution's history. Default 50 MB. */
  readonly historyBytesMax: number;
  /** One input, output, event or other value. Default 2 MB. */
  readonly payloadBytesMax: number;
  /** The custom status. Default 256 KiB. */
  readonly statusBytesMax: number;
  /** Keys of one instance. Default 150. */
  readonly kvKeysMax: number;
  /** One key's value. Default 64 KiB. */
  readonly kvValueBytesMax: number;
  /** Tags of one task. Default 20. */
  readonly tagsMax: number;
  /** One tag. Default 256 bytes. */
  readonly tagBytesMax: number;
}

export const DEFAULT_LIMITS: Limits = {
  historyEventsMax: 50_000,
  historyBytesMax: 50_000_000,
  payloadBytesMax: 2_000_000,
  statusBytesMax: 256 * 1024,
  kvKeysMax: 150,
  kvValueBytesMax: 64 * 1024,
  tagsMax: 20,
  tagBytesMax: 256,
};

/** The most attributes of one instance. */
export const ATTRIBUTES_MAX = 100;
/** The most bytes of the attributes of one instance, as stored. */
export const ATTRIBUTES_BYTES_MAX = 65_536;

/** The share of a limit at which a warning is due. */
export const WARNING_SHARE = 0.75;

/** The given limits, completed by the defaults. Throws for an unknown name or an invalid number. */
export function resolveLimits(given: Partial<Limits> | undefined): Limits {
  if (given === undefined) return DEFAULT_LIMITS;
  const value: unknown = given;
  if (typeof value !== "object" || value === null) {
    throw invalidArgument(`limits must be an object of numbers; got ${showValue(value)}.`);
  }
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, max] of Object.entries(given)) {
    if (!(name in DEFAULT_LIMITS)) {
      throw invalidArgument(unknownMember(name, DEFAULT_LIMITS, "limits"));
    }
    checkInteger(max, 1, `limits.${name}`);
    if (max !== undefined) limits[name] = max;
  }
  return { ...DEFAULT_LIMITS, ...limits };
}

/** The number of bytes of the text if that exceeds the limit, else 0. */
export function bytesOver(text: string, max: number): number {
  // A UTF-16 unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= max) return 0;
  const bytes = Buffer.byteLength(text);
  return bytes > max ? bytes : 0;
}

export function checkPayload(text: string, what: string, limits: Limits): void {
  const bytes = bytesOver(text, limits.payloadBytesMax);
  if (bytes > 0) throw tooLarge(what, bytes, limits.payloadBytesMax);
}

/**
 * The error for a command that exceeds a limit, or null. Status and key-values are checked where they are
 * set.
 */
export function commandRefusal(body: EventBody, limits: Limits): PerdureError | null {
  if (body.kind === "TimerCreated" || body.kind === "StepScheduled") return null;
  if ("input" in body) {
    const bytes = bytesOver(body.input, limits.payloadBytesMax);
    if (bytes > 0) return tooLarge(`The input of "${nameOf(body)}"`, bytes, limits.payloadBytesMax);
  }
  if (body.kind === "EventRaised") {
    const bytes = bytesOver(body.data, limits.payloadBytesMax);
    if (bytes > 0)
      return tooLarge(`The data of event "${body.name}"`, bytes, limits.payloadBytesMax);
  }
  if (body.kind === "EventSubscribed" && body.details !== undefined) {
    const bytes = bytesOver(body.details, limits.payloadBytesMax);
    const what = `The details of a wait for "${body.name}"`;
    if (bytes > 0) return tooLarge(what, bytes, limits.payloadBytesMax);
  }
  if ("attributes" in body && body.kind !== "AttributesSet" && body.attributes !== undefined) {
    const over = attributesOver(body.attributes);
    if (over !== null) return over;
  }
  if (body.kind !== "ActivityScheduled" || body.tags === undefined) return null;
  return tagsRefusal(body.tags, `Activity "${body.name}"`, limits);
}

/** The error for attributes of an instance that exceed a limit, or null. */
export function attributesOver(attributes: StoredAttributes): PerdureError | null {
  const count = Object.keys(attributes).length;
  if (count > ATTRIBUTES_MAX) {
    const message = `An instance must have at most ${ATTRIBUTES_MAX} attributes; it would have ${count}.`;
    return new PerdureError("LIMIT_EXCEEDED", message);
  }
  const bytes = count === 0 ? 0 : bytesOver(JSON.stringify(attributes), ATTRIBUTES_BYTES_MAX);
  if (bytes === 0) return null;
  const message = `The attributes of an instance have ${bytes} bytes as stored; the limit is ${ATTRIBUTES_BYTES_MAX}.`;
  return new PerdureError("LIMIT_EXCEEDED", message);
}

function tagsRefusal(tags: readonly string[], what: string, limits: Limits): PerdureError | null {
  if (tags.length > limits.tagsMax) {
    const message = `${what} must have at most ${limits.tagsMax} tags; got ${tags.length}.`;
    return new PerdureError("LIMIT_EXCEEDED", message);
  }
  const long = tags.find((tag) => bytesOver(tag, limits.tagBytesMax) > 0);
  if (long === undefined) return null;
  const message = `${what}: a tag must have at most ${limits.tagBytesMax} bytes; got ${showValue(long)}.`;
  return new PerdureError("LIMIT_EXCEEDED", message);
}

/** Why an execution with this history must stop, or null. */
export function historyRefusal(
  history: { readonly events: number; readonly bytes: number },
  limits: Limits,
): string | null {
  const { historyEventsMax, historyBytesMax } = limits;
  const { events, bytes } = history;
  if (events <= historyEventsMax && bytes <= historyBytesMax) return null;
  const size =
    events > historyEventsMax
      ? `${events} events; the limit is ${historyEventsMax}`
      : `${bytes} bytes; the limit is ${historyBytesMax}`;
  return (
    `The execution's history has ${size}. Long-lived orchestrations call ctx.continueAsNew from time to ` +
    `time. To let this instance continue, raise the limit (limits.historyEventsMax, limits.historyBytesMax) and unblock it.`
  );
}

function nameOf(body: EventBody): string {
  return "name" in body ? body.name : body.kind;
}

function tooLarge(what: string, bytes: number, max: number): PerdureError {
  return new PerdureError("LIMIT_EXCEEDED", `${what} has ${bytes} bytes; the limit is ${max}.`);
}
