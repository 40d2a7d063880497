// Waits of the HTTP client: a request that waits is repeated until it finds a result or the timeout expires.

import { timeoutError } from "../../client/waiting.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { defined } from "../../core/values/defined.ts";

/** The parameters of a query string. */
export type Query = readonly (readonly [string, string])[];

/** The longest wait of one request. A longer wait repeats the request. */
const POLL_MS = 30_000;

/** The reason of a TIMEOUT. Throws every other error. */
export function noAnswerYet(error: unknown): { readonly reason?: string } {
  if (!isPerdureError(error, "TIMEOUT")) throw error;
  return because(error.reason);
}

export async function untilFound<T extends object>(
  timeoutMs: number,
  what: string,
  ask: (waitMs: number) => Promise<Found<T> | NotYet>,
): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const leftMs = Math.max(0, Math.min(POLL_MS, until - performance.now()));
    const answer = await ask(Math.ceil(leftMs));
    if (answer.found !== undefined) return answer.found;
    if (performance.now() < until) continue;
    throw timeoutError(`${what} within ${formatDuration(timeoutMs)}`, answer.reason);
  }
}

export interface Found<T> {
  readonly found: T;
  readonly reason?: never;
}
/** An answer without a result, and the reason. */
export interface NotYet {
  readonly found?: never;
  readonly reason?: string;
}

export function because(reason: string | undefined): NotYet {
  return defined({ reason });
}

export function numbers(options: Readonly<Record<string, number | undefined>>): Query {
  return Object.entries(options).flatMap(([name, number]) =>
    number === undefined ? [] : [[name, String(number)] as const],
  );
}
