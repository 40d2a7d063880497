// The frame around an orchestration's function: from its input to its terminal event.
//   P1. Every outcome becomes the run's end; nothing is thrown past this file.
//   P2. At the end what is still open is cancelled first, then compensations run, last one first, each behind
//       a shield, and only if the orchestration failed or was cancelled (semantics 19c).

import type { Orchestration } from "./definitions.ts";
import { toFailure, type Failure } from "./failure.ts";
import type { OrchestrationStarted, TerminalBody } from "./history-events.ts";
import { checkPayload } from "./limits.ts";
import { orchestrationContext } from "./orchestration-context.ts";
import { CancelledError } from "./outcome-errors.ts";
import { replayed } from "./replayed-error.ts";
import { beginCompensations, cancelLeftovers } from "./run-cancel.ts";
import { decode } from "./run-delivery.ts";
import { runShield } from "./run-scope.ts";
import type { Run } from "./run.ts";
import { validateNow } from "./standard-schema.ts";

type Outcome =
  | { readonly kind: "returned"; readonly output: string }
  | { readonly kind: "threw"; readonly failure: Failure };

export function orchestrationMain(definition: Orchestration<never, unknown>) {
  return async (run: Run, started: OrchestrationStarted): Promise<void> => {
    const input = decode(run, started.input);
    if (input === null) return;
    const outcome = await invoke(run, definition, input.decoded);
    if (run.isOver || run.continuation !== null || !run.isInTurn()) return;
    cancelLeftovers(run, "orchestration ended");
    const failed = outcome.kind === "threw" || run.cancelReason !== null;
    const compensationFailures = failed ? await compensate(run) : [];
    if (run.isOver || !run.isInTurn()) return;
    cancelLeftovers(run, "orchestration ended");
    run.end(terminal(run, outcome, compensationFailures));
  };
}

async function invoke(
  run: Run,
  definition: Orchestration<never, unknown>,
  input: unknown,
): Promise<Outcome> {
  try {
    // The definition's types tie its function to its own context and input.
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
  for (let fn = run.deferred.pop(); fn !== undefined; fn = run.deferred.pop()) {
    try {
      await runShield(run, fn);
    } catch (error) {
      failures.push(toFailure(error, { codec: run.codec }));
    }
    if (run.isOver || !run.isInTurn()) break;
    cancelLeftovers(run, "compensation ended");
  }
  return failures;
}

function terminal(
  run: Run,
  outcome: Outcome,
  compensationFailures: readonly Failure[],
): TerminalBody {
  const listed = compensationFailures.length === 0 ? {} : { compensationFailures };
  if (run.cancelReason !== null) {
    const failure = toFailure(replayed(new CancelledError(run.cancelReason)), {
      kind: "cancelled",
      retryable: false,
      codec: run.codec,
    });
    return { kind: "OrchestrationFailed", outcome: "cancelled", failure, ...listed };
  }
  if (outcome.kind === "threw") {
    return { kind: "OrchestrationFailed", outcome: "failed", failure: outcome.failure, ...listed };
  }
  return { kind: "OrchestrationCompleted", output: outcome.output };
}
