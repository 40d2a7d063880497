// What follows from the end of an execution: the start of the next one, and what its parent is told.

import { nextSeed } from "./deterministic.ts";
import type {
  DeliveryBody,
  OrchestrationContinuedAsNew,
  OrchestrationStarted,
  ParentLink,
  TerminalBody,
} from "./history-events.ts";
import type { Run } from "./run.ts";

/** The next execution begins with the state as it stands (I15). */
export function nextStart(run: Run, ended: OrchestrationContinuedAsNew): OrchestrationStarted {
  const { kind, name, runId, seed, parent, traceParent } = run.started;
  const { input, orchestrationVersion = "", state } = ended;
  const { status, attributes } = run.state;
  const keyValues = run.state.entries();
  return {
    kind,
    name,
    orchestrationVersion,
    input,
    runId,
    seed: nextSeed(seed),
    ...(parent === undefined ? {} : { parent }),
    ...(traceParent === undefined ? {} : { traceParent }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(status === null ? {} : { status }),
    ...(keyValues.length === 0 ? {} : { keyValues }),
    ...(state === undefined ? {} : { state }),
  };
}

/** Null: it goes on in its next execution. */
export function childOutcome(ended: TerminalBody, parent: ParentLink): DeliveryBody | null {
  const scheduled = parent.sequence;
  switch (ended.kind) {
    case "OrchestrationCompleted":
      return { kind: "ChildCompleted", scheduled, output: ended.output };
    case "OrchestrationFailed": {
      const { outcome, failure } = ended;
      return { kind: "ChildFailed", scheduled, outcome, failure };
    }
    case "OrchestrationContinuedAsNew":
      return null;
  }
}
