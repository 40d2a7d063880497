// Fork: creates a new instance with a copy of another instance's history up to a given event (semantics 21a).
//   - The source instance may be running and does not change. Its inbox is not copied.
//   - The copy has no parent, a new run id and the source's seed.
//   - Its callbacks have new addresses: those of the source complete the source. What the source passed on before, such
//        as the inputs of its activities, is copied as it is.
//   - The registered code replays the copied past before the fork is written, as for a rewind (rewind.1).

import { hash } from "node:crypto";
import { checkInteger, checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type {
  CallbackCreated,
  EventBody,
  HistoryEvent,
  OrchestrationStarted,
  Repair,
  StoredKeyValue,
} from "../../core/history/events.ts";
import { bodyOf, type HistoryRow } from "../../core/history/rows.ts";
import { sealRow } from "../../core/history/seal.ts";
import { parseInstanceId, parseInstanceReference, parseRequestId } from "../../core/ids/ids.ts";
import { JOB_VERSION, parseVersion } from "../../core/ids/semver.ts";
import type { ForkItem, InstanceRecord } from "../../core/provider/index.ts";
import { checkCutPoint, cutBefore, type CutPoint } from "../../core/repair/cut.ts";
import { pastBefore, type Past } from "../../core/repair/past.ts";
import { checkReplacements, replaceOutcomes, type Replacement } from "../../core/repair/replace.ts";
import { defined } from "../../core/values/defined.ts";
import { validate } from "../../core/values/standard-schema.ts";
import type { ClientCallbacks } from "../callbacks/complete.ts";
import { requestDigestOf } from "../request-digest.ts";
import { keyReused, type Store } from "../store.ts";
import { divergence, findCode, type FoundCode } from "./code.ts";
import { delegated } from "./delegate.ts";
import { readPast, type Draft } from "./drafts.ts";
import { copyRows } from "./plan.ts";
import { checkReason, reasonOf, type RepairOptions } from "./rewind.ts";

/** Options of `client.fork`. */
export interface ForkOptions extends RepairOptions {
  /** The copy contains the events before this one: an event, or a call. */
  readonly before?: CutPoint;
  /** The same as `before` with a number. */
  readonly beforeSequence?: number;
  /** The execution to copy. Default: the newest. */
  readonly execution?: number;
  /** The id of the new instance. Default: random. */
  readonly id?: string;
  /** Another version of the orchestration. */
  readonly version?: string;
  /** Another input. The schema of the orchestration checks it. */
  readonly input?: unknown;
  /** Values for calls that have an outcome in the copied past: the code gets these instead. */
  readonly replace?: readonly Replacement[];
  /** Repeated calls with the same id fork once. */
  readonly requestId?: string;
  /** A digest of the request. The same request id with a different digest raises `KEY_REUSED`. */
  readonly requestDigest?: string;
}

const OPTIONS: Members<ForkOptions> = {
  before: true,
  beforeSequence: true,
  execution: true,
  id: true,
  version: true,
  input: true,
  replace: true,
  reason: true,
  by: true,
  requestId: true,
  requestDigest: true,
};
/** The execution number of the copy. */
const EXECUTION = 1;

export function checkFork(options: ForkOptions): void {
  checkMembers(options, OPTIONS, "client.fork");
  const { before, beforeSequence } = options;
  if ((before === undefined) === (beforeSequence === undefined)) {
    throw invalidArgument("client.fork needs either before or beforeSequence.");
  }
  if (before !== undefined) checkCutPoint(before, "before");
  if (
    beforeSequence !== undefined &&
    !(Number.isSafeInteger(beforeSequence) && beforeSequence > 1)
  ) {
    throw invalidArgument(`beforeSequence must be a whole number from 2; got ${beforeSequence}.`);
  }
  checkInteger(options.execution, 1, "execution");
  if (options.id !== undefined) parseInstanceId(options.id);
  if (options.version !== undefined) parseVersion(options.version);
  if (options.replace !== undefined) checkReplacements(options.replace);
  checkReason(options);
  if (options.requestId !== undefined) parseRequestId(options.requestId);
  requestDigestOf(options);
}

/** Checked options. Returns the id of the new instance. `ofCall`: the run id, in a worker that carries out the call. */
export async function forkInstance(
  store: Store,
  callbacks: ClientCallbacks,
  sourceId: string,
  options: ForkOptions,
  ofCall?: string,
): Promise<string> {
  const ids = forkIds(store, sourceId, options);
  const { id } = ids;
  const runId = ofCall ?? ids.runId;
  // Only a call that may be repeated can have made the fork before.
  const isRepeatable = ofCall !== undefined || options.requestId !== undefined;
  if (isRepeatable && (await isMade(store, ids, runId))) return id;
  const source = await store.record(parseInstanceReference(sourceId));
  const { name } = source;
  const version = options.version ?? source.version;
  if (options.version !== undefined && source.version === JOB_VERSION) {
    throw invalidArgument(`Instance "${source.id}" is a job; a job has no version.`);
  }
  const execution = options.execution ?? source.execution;
  const read = { ...(await readPast(store, source, execution)), execution };
  const code = findCode(store, { name, version });
  if (code === null) {
    const call = { kind: "fork", id: source.id, options: { ...options, id }, runId } as const;
    return delegated<string>(store, { name, version }, ofCall === undefined ? call : null);
  }
  const target: ForkTarget = {
    ...{ id, runId, version: code.definition.version },
    input: "input" in options ? await checkedInput(store, code, options.input) : undefined,
    addressOf: await callbacks.addressesIn({ id, runId, orchestration: name }),
  };
  const { item, rows } = forkItem(store, source, read, options, target);
  const past = { id, runId: target.runId, execution: EXECUTION, priority: source.priority, rows };
  const verdict = await code.replay(past);
  if (verdict.kind === "blocked") throw divergence(source.id, verdict.reason);
  const result = await store.committer.submit(item);
  if (result.kind !== "refused" || (isRepeatable && (await isMade(store, ids, runId)))) return id;
  throw new PerdureError(result.code, `Instance "${id}" already exists; choose another id.`);
}

interface ForkIds {
  readonly id: string;
  readonly runId: string;
  /** Whether the id is derived from the request id, so that only a repeated call can find it in use. */
  readonly isDerived: boolean;
}

/** A repeated call leads to the same id. It has the same run id if it has the same digest. */
function forkIds(store: Store, sourceId: string, options: ForkOptions): ForkIds {
  const { environment } = store.provider;
  const { id, requestId, requestDigest = "" } = options;
  if (requestId === undefined) {
    const random = { id: id ?? environment.randomHex(16), runId: environment.randomHex(16) };
    return { ...random, isDerived: false };
  }
  const derived = (...of: readonly string[]): string =>
    hash("sha256", JSON.stringify(["fork", sourceId, requestId, ...of]), "hex").slice(0, 32);
  const runId = derived("run", requestDigest);
  return { id: id ?? derived(), runId, isDerived: id === undefined };
}

/** Whether an earlier call, or an earlier run of the same step, made the fork. */
async function isMade(store: Store, ids: ForkIds, runId: string): Promise<boolean> {
  const made = await store.read((provider) => provider.readInstance(ids.id));
  if (made === null) return false;
  if (made.runId === runId) return true;
  if (ids.isDerived) throw keyReused(ids.id);
  return false;
}

interface ForkTarget {
  readonly id: string;
  readonly runId: string;
  readonly version: string;
  /** Codec text; undefined: the input of the source. */
  readonly input: string | undefined;
  /** Codec text of the address of a callback of the fork. */
  readonly addressOf: (created: CallbackCreated & { readonly sequence: number }) => string;
}

async function checkedInput(
  store: Store,
  { definition }: FoundCode,
  input: unknown,
): Promise<string> {
  const { input: schema } = definition.options;
  const what = `input of "${definition.name}"`;
  return store.codec.encode(schema === undefined ? input : await validate(schema, input, what));
}

function forkItem(
  store: Store,
  source: InstanceRecord,
  { rows, events, execution }: Pick<Draft, "rows" | "events"> & { readonly execution: number },
  options: ForkOptions,
  target: ForkTarget,
): { readonly item: ForkItem; readonly rows: readonly HistoryRow[] } {
  const before = cutBefore(events, options.before ?? options.beforeSequence ?? 0);
  const encode = (value: unknown): string => store.codec.encode(value);
  const { replace = [] } = options;
  const replaced = replaceOutcomes(events, replace, before, encode);
  const past = pastBefore(replaced.events, before);
  checkReplaced(past, replaced.calls);
  const why = reasonOf(options, "forked by request");
  const repair: Repair = {
    ...{ kind: "fork", at: store.provider.now(), reason: why.reason, ...defined({ by: why.by }) },
    ...{ execution, source: source.id, before },
    ...(replaced.calls.length === 0 ? {} : { replaced: replaced.calls }),
  };
  const copied = copyRows(rows, past, (event) => copyOf(event, target, repair)).map((row) =>
    sealRow(row, { ...target, execution: EXECUTION }, store.codec.rowSeal),
  );
  const { state } = past;
  const item: ForkItem = {
    kind: "fork",
    instance: {
      id: target.id,
      runId: target.runId,
      name: source.name,
      version: target.version,
      started: "",
      parent: null,
      onParentClose: "cancel",
      priority: source.priority,
      attributes: state.attributes,
    },
    rows: copied,
    keyValues: state.entries() as readonly StoredKeyValue[],
    status: state.status,
  };
  return { item, rows: copied };
}

/** The outcome of a call that has none in the copied past would be lost: a fork has no inbox to put it into. */
function checkReplaced({ open, before }: Past, calls: readonly number[]): void {
  const missing = open.find(({ scheduled }) => calls.includes(scheduled.sequence));
  if (missing === undefined) return;
  const { sequence } = missing.scheduled;
  const message = `replace: the call of event ${sequence} has no outcome before event ${before}; choose a later cut, or use rewind.`;
  throw invalidArgument(message);
}

function copyOf(event: HistoryEvent, target: ForkTarget, repair: Repair): EventBody {
  if (event.kind === "CallbackCreated") {
    return { ...bodyOf(event), address: target.addressOf(event) };
  }
  if (event.kind !== "OrchestrationStarted") return bodyOf(event);
  const { parent: _parent, rewound: _rewound, repairs: _repairs, ...started } = bodyOf(event);
  const { runId, version: orchestrationVersion, input = started.input } = target;
  const fork: OrchestrationStarted = { ...started, runId, orchestrationVersion, input };
  return { ...fork, repairs: [repair] };
}
