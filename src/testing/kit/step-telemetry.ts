// Tells the clock which inline steps are under way (BW1), and a telemetry of the user's what it is told anyway.

import type { Telemetry } from "../../core/telemetry.ts";
import type { BusyWork } from "./busy-work.ts";

export function stepTelemetry(busy: BusyWork, own: Telemetry | undefined): Telemetry {
  return {
    start: (span, fn) => own?.start(span, fn) ?? fn(undefined),
    attempt(span, fn) {
      // Activities are entered through their stand-ins, which hold the clock themselves.
      const entered = span.kind === "step" ? () => busy.run(fn) : fn;
      return own === undefined ? entered() : own.attempt(span, entered);
    },
    attemptOver: (...told) => own?.attemptOver(...told),
    turn: (record) => own?.turn(record),
    operation: (...told) => own?.operation(...told),
    observe: (source) => own?.observe(source) ?? (() => undefined),
  };
}
