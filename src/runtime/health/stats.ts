// Counters of one runtime since it started.

import type { EventBody } from "../../core/history/events.ts";

/** What `runtime.stats()` returns. A separate type, so that its declaration does not lead to the engine's classes. */
export interface RuntimeCounts extends Omit<RuntimeStats, "countStall" | "countTurn"> {
  activities: Record<
    | "active"
    | "started"
    | "completed"
    | "failed"
    | "retried"
    | "died"
    | "deferred"
    | "cancelled"
    | "poisoned",
    number
  >;
  cachedInstances: number;
}

export class RuntimeStats {
  turns = 0;
  /** Turns that first replayed a history. */
  replays = 0;
  refusedTurns = 0;
  blocked = 0;
  evictions = 0;
  events = 0;
  orchestrationsStarted = 0;
  orchestrationsCompleted = 0;
  orchestrationsFailed = 0;
  orchestrationsCancelled = 0;
  orchestrationsTerminated = 0;
  orchestrationsContinuedAsNew = 0;
  childrenScheduled = 0;
  /** Provider calls that failed and were retried. */
  providerErrors = 0;
  /** Leases that the store listed for this runtime and that the runtime did not hold (lease-check.ts). */
  leasesReleased = 0;
  /** How often the event loop was blocked, and the longest time. */
  loopStalls = 0;
  loopStallMaxMs = 0;

  countStall(stalledMs: number): void {
    this.loopStalls++;
    this.loopStallMaxMs = Math.max(this.loopStallMaxMs, Math.round(stalledMs));
  }

  countTurn(events: readonly EventBody[]): void {
    this.events += events.length;
    for (const event of events) {
      switch (event.kind) {
        case "OrchestrationStarted":
          this.orchestrationsStarted++;
          break;
        case "OrchestrationCompleted":
          this.orchestrationsCompleted++;
          break;
        case "OrchestrationFailed":
          if (event.outcome === "cancelled") this.orchestrationsCancelled++;
          else if (event.outcome === "terminated") this.orchestrationsTerminated++;
          else this.orchestrationsFailed++;
          break;
        case "OrchestrationContinuedAsNew":
          this.orchestrationsContinuedAsNew++;
          break;
        case "ChildScheduled":
          this.childrenScheduled++;
          break;
        default:
      }
    }
  }
}
