// The end of an execution that continues as new, and the consequences of any end: the start of the next
// execution, and the outcome that the parent receives.

import { cancelOpenTasks, dropCompensations } from "./cancel.ts";
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

/** What `ctx.continueAsNew` was called with. */
export interface Continuation {
  readonly input: string;
  readonly version: string | null;
  readonly state?: string;
}

/** Ends an execution whose code has called `ctx.continueAsNew`. */
export function endContinued(run: Run, { input, version, state }: Continuation): void {
  cancelOpenTasks(run, "continued as new");
  dropCompensations(run);
  run.end({
    kind: "OrchestrationContinuedAsNew",
    input,
    ...(version === null ? {} : { orchestrationVersion: version }),
    ...defined({ state }),
  });
}

/** The start of the next execution. It contains the current state of the instance (I15). */
export function nextStart(run: Run, ended: OrchestrationContinuedAsNew): OrchestrationStarted {
  const { kind, name, runId, seed, parent, traceParent, context, repairs } = run.started;
  const { input, orchestrationVersion = "", state } = ended;
  const { status, attributes, closedStreams } = run.state;
  const keyValues = run.state.entries();
  return {
    kind,
    name,
    orchestrationVersion,
    input,
    runId,
    seed: nextSeed(seed),
    ...defined({ parent, traceParent, context, repairs }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    ...(status === null ? {} : { status }),
    ...(keyValues.length === 0 ? {} : { keyValues }),
    ...(closedStreams.length === 0 ? {} : { closedStreams }),
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
