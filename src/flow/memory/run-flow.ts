// `runFlow`: runs a flow without a store. It uses the same interpreter, but nothing survives the process.

import type { SomeServices } from "../../core/context/app-types.ts";
import type { InputArguments } from "../../core/context/types.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import type { Environment } from "../../core/time/environment.ts";
import { toOrchestrationError } from "../../core/errors/failure.ts";
import type { OrchestrationStarted, TerminalBody } from "../../core/history/events.ts";
import { parseName } from "../../core/ids/ids.ts";
import { consoleLog } from "../../core/telemetry/console-log.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import { checkMembers, type Members } from "../../core/checks.ts";
import { definitionsOf, type Registrable } from "../../core/define/registrable.ts";
import { validate } from "../../core/values/standard-schema.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { MemoryRun } from "./memory-run.ts";
import { MemoryWorld } from "./memory-world.ts";
import { errorMessage } from "../../core/errors/errors.ts";

/** Options of `runFlow`. */
export interface RunFlowOptions {
  /**
   * The signals, in the order in which the flow receives them. A wait for a signal that is not listed fails
   * the run.
   */
  readonly events?: readonly { readonly name: string; readonly data?: unknown }[];
  /** The orchestrations, flows and activities that children need, or modules that export them. */
  readonly register?: readonly Registrable[];
  /** Cancels the flow. Its compensations run before the promise rejects. */
  readonly signal?: AbortSignal;
  readonly log?: LogSink;
  /** The services of activities and steps: `ctx.services`. */
  readonly services?: SomeServices;
  /** The clock, timers and random numbers. Tests replace it. */
  readonly environment?: Environment;
}

const RUN_FLOW_OPTIONS: Members<RunFlowOptions> = {
  events: true,
  register: true,
  signal: true,
  log: true,
  services: true,
  environment: true,
};

/**
 * Runs a flow once, in memory, in this process. Delays, retries and timeouts apply; nothing is stored. All
 * activities run in this process, regardless of their executor, tags or session.
 */
export async function runFlow<I, O>(
  flow: Orchestration<I, O>,
  ...rest: InputArguments<NoInfer<I>, RunFlowOptions>
): Promise<O> {
  const [given, options = {}] = rest as [unknown, RunFlowOptions?];
  checkMembers(options, RUN_FLOW_OPTIONS, "runFlow");
  const { events = [], register = [], signal, services, log = consoleLog() } = options;
  const { environment = systemEnvironment } = options;
  const schema = flow.options.input;
  const input =
    schema === undefined ? given : await validate(schema, given, `input of "${flow.name}"`);
  const { promise, resolve, reject } = Promise.withResolvers<TerminalBody>();
  const registered = [flow as Orchestration<never, unknown>, ...definitionsOf(register)];
  const own = { environment, log, services, register: registered };
  const world = new MemoryWorld({ ...own, fail: reject });
  const id = environment.randomHex(16);
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name: flow.name,
    orchestrationVersion: flow.version,
    input: world.codec.encode(input),
    runId: id,
    seed: environment.randomHex(16),
  };
  const definition = flow as Orchestration<never, unknown>;
  const run = new MemoryRun({ world, id, definition, started, onEnd: resolve });
  for (const { name, data } of events) {
    parseName(name, "event name");
    run.enqueue({ kind: "EventReceived", name, data: world.codec.encode(data) });
  }
  const cancel = (): void => run.cancel(errorMessage(signal?.reason));
  if (signal?.aborted === true) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const ended = await promise;
    if (ended.kind === "OrchestrationFailed")
      throw toOrchestrationError(ended, { id, name: flow.name });
    if (ended.kind !== "OrchestrationCompleted")
      throw new Error("An execution that continued as new has no result.");
    return world.codec.decode(ended.output) as O; // The type comes from the flow.
  } finally {
    world.isOver = true;
    signal?.removeEventListener("abort", cancel);
  }
}
