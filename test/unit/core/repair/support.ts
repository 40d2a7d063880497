// Handwritten histories for the tests of the repair core.

import type { EventBody, HistoryEvent } from "../../../../src/core/history/events.ts";
import { started } from "../../../replay/bodies.ts";

export const AT = 1_000;

/** The events of a history that begins with a start. The first of `bodies` has the number 2. */
export function historyOf(...bodies: readonly EventBody[]): HistoryEvent[] {
  return [started(), ...bodies].map((body, index) => ({
    ...body,
    sequence: index + 1,
    at: AT + index,
    version: 1,
  }));
}

export const SEND = { kind: "EventRaised", name: "e", id: "other", data: "1" } as const;
export const QUIET_SEND = { ...SEND, quiet: true } as const;
export const DETACHED = { kind: "DetachedStarted", name: "d", id: "other", input: "1" } as const;
export const sent = (scheduled: number) => ({ kind: "SendCompleted", scheduled }) as const;
export const sendFailed = (scheduled: number, message = "gone") =>
  ({
    kind: "SendFailed",
    scheduled,
    failure: { name: "PerdureError", message, code: "INSTANCE_NOT_FOUND" },
  }) as unknown as EventBody;
export const ASK = { kind: "AskSent", name: "q", id: "other", input: "1" } as unknown as EventBody;
export const askDone = (scheduled: number) =>
  ({ kind: "AskCompleted", scheduled, output: '"answer"' }) as const;
