// Restart: runs an ended instance again from the start, as execution n + 1 (I11).
//   - It repeats all completed work, with new idempotency keys. `rewind` is the repair that does not.
//   - restart.1: A restart copies no past, so there is none to check. Another version must be registered, in this process or
//        by a running worker: a misspelled version would wait forever. The same version need not be: as after a start, the
//        instance waits for a worker that has it.
//   - restart.2: Another input is checked by the schema of the orchestration, here if this process registers the code,
//        otherwise by the worker that runs it.

import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import { terminated } from "../../core/errors/built-in-failures.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent, OrchestrationStarted, Repair } from "../../core/history/events.ts";
import { parseRequestId } from "../../core/ids/ids.ts";
import { JOB_VERSION, parseVersion } from "../../core/ids/semver.ts";
import { isTerminalStatus } from "../../core/provider/index.ts";
import { defined } from "../../core/values/defined.ts";
import { validateToSend } from "../../core/values/standard-schema.ts";
import type { Store } from "../store.ts";
import { findCode, type CodeName } from "./code.ts";
import { requireCode } from "./delegate.ts";
import { REPAIRS_MAX } from "./plan.ts";
import { checkReason, reasonOf, type RepairOptions } from "./rewind.ts";

/** Options of `handle.restart`. */
export interface RestartOptions extends RepairOptions {
  /** Calls with the same id restart once. */
  readonly requestId?: string;
  /** Another input. The schema of the orchestration checks it, here or in the worker that runs the instance. */
  readonly input?: unknown;
  /** Another version of the orchestration. This process or a running worker must register it. */
  readonly version?: string;
}

const OPTIONS: Members<RestartOptions> = {
  requestId: true,
  reason: true,
  by: true,
  input: true,
  version: true,
};

export function checkRestart(options: RestartOptions): void {
  checkMembers(options, OPTIONS, "handle.restart");
  checkReason(options);
  if (options.version !== undefined) parseVersion(options.version);
  if (options.requestId !== undefined) parseRequestId(options.requestId);
}

/** `firstOf`: reads the first event of an execution. */
export async function restartInstance(
  store: Store,
  id: string,
  options: RestartOptions,
  firstOf: (execution: number) => Promise<readonly HistoryEvent[]>,
): Promise<void> {
  checkRestart(options);
  const { version, requestId = null } = options;
  const { record, given } = await checkedCode(store, id, options);
  const [newest] = await firstOf(record.execution);
  // On a repeated call the current execution may be the one that the first call started. Until its first
  // turn it has no history: use the first event of the previous execution.
  const isRepeated = newest === undefined && requestId !== null && record.execution > 1;
  const [first] = isRepeated ? await firstOf(record.execution - 1) : [newest];
  if (first?.kind !== "OrchestrationStarted") throw notEnded(id);
  const { environment } = store.provider;
  const runId = environment.randomHex(16);
  const why = reasonOf(options, "restarted by request");
  const repair: Repair = {
    ...{
      kind: "restart",
      at: store.provider.now(),
      reason: why.reason,
      ...defined({ by: why.by }),
    },
    execution: record.execution,
  };
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name: first.name,
    orchestrationVersion: version ?? first.orchestrationVersion,
    input: given?.text ?? first.input,
    runId,
    seed: environment.randomHex(16),
    // The input was not checked, or the schema refused it: the next execution checks it.
    ...((given?.unchecked ?? (first.unchecked === true || first.refused !== undefined))
      ? { unchecked: true }
      : {}),
    ...(first.context === undefined ? {} : { context: first.context }),
    ...(first.queueKey === undefined ? {} : { queueKey: first.queueKey }),
    ...(Object.keys(record.attributes).length === 0 ? {} : { attributes: record.attributes }),
    repairs: [...(first.repairs ?? []), repair].slice(-REPAIRS_MAX),
  };
  const result = await store.committer.start({
    kind: "start",
    id: record.id,
    runId,
    name: record.name,
    version: version ?? record.version,
    started: JSON.stringify(started),
    parent: null,
    onParentClose: "cancel",
    priority: record.priority,
    attributes: record.attributes,
    onConflict: "restart",
    requestId,
    terminated: JSON.stringify(terminated("restarted")),
    events: [],
    lease: null,
  });
  if (result.kind === "refused") throw notEnded(id);
}

/** Checked options. Rejects if a restart would be refused now; changes nothing. */
export async function checkRestartOf(
  store: Store,
  id: string,
  options: RestartOptions,
): Promise<void> {
  const { record } = await checkedCode(store, id, options);
  if (!isTerminalStatus(record.status)) throw notEnded(id);
}

/** restart.1, restart.2 */
async function checkedCode(store: Store, id: string, options: RestartOptions) {
  const { version } = options;
  const record = await store.record(id);
  if (version !== undefined && record.version === JOB_VERSION) {
    throw invalidArgument(`Instance "${id}" is a job; a job has no version.`);
  }
  const next = { name: record.name, version: version ?? record.version };
  if (version !== undefined) await requireCode(store, next);
  const given = "input" in options ? await encodedInput(store, next, options.input) : null;
  return { record, given };
}

function notEnded(id: string): PerdureError {
  const message = `Instance "${id}" has not ended; only an ended instance can be restarted.`;
  return new PerdureError("INSTANCE_RUNNING", message);
}

/** restart.2. `unchecked`: the worker that runs the instance checks it. */
async function encodedInput(
  store: Store,
  code: CodeName,
  input: unknown,
): Promise<{ readonly text: string; readonly unchecked: boolean }> {
  const schema = findCode(store, code)?.definition.options.input;
  const sent = await validateToSend(schema, input, `input of "${code.name}"`);
  return { text: store.codec.encode(sent.value), unchecked: !sent.isOutput };
}
