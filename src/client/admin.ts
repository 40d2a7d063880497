// Administration from a client: lists, counts, deletes and prunes instances, and lists the live runtimes.

import { registeredWork, type RegisteredWork } from "../core/define/work-matching.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { checkChoice, checkMembers, checkInteger, type Members } from "../core/checks.ts";
import { showValue } from "../core/ids/ids.ts";
import {
  isTerminalStatus,
  type FoundInstance,
  type FoundPage,
  type PruneRequest,
  type Removed,
} from "../core/provider/index.ts";
import { defined } from "../core/values/defined.ts";
import { instanceSummary, type InstanceSummary } from "./inspect/instance-info.ts";
import { storeFilter, type ListFilter } from "./list-filter.ts";
import { notFound, type Store } from "./store.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;
const BULK_DEFAULT = 1_000;

/** The page of a list and its order. */
export interface ListOptions {
  readonly cursor?: string;
  /** 1 to 1,000. Default 100. */
  readonly limit?: number;
  readonly order?: "newest" | "oldest";
}
/** One page of a list. */
export interface InstanceList {
  readonly items: readonly InstanceSummary[];
  /** Pass it to the next call. Undefined: this is the last page. */
  readonly cursor: string | undefined;
}
/** Selects the old executions to remove. Without options: all but the newest. */
export interface PruneOptions {
  /** How many of the newest executions to keep, the current one included. */
  readonly keepLast?: number;
  /** Only executions that ended longer ago than this duration, or before this date. */
  readonly completedBefore?: Date | Duration;
}
export type PruneManyOptions = PruneOptions & { readonly limit?: number };

const LIST_OPTIONS: Members<ListOptions> = { cursor: true, limit: true, order: true };
const PRUNE_OPTIONS: Members<PruneOptions> = { keepLast: true, completedBefore: true };
const PRUNE_MANY_OPTIONS: Members<PruneManyOptions> = { ...PRUNE_OPTIONS, limit: true };

export async function listInstances(
  store: Store,
  filter: ListFilter,
  options: ListOptions,
): Promise<InstanceList> {
  checkMembers(options, LIST_OPTIONS, "client.list");
  const { limit = PAGE_DEFAULT, order = "newest", cursor = null } = options;
  checkChoice(order, ["newest", "oldest"], "order");
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    const message = `limit must be a whole number from 1 to ${PAGE_MAX}; got ${showValue(limit)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const request = { filter: storeFilter(filter), order, limit, cursor };
  const page = await store.read((provider) => provider.listInstances(request));
  return {
    items: page.items.map((listed) => instanceSummary(listed, store.codec)),
    cursor: page.cursor ?? undefined,
  };
}

export function countInstances(store: Store, filter: ListFilter): Promise<number> {
  return store.read((provider) => provider.countInstances(storeFilter(filter)));
}

export async function deleteInstance(store: Store, id: string, force: boolean): Promise<Removed> {
  const result = await store.read((provider) => provider.deleteInstance({ id, force }));
  if (result.kind === "refused") throw new PerdureError(result.code, result.message);
  const { instances, executions, events, messages } = result;
  return { instances, executions, events, messages };
}

/**
 * Deletes ended instances only. Skips an instance that was restarted, or whose tree became live, after the
 * search.
 */
export async function deleteMany(
  store: Store,
  filter: ListFilter,
  limit = BULK_DEFAULT,
): Promise<Removed> {
  let total = NOTHING;
  for await (const { id, status } of findInstances(store, filter, limit)) {
    if (!isTerminalStatus(status)) continue;
    const result = await store.read((provider) => provider.deleteInstance({ id, force: false }));
    if (result.kind === "deleted") total = add(total, result);
  }
  return total;
}

export async function pruneInstance(
  store: Store,
  id: string,
  options: PruneOptions,
): Promise<Removed> {
  const request = { id, ...storePrune(store, options) };
  const removed = await store.read((provider) => provider.pruneExecutions(request));
  if (removed === null) throw notFound(id);
  return removed;
}

export async function pruneMany(
  store: Store,
  filter: ListFilter,
  options: PruneManyOptions,
): Promise<Removed> {
  checkMembers(options, PRUNE_MANY_OPTIONS, "client.pruneMany");
  const { limit, ...which } = options;
  let total = NOTHING;
  for await (const { id } of findInstances(store, filter, limit ?? BULK_DEFAULT)) {
    const request = { id, ...storePrune(store, which) };
    const removed = await store.read((provider) => provider.pruneExecutions(request));
    if (removed !== null) total = add(total, removed);
  }
  return total;
}

/** One live runtime. */
export interface RuntimeInfo {
  readonly id: string;
  readonly nodeId: string;
  readonly hostname: string;
  readonly pid: number | undefined;
  /** Undefined: another version of the library wrote the record, and this version cannot read it. */
  readonly registered: RegisteredWork | undefined;
  /** How many instances and tasks the runtime has leased. */
  readonly load: { readonly instances: number; readonly tasks: number };
  readonly startedAt: Date;
  readonly lastBeatAt: Date;
  /** Code that was running when the runtime's heartbeats stopped. */
  readonly note: string | undefined;
}

export async function listRuntimes(store: Store): Promise<readonly RuntimeInfo[]> {
  const records = await store.read((provider) => provider.listRuntimes());
  const loads = await store.read((provider) => provider.readLoads());
  return records.map((record) => {
    const { id, nodeId, hostname } = record;
    const { instances = 0, tasks = 0 } = loads.find(({ owner }) => owner === id) ?? {};
    return {
      id,
      nodeId,
      hostname,
      pid: record.process?.pid,
      registered: registeredWork(record),
      load: { instances, tasks },
      startedAt: new Date(record.startedAt),
      lastBeatAt: new Date(record.beatAt),
      note: record.note ?? undefined,
    };
  });
}

const NOTHING: Removed = { instances: 0, executions: 0, events: 0, messages: 0 };

function add(a: Removed, b: Removed): Removed {
  return {
    instances: a.instances + b.instances,
    executions: a.executions + b.executions,
    events: a.events + b.events,
    messages: a.messages + b.messages,
  };
}

/** The instances that match, oldest first. Reads one page at a time. */
export async function* findInstances(
  store: Store,
  filter: ListFilter,
  limit = Infinity,
): AsyncGenerator<FoundInstance, void, undefined> {
  if (limit !== Infinity) checkInteger(limit, 1, "limit");
  const wanted = { filter: storeFilter(filter), order: "oldest" } as const;
  let left = limit;
  let cursor: string | null = null;
  do {
    const request = { ...wanted, limit: Math.min(left, PAGE_MAX), cursor };
    const page: FoundPage = await store.read((provider) => provider.findInstances(request));
    yield* page.items;
    left -= page.items.length;
    cursor = page.cursor;
  } while (cursor !== null && left > 0);
}

function storePrune(store: Store, options: PruneOptions): Omit<PruneRequest, "id"> {
  checkMembers(options, PRUNE_OPTIONS, "client.prune");
  const { keepLast, completedBefore } = options;
  checkInteger(keepLast, 1, "keepLast");
  if (completedBefore === undefined) return defined({ keepLast });
  const before =
    completedBefore instanceof Date
      ? completedBefore.getTime()
      : store.provider.now() - parseDuration(completedBefore, "completedBefore");
  return defined({ keepLast, completedBefore: before });
}
