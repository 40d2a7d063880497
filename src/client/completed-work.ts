// The work that an execution has completed. A restart runs the code from the start, so it runs this work again, under
// new idempotency keys. The command line and the dashboard show the list before they restart an instance.

import type { HistoryEvent } from "../core/history-events.ts";

/** Calls of one name that an execution completed. */
export interface CompletedWork {
  readonly kind: "activity" | "step" | "child";
  readonly name: string;
  /** How many calls of this name completed. */
  readonly count: number;
}

/** In the order in which the first call of each name was scheduled. */
export function completedWorkOf(events: readonly HistoryEvent[]): readonly CompletedWork[] {
  const completed = new Set(
    events.flatMap((event) => (isCompletion(event) ? [event.scheduled] : [])),
  );
  const found = new Map<string, CompletedWork>();
  for (const event of events) {
    const kind = kindOf(event);
    if (kind === undefined || !("name" in event) || !completed.has(event.sequence)) continue;
    const { name } = event;
    const key = `${kind} ${name}`;
    found.set(key, { kind, name, count: (found.get(key)?.count ?? 0) + 1 });
  }
  return [...found.values()];
}

type Completion = HistoryEvent & {
  readonly kind: "ActivityCompleted" | "StepCompleted" | "ChildCompleted";
};

function isCompletion(event: HistoryEvent): event is Completion {
  const { kind } = event;
  return kind === "ActivityCompleted" || kind === "StepCompleted" || kind === "ChildCompleted";
}

function kindOf({ kind }: HistoryEvent): CompletedWork["kind"] | undefined {
  switch (kind) {
    case "ActivityScheduled":
      return "activity";
    case "StepScheduled":
      return "step";
    case "ChildScheduled":
      return "child";
    default:
      return undefined;
  }
}
