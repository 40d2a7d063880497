// Delegated repairs: a process without the code of an instance hands a repair to a worker that has it, and waits for its
// verdict (core/repair/repair-calls.ts).
//   - delegate.1: A worker that disappears before it answers is replaced by another one. The request id of the repair makes
//        it happen once. If that worker is gone, another worker may delete the call before this client does
//        (repair-calls.2).

import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { registeredWork, type RegisteredWork } from "../../core/define/work-matching.ts";
import { terminated } from "../../core/errors/built-in-failures.ts";
import type { OrchestrationStarted } from "../../core/history/events.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import { isTerminalStatus, type RuntimeRecord } from "../../core/provider/index.ts";
import {
  repairCodeName,
  type RepairAnswer,
  type RepairCall,
} from "../../core/repair/repair-calls.ts";
import { outcomeOf, type Outcome } from "../outcome.ts";
import type { Store } from "../store.ts";
import { waitUntil } from "../waiting.ts";
import { findCode, type CodeName } from "./code.ts";

/** How long a worker may take. Only a busy worker, or a past of many events, needs more than a second. */
const TIMEOUT_MS = 60_000;
/** How often the client looks whether the worker is still there. */
const LOOK_MS = 2_000;

/** `call` null: this process is the worker, and lacks code that the call needs. */
export async function delegated<T>(
  store: Store,
  code: CodeName,
  call: RepairCall | null,
): Promise<T> {
  const tried = new Set<string>();
  while (call !== null) {
    const runtime = (await candidates(store, code)).find(({ id }) => !tried.has(id));
    if (runtime === undefined) break;
    tried.add(runtime.id);
    const answer = await askRuntime(store, runtime.id, call);
    if (answer === null) continue; // delegate.1
    if (answer.kind === "refused") throw new PerdureError(answer.code, answer.message);
    return answer.result as T; // the worker has the same code of this library
  }
  throw notRegistered(code);
}

/** The live runtimes that register the code and carry out repairs. */
async function candidates(store: Store, code: CodeName): Promise<readonly RuntimeRecord[]> {
  return (await runtimesWith(store, code)).filter(
    (runtime) => registeredWork(runtime)?.takesRepairs === true,
  );
}

async function runtimesWith(store: Store, code: CodeName): Promise<readonly RuntimeRecord[]> {
  const runtimes = await store.read((provider) => provider.listRuntimes());
  return runtimes.filter((runtime) => {
    const work = registeredWork(runtime);
    return work !== undefined && hasCode(work, code);
  });
}

/** Throws NOT_REGISTERED unless this process or a running worker registers the code. */
export async function requireCode(store: Store, code: CodeName): Promise<void> {
  if (findCode(store, code) !== null || (await runtimesWith(store, code)).length > 0) return;
  const message = `Neither this process nor a running worker registers ${nameOf(code)}.`;
  throw new PerdureError("NOT_REGISTERED", message);
}

function hasCode({ activities, orchestrations }: RegisteredWork, { name, version }: CodeName) {
  if (version === JOB_VERSION) return activities.includes(name);
  const versions = Object.hasOwn(orchestrations, name) ? orchestrations[name] : undefined;
  if (versions === undefined) return false;
  return version === null || versions.includes(version);
}

/** Null: the runtime disappeared without an answer. */
async function askRuntime(
  store: Store,
  runtimeId: string,
  call: RepairCall,
): Promise<RepairAnswer | null> {
  const id = await startCall(store, repairCodeName(runtimeId), call);
  const { environment } = store.provider;
  const until = environment.monotonic() + TIMEOUT_MS;
  try {
    for (;;) {
      const outcome = await lookFor(store, id, Math.min(until - environment.monotonic(), LOOK_MS));
      if (outcome !== null) return answerOf(outcome);
      const runtimes = await store.read((provider) => provider.listRuntimes());
      if (!runtimes.some((runtime) => runtime.id === runtimeId)) return null;
      if (environment.monotonic() < until) continue;
      const what =
        call.kind === "rewindMany" ? `${call.ids.length} instances` : `instance "${call.id}"`;
      const message = `The worker that has the code of ${what} did not answer within ${TIMEOUT_MS / 1_000} s. The repair may still happen.`;
      throw new PerdureError("TIMEOUT", message);
    }
  } catch (error) {
    if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return null; // delegate.1
    throw error;
  } finally {
    await store.read((provider) => provider.deleteInstance({ id, force: true }));
  }
}

/** Returns the id of the instance that carries the call. */
async function startCall(store: Store, name: string, call: RepairCall): Promise<string> {
  const { environment } = store.provider;
  const runId = environment.randomHex(16);
  const id = `${name}.${environment.randomHex(8)}`;
  const started: OrchestrationStarted = {
    kind: "OrchestrationStarted",
    name,
    orchestrationVersion: "",
    input: store.codec.encode(call),
    runId,
    seed: environment.randomHex(16),
  };
  await store.committer.submit({
    kind: "start",
    ...{ id, runId, name, version: null, started: JSON.stringify(started), parent: null },
    ...{ onParentClose: "cancel", priority: 1, attributes: {}, onConflict: "fail" },
    ...{ requestId: null, terminated: JSON.stringify(terminated("replaced")), events: [] },
    lease: null,
  });
  return id;
}

/** Null: the call has not ended within that time. */
async function lookFor(store: Store, id: string, timeoutMs: number): Promise<Outcome | null> {
  const look = async (until: number): Promise<Outcome | null> => {
    const record = await store.record(id, until);
    return isTerminalStatus(record.status) ? outcomeOf(record, store.codec) : null;
  };
  const options = { timeout: Math.max(timeoutMs, 1) };
  try {
    return await waitUntil(store, id, options, look, { what: "The repair did not end" });
  } catch (error) {
    if (error instanceof PerdureError && error.code === "TIMEOUT") return null;
    throw error;
  }
}

function answerOf(outcome: Outcome): RepairAnswer {
  if (outcome.kind === "error") throw outcome.error;
  return outcome.value as RepairAnswer; // only repairCode ends such an instance
}

export function notRegistered(code: CodeName): PerdureError {
  const message = `The past cannot be checked: neither this process nor a running worker registers ${nameOf(code)}. Start a worker that does.`;
  return new PerdureError("NOT_REGISTERED", message);
}

function nameOf({ name, version }: CodeName): string {
  const isJob = version === JOB_VERSION;
  return isJob ? `activity "${name}"` : `orchestration "${name}" ${version ?? ""}`.trim();
}
