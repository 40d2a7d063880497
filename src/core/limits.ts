// Limits on size and number: their defaults, what is refused, and when a warning is due (semantics 9).
//   LM1. What is over a limit is refused to whoever produced it, before anything is recorded.
//   LM2. History decides a replay: what it holds was within the limits then and stays so, whatever they are now.
//   LM3. Sizes are bytes of the encoded text. A text that cannot reach the limit is not measured.

import { PerdureError } from "./errors.ts";
import type { EventBody } from "./history-events.ts";

/** Limits on size and number; at three quarters of one a warning is logged. */
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

/** The share of a limit from which on it is worth a warning. */
export const WARNING_SHARE = 0.75;

/** Complete limits from what was given; refuses what is unknown or not a whole number of at least 1. */
export function resolveLimits(given: Partial<Limits> | undefined): Limits {
  if (given === undefined) return DEFAULT_LIMITS;
  const value: unknown = given;
  if (typeof value !== "object" || value === null) throw invalid("limits is an object of numbers");
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, max] of Object.entries(value as Record<string, unknown>)) {
    if (!(name in DEFAULT_LIMITS)) throw invalid(`${name} is no limit`);
    if (max === undefined) continue;
    if (typeof max !== "number" || !Number.isSafeInteger(max) || max < 1) {
      throw invalid(`${name} is a whole number of at least 1, not ${String(max)}`);
    }
    limits[name] = max;
  }
  return { ...DEFAULT_LIMITS, ...limits };
}

/** The text's bytes when they are over the share of the limit, else 0. */
export function bytesOver(text: string, max: number): number {
  // UTF-8 takes at most three bytes for a unit of UTF-16.
  if (text.length * 3 <= max) return 0;
  const bytes = Buffer.byteLength(text);
  return bytes > max ? bytes : 0;
}

export function checkPayload(text: string, what: string, limits: Limits): void {
  const bytes = bytesOver(text, limits.payloadBytesMax);
  if (bytes > 0) throw tooLarge(what, bytes, limits.payloadBytesMax);
}

/** What a command would be refused for, or null. Status and key-values are judged where they are set. */
export function commandRefusal(body: EventBody, limits: Limits): PerdureError | null {
  if (body.kind === "TimerCreated" || body.kind === "StepScheduled") return null;
  if ("input" in body) {
    const bytes = bytesOver(body.input, limits.payloadBytesMax);
    if (bytes > 0) return tooLarge(`The input of "${nameOf(body)}"`, bytes, limits.payloadBytesMax);
  }
  if (body.kind === "EventSubscribed" && body.details !== undefined) {
    const bytes = bytesOver(body.details, limits.payloadBytesMax);
    const what = `The details of a wait for "${body.name}"`;
    if (bytes > 0) return tooLarge(what, bytes, limits.payloadBytesMax);
  }
  if (body.kind !== "ActivityScheduled" || body.tags === undefined) return null;
  return tagsRefusal(body.tags, `Activity "${body.name}"`, limits);
}

function tagsRefusal(tags: readonly string[], what: string, limits: Limits): PerdureError | null {
  if (tags.length > limits.tagsMax) {
    const message = `${what} has ${tags.length} tags; at most ${limits.tagsMax} are allowed.`;
    return new PerdureError("LIMIT_EXCEEDED", message);
  }
  const long = tags.find((tag) => bytesOver(tag, limits.tagBytesMax) > 0);
  if (long === undefined) return null;
  const message = `${what} has a tag of more than ${limits.tagBytesMax} bytes: ${long.slice(0, 40)}…`;
  return new PerdureError("LIMIT_EXCEEDED", message);
}

/** Why an execution with this history may not go on, or null. */
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
    `time. To let this one go on, raise the limit (limits.historyEventsMax, limits.historyBytesMax) and unblock it.`
  );
}

function nameOf(body: EventBody): string {
  return "name" in body ? body.name : body.kind;
}

function tooLarge(what: string, bytes: number, max: number): PerdureError {
  return new PerdureError("LIMIT_EXCEEDED", `${what} has ${bytes} bytes; the limit is ${max}.`);
}

function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `Limits: ${why}.`);
}
