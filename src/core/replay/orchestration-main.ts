// The main function of a run: calls the orchestration's function with its input and ends the run with its
// outcome.
//   - Every outcome ends the run. The promise of the main function never rejects.
//   - When the function has ended, open tasks are cancelled. If the orchestration failed or was cancelled,
//       its compensations run after that, in reverse order, each behind a shield (semantics 19c).

import type { Orchestration } from "../define/definitions.ts";
import { cancelledRun } from "../errors/built-in-failures.ts";
import { toFailure, type Failure } from "../errors/failure.ts";
import type { OrchestrationStarted, TerminalBody } from "../history/events.ts";
import { checkPayload } from "../values/limits.ts";
import { decodeContext } from "../context/start-context.ts";
import { orchestrationContext } from "../context/orchestration-context.ts";
import { beginCompensations, cancelOpenTasks } from "./cancel.ts";
import { blockUnreadable, decode } from "./delivery.ts";
import { runShield } from "./run-scope.ts";
import type { Run } from "./run.ts";
import { validateNow } from "../values/standard-schema.ts";

type Outcome =
  | { readonly kind: "returned"; readonly output: string }
  | { readonly kind: "threw"; readonly failure: Failure };

export function orchestrationMain(definition: Orchestration<never, unknown>) {
  return async (run: Run, started: OrchestrationStarted): Promise<void> => {
    const input = decode(run, started.input);
    if (input === null || !openContext(run, started)) return;
    const outcome = await invoke(run, definition, input.decoded);
    const thrownAfter = run.deliveredSequence;
    if (run.isOver || run.continuation !== null || !run.isInTurn()) return;
    cancelOpenTasks(run, "orchestration ended");
    const failed = outcome.kind === "threw" || run.cancelReason !== null;
    const compensationFailures = failed ? await compensate(run) : [];
    if (run.isOver || !run.isInTurn()) return;
    cancelOpenTasks(run, "orchestration ended");
    run.end(terminal(run, outcome, compensationFailures, thrownAfter));
  };
}

/** False: the context cannot be decoded, and the run is blocked. */
function openContext(run: Run, { context }: OrchestrationStarted): boolean {
  if (context === undefined) return true;
  try {
    run.state.context = decodeContext(context, run.codec);
    return true;
  } catch (error) {
    blockUnreadable(run, error);
    return false;
  }
}

async function invoke(
  run: Run,
  definition: Orchestration<never, unknown>,
  input: unknown,
): Promise<Outcome> {
  try {
    // The types of the definition guarantee that its function accepts this context and input.
    const handler = definition.handler as (ctx: unknown, input: unknown) => Promise<unknown>;
    const value: unknown = await handler(orchestrationContext(run), input);
    const { output: schema } = definition.options;
    const output = schema === undefined ? value : validateNow(schema, value, "output");
    const text = run.codec.encode(output);
    checkPayload(text, "The output", run.limits);
    return { kind: "returned", output: text };
  } catch (error) {
    return { kind: "threw", failure: toFailure(error, { codec: run.codec }) };
  }
}

async function compensate(run: Run): Promise<readonly Failure[]> {
  const failures: Failure[] = [];
  beginCompensations(run);
  for (let fn = run.compensations.pop(); fn !== undefined; fn = run.compensations.pop()) {
    try {
      await runShield(run, fn);
    } catch (error) {
      failures.push(toFailure(error, { codec: run.codec }));
    }
    if (run.isOver || !run.isInTurn()) break;
    cancelOpenTasks(run, "compensation ended");
  }
  return failures;
}

function terminal(
  run: Run,
  outcome: Outcome,
  compensationFailures: readonly Failure[],
  thrownAfter: number,
): TerminalBody {
  const listed = compensationFailures.length === 0 ? {} : { compensationFailures };
  const thrown = thrownAfter === run.deliveredSequence ? {} : { thrownAfter };
  if (run.cancelReason !== null) {
    return { ...cancelledRun(run.cancelReason, run.codec), ...listed };
  }
  if (outcome.kind === "threw") {
    const { failure } = outcome;
    return { kind: "OrchestrationFailed", outcome: "failed", failure, ...listed, ...thrown };
  }
  return { kind: "OrchestrationCompleted", output: outcome.output };
}
