// The audit of acknowledged calls: every acknowledged start is in the store with the right outcome, and the instance
// has received every acknowledged raise once, in order (P1, P4, P7).

import { isDeepStrictEqual } from "node:util";
import type { Acknowledged, Outcome } from "./ack-log.ts";
import type { Fault } from "../faults.ts";
import { EVENTS_OF, jobOf, KINDS, outcomeOf, type JobKind } from "../jobs.ts";
import type { AckLine } from "./run-log.ts";

export interface AckAudit {
  readonly acknowledged: readonly Acknowledged[];
  /** Starts by the workers' own clients. */
  readonly own: readonly AckLine[];
  readonly stored: ReadonlyMap<string, Outcome>;
}

export function lostFaults({ acknowledged, own, stored }: AckAudit): Fault[] {
  const faults: Fault[] = [];
  const lost = (what: string): void => void faults.push({ kind: "lost", what });
  const isStored = (id: string, wanted: Outcome): void => {
    const found = stored.get(id);
    if (found === undefined) lost(`${id} was started and is missing`);
    else if (!isDeepStrictEqual(codeOf(found), wanted)) {
      lost(`${id} has ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  };
  for (const { instance, job } of own) isStored(instance, outcomeOf("linear", jobOf(job)));

  const byId = Map.groupBy(acknowledged, ({ id }) => id);
  for (const [id, lines] of byId) {
    const start = lines.find(({ what }) => what === "start");
    if (start?.what !== "start" || !isKind(start.kind)) {
      lost(`${id} is in the log without a start`);
      continue;
    }
    const wanted = outcomeOf(start.kind, jobOf(start.seed));
    isStored(id, wanted);
    const result = lines.find(({ what }) => what === "result");
    if (result?.what !== "result") continue; // the store audit reports an instance without an end as stuck
    if (!isDeepStrictEqual(result.outcome, wanted)) {
      lost(`${id} returned ${JSON.stringify(result.outcome)}, not ${JSON.stringify(wanted)}`);
    }
    const raises = lines.filter(({ what }) => what === "raise").length;
    if (raises !== EVENTS_OF[start.kind]) lost(`${id} ended after ${raises} raises`);
  }
  return faults;
}

/** Maps a stored status to the error code that a waiting client gets. */
function codeOf(outcome: Outcome): Outcome {
  return "error" in outcome ? { error: outcome.error.toUpperCase() } : outcome;
}

function isKind(text: string): text is JobKind {
  return KINDS.some((kind) => kind === text);
}
