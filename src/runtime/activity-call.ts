// One call of an activity: what its attempt is told, and how its function is entered, wherever it runs.
//   CA1. Schemas are checked around the function, in the place where it runs.

import type { ActivityContext } from "../core/activity-context.ts";
import type { Activity } from "../core/definitions.ts";
import type { ExecutorFunction } from "../core/executor.ts";
import { nodeInfo } from "../core/node-info.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import { validate } from "../core/standard-schema.ts";
import type { AttemptDescription } from "./activity-run.ts";

type Definition = Activity<never, unknown>;

/** What an attempt at a task is told about itself. */
export function describeAttempt(task: LeasedTask, workerId: string): AttemptDescription {
  return {
    attempt: task.attempt + 1,
    key: `${task.runId}:${task.execution}:${task.sequence}`,
    info: {
      instanceId: task.instanceId,
      executionId: task.execution,
      orchestration: task.orchestration,
      orchestrationVersion: task.orchestrationVersion,
      activity: task.name,
      sequence: task.sequence,
      worker: workerId,
      priority: task.priority,
      tags: task.tags ?? [],
      session: task.session ?? undefined,
      ...nodeInfo(task.options),
    },
  };
}

/** Enters the activity's own function, or the executor's in its place. */
export function callActivity(
  definition: Definition,
  input: unknown,
  context: ActivityContext,
  executor: ExecutorFunction | null,
): unknown {
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  if (inputSchema === undefined && outputSchema === undefined) {
    return enter(definition, input, context, executor);
  }
  return callChecked(definition, input, (checked) => enter(definition, checked, context, executor));
}

function enter(
  definition: Definition,
  input: unknown,
  context: ActivityContext,
  executor: ExecutorFunction | null,
): unknown {
  if (executor !== null) return executor({ name: definition.name, input, context });
  // The definition's types tie its function to its own input.
  const handler = definition.handler as (input: unknown, ctx: ActivityContext) => unknown;
  return handler(input, context);
}

async function callChecked(
  definition: Definition,
  input: unknown,
  handler: (input: unknown) => unknown,
): Promise<unknown> {
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  const what = `of activity "${definition.name}"`;
  const checked = inputSchema ? await validate(inputSchema, input, `input ${what}`) : input;
  const output = await handler(checked);
  return outputSchema ? validate(outputSchema, output, `output ${what}`) : output;
}
