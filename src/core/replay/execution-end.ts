// The consequences of the end of an execution: the start of the next one, and the outcome that its parent
// receives.

import { nextSeed } from "./deterministic.ts";
import type {
  DeliveryBody,
  OrchestrationContinuedAsNew,
  OrchestrationStarted,
  ParentLink,
  TerminalBody,
} from "../history/events.ts";
import { defined } from "../values/defined.ts";
import type { Run } from "./run.ts";

/** The start of the next execution. It contains the current state of the instance (I15). */
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
    ...defined({ parent, traceParent }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(status === null ? {} : { status }),
    ...(keyValues.length === 0 ? {} : { keyValues }),
    // A flow carries its state, and an input that was checked when the flow started.
    ...(state === undefined ? { unchecked: true } : { state }),
  };
}

/** The outcome for the parent; null if the instance continues in a next execution. */
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
