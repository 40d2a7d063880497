// A history as text, one line per event, for readable expectations.

import type { HistoryEvent } from "../../../src/index.ts";

/** "ActivityScheduled pay", "ActivityCompleted 2" (the event it answers), "TimerFired 3", … */
export function story(events: readonly HistoryEvent[]): readonly string[] {
  return events.map((event) => {
    if ("scheduled" in event) return `${event.kind} ${event.scheduled}`;
    if (event.kind === "OrchestrationFailed") return `${event.kind} ${event.outcome}`;
    if (event.kind === "OrchestrationStarted") return event.kind;
    return "name" in event ? `${event.kind} ${event.name}` : event.kind;
  });
}
