// 8. Every instance that is not at its end has a live reason to be waiting: whatever its history has open, the store
// holds the thing that will end it. A wait for an event is such a reason by itself.

import type { Provider } from "../../../core/provider/provider.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { openCalls, type OpenCall } from "./fold.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export async function liveReasons(now: InstanceSnapshot, store: Provider): Promise<string[]> {
  const { record, events, inbox } = now;
  if (isTerminalStatus(record.status)) return [];
  if (events.length === 0) {
    return inbox.some(({ kind }) => kind === "start") ? [] : ["it has neither history nor start"];
  }
  const found: string[] = [];
  for (const call of openCalls(events)) {
    const missing = await missingFor(call, now, store);
    if (missing !== null) found.push(`${call.sequence} (${call.kind}) is open and ${missing}`);
  }
  return found;
}

async function missingFor(
  call: OpenCall,
  { record, inbox, tasks }: InstanceSnapshot,
  store: Provider,
): Promise<string | null> {
  const { sequence } = call;
  const hasMessage = (...kinds: readonly string[]): boolean =>
    inbox.some((message) => message.sequence === sequence && kinds.includes(message.kind));
  switch (call.kind) {
    case "ActivityScheduled":
      if (tasks.some((task) => task.sequence === sequence) || hasMessage("activity")) return null;
      return "has neither a task nor an outcome";
    case "TimerCreated":
      return hasMessage("timer") ? null : "nothing will fire it";
    case "StepScheduled":
      if (record.owner !== null || hasMessage("step", "stepRetry")) return null;
      return inbox.some(({ kind }) => kind === "wake") ? null : "nobody runs it";
    case "ChildScheduled": {
      // One that is to be abandoned is let go without a word when its caller is cancelled.
      if (hasMessage("child") || call.onParentClose === "abandon") return null;
      const child = await store.readInstance(call.id);
      if (child === null) return `its child ${call.id} does not exist`;
      return isTerminalStatus(child.status) ? `its child ended as ${child.status}, untold` : null;
    }
  }
}
