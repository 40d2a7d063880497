// Running a flow without a store: the same interpreter, nothing that survives the process.

import type { InputArguments } from "../core/context-types.ts";
import type { Orchestration } from "../core/definitions.ts";
import type { Environment } from "../core/environment.ts";
import { fromFailure } from "../core/failure.ts";
import type {
  OrchestrationFailed,
  OrchestrationStarted,
  TerminalBody,
} from "../core/history-events.ts";
import { parseName } from "../core/ids.ts";
import { consoleLog } from "../core/console-log.ts";
import type { LogSink } from "../core/log.ts";
import { OrchestrationError } from "../core/outcome-errors.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { definitionsOf, type Registrable } from "../core/registrable.ts";
import { validate } from "../core/standard-schema.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { MemoryRun } from "./memory-run.ts";
import { MemoryWorld } from "./memory-world.ts";

/** What `runFlow` may be given. */
export interface RunFlowOptions {
  /** Signals, in the order in which they are received; a wait that finds none fails the run. */
  readonly events?: readonly { readonly name: string; readonly data?: unknown }[];
  /** Orchestrations, flows and activities that children need, and modules that export some. */
  readonly register?: readonly Registrable[];
  /** Cancels the flow; its compensations run before the promise rejects. */
  readonly signal?: AbortSignal;
  readonly log?: LogSink;
  /** Time and chance; a test gives its own. */
  readonly environment?: Environment;
}

const RUN_FLOW_OPTIONS: Members<RunFlowOptions> = {
  events: true,
  register: true,
  signal: true,
  log: true,
  environment: true,
};

/**
 * Runs a flow in memory, once, in this process: delays are waited for, retries and time-outs are kept, nothing is
 * written down. Activities run here, whatever their executor, tags or session.
 */
export async function runFlow<I, O>(
  flow: Orchestration<I, O>,
  ...rest: InputArguments<NoInfer<I>, RunFlowOptions>
): Promise<O> {
  const [given, options = {}] = rest as [unknown, RunFlowOptions?];
  checkMembers(options, RUN_FLOW_OPTIONS, "runFlow");
  const { events = [], register = [], signal, log = consoleLog() } = options;
  const { environment = systemEnvironment } = options;
  const schema = flow.options.input;
  const input =
    schema === undefined ? given : await validate(schema, given, `input of "${flow.name}"`);
  const { promise, resolve, reject } = Promise.withResolvers<TerminalBody>();
  const registered = [flow as Orchestration<never, unknown>, ...definitionsOf(register)];
  const world = new MemoryWorld({ environment, log, register: registered, fail: reject });
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
    run.give({ kind: "EventReceived", name, data: world.codec.encode(data) });
  }
  const cancel = (): void => run.cancel(reasonOf(signal));
  if (signal?.aborted === true) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const ended = await promise;
    if (ended.kind === "OrchestrationFailed") throw failed(ended);
    if (ended.kind !== "OrchestrationCompleted")
      throw new Error("An execution that goes on has no result.");
    return world.codec.decode(ended.output) as O; // typed by the flow
  } finally {
    world.isOver = true;
    signal?.removeEventListener("abort", cancel);
  }
}

function reasonOf(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason.message : String(reason);
}

function failed({
  outcome,
  failure,
  compensationFailures = [],
}: OrchestrationFailed): OrchestrationError {
  const error = new OrchestrationError({ kind: outcome, failure, cause: fromFailure(failure) });
  if (compensationFailures.length === 0) return error;
  const compensationErrors = compensationFailures.map((each) => fromFailure(each));
  return Object.assign(error, { compensationErrors });
}
