// Step telemetry: reports running inline steps to the clock (busy-work.1) and forwards every call to the
// user's telemetry.

import type { Telemetry } from "../../core/telemetry/telemetry.ts";
import type { BusyWork } from "./busy-work.ts";

export function stepTelemetry(busy: BusyWork, own: Telemetry | undefined): Telemetry {
  return {
    start: (span, fn) => own?.start(span, fn) ?? fn(undefined),
    ask: (span, fn) => own?.ask?.(span, fn) ?? fn(),
    askOver: (...args) => own?.askOver?.(...args),
    attempt(span, fn) {
      // Activities run through `ActivityMocks`, which stops the clock for them.
      const entered = span.kind === "step" ? () => busy.run(fn) : fn;
      return own === undefined ? entered() : own.attempt(span, entered);
    },
    attemptOver: (...args) => own?.attemptOver(...args),
    turn: (record) => own?.turn(record),
    operation: (...args) => own?.operation(...args),
    observe: (source) => own?.observe(source) ?? (() => undefined),
  };
}
