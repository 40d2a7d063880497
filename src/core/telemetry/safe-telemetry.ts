// Safe telemetry: wraps an observer so that its errors do not affect the engine (telemetry.1).

import type { Telemetry } from "./telemetry.ts";

export function safeTelemetry(telemetry: Telemetry): Telemetry {
  const quietly = (notify: () => void): void => {
    try {
      notify();
    } catch {
      // telemetry.1: ignored
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
    ask(span, fn) {
      const call = once(fn);
      return attempted(
        () => telemetry.ask?.(span, call.fn) ?? call.fn(),
        () => call.result ?? fn(),
      );
    },
    askOver: (...given) => quietly(() => telemetry.askOver?.(...given)),
    callback(span, fn) {
      const call = once(fn);
      return attempted(
        () => telemetry.callback?.(span, call.fn) ?? call.fn(),
        () => call.result ?? fn(),
      );
    },
    callbackOver: (...given) => quietly(() => telemetry.callbackOver?.(...given)),
    request(traceParent, fn) {
      const call = once(fn);
      return attempted(
        () =>
          telemetry.request === undefined ? call.fn() : telemetry.request(traceParent, call.fn),
        () => call.rethrow(fn),
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
    messageExpired: (record) => quietly(() => telemetry.messageExpired?.(record)),
    streamItems: (record) => quietly(() => telemetry.streamItems?.(record)),
    queueOutcome: (...given) => quietly(() => telemetry.queueOutcome?.(...given)),
    observe(source) {
      const end = attempted(
        () => telemetry.observe(source),
        () => () => undefined,
      );
      return () => quietly(end);
    },
  };
}

/**
 * Records the outcome of the call, to distinguish an error of the observer from an error of the caller's
 * function.
 */
function once<Args extends readonly unknown[], T>(fn: (...args: Args) => T) {
  let outcome: { value: T } | { error: unknown } | undefined;
  return {
    fn: (...args: Args): T => {
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
      if (outcome === undefined) return again();
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
