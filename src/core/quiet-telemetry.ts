// An observer that cannot disturb: what it throws is its own business (TE3).

import type { Telemetry } from "./telemetry.ts";

export function quietTelemetry(telemetry: Telemetry): Telemetry {
  const quietly = (tell: () => void): void => {
    try {
      tell();
    } catch {
      // the observer's own
    }
  };
  return {
    start(span, fn) {
      const call = once(fn);
      return attempted(
        () => telemetry.start(span, call.fn),
        () => call.result ?? fn(undefined),
      );
    },
    attempt(span, fn) {
      const call = once(fn);
      return attempted(
        () => telemetry.attempt(span, call.fn),
        () => call.rethrow(fn),
      );
    },
    attemptOver: (...given) => quietly(() => telemetry.attemptOver(...given)),
    turn: (record) => quietly(() => telemetry.turn(record)),
    operation: (...given) => quietly(() => telemetry.operation(...given)),
    observe(source) {
      const end = attempted(
        () => telemetry.observe(source),
        () => () => undefined,
      );
      return () => quietly(end);
    },
  };
}

/** Remembers what became of the call, so that an observer's own error is told apart from the caller's. */
function once<Args extends readonly unknown[], T>(fn: (...args: Args) => T) {
  let entered = false;
  let outcome: { value: T } | { error: unknown } | undefined;
  return {
    fn: (...args: Args): T => {
      entered = true;
      try {
        const value = fn(...args);
        outcome = { value };
        return value;
      } catch (error) {
        outcome = { error };
        throw error;
      }
    },
    get result(): T | undefined {
      return outcome !== undefined && "value" in outcome ? outcome.value : undefined;
    },
    rethrow: (again: () => T): T => {
      if (!entered || outcome === undefined) return again();
      if ("error" in outcome) throw outcome.error;
      return outcome.value;
    },
  };
}

function attempted<T>(work: () => T, instead: () => T): T {
  try {
    return work();
  } catch {
    return instead();
  }
}
