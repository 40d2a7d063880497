// Administration from a client: lists, counts, deletes and prunes instances, and lists the live runtimes.

import { registeredWork, type RegisteredWork } from "../core/define/work-matching.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import { PerdureError } from "../core/errors/errors.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkInteger,
  invalidArgument,
  type Members,
} from "../core/checks.ts";
import { showValue } from "../core/ids/ids.ts";
import type {
  FoundInstance,
  FoundPage,
  InstanceFilter,
  ListOrder,
  ListRequest,
  PruneRequest,
  Removed,
} from "../core/provider/index.ts";
import { defined } from "../core/values/defined.ts";
import { instanceSummary, type InstanceSummary } from "./inspect/instance-info.ts";
import { listedWaits } from "./inspect/listed-waits.ts";
import { FILTER, storeFilter, type ListFilter } from "./list-filter.ts";
import { notFound, type Store } from "./store.ts";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;

/** The page of a list and its order. */
export interface ListOptions {
  readonly cursor?: string;
  /** 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** The time that orders the list. Default "createdAt". By "completedAt", what has not ended comes last. */
  readonly orderBy?: ListOrder;
  /** "desc" and "newest": the latest time first, the default. "asc" and "oldest": the earliest time first. */
  readonly order?: "desc" | "asc" | "newest" | "oldest";
  /** Also return what the instances wait for, as far as the store knows without reading their histories. */
  readonly waits?: boolean;
}
/** A filter with the options of a list. */
export type ListQuery = ListFilter & ListOptions;
/** How many instances have a status, a name, or both. */
export interface InstanceCount {
  /** "paused" counts only paused instances, which no other status counts. Present if `by` has it. */
  readonly status?: NonNullable<InstanceFilter["status"]>[number];
  /** Present if `by` has it. */
  readonly name?: string;
  readonly count: number;
}
/** What a count tells apart. */
export interface CountsOptions {
  /** Default: `["status"]`. */
  readonly by?: readonly ("status" | "name")[];
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

const LIST_OPTIONS: Members<ListOptions> = {
  cursor: true,
  limit: true,
  orderBy: true,
  order: true,
  waits: true,
};
const COUNTS_OPTIONS: Members<CountsOptions> = { by: true };
const DELETE_OPTIONS = { force: true } as const;
const PRUNE_OPTIONS: Members<PruneOptions> = { keepLast: true, completedBefore: true };

export async function listInstances(
  store: Store,
  query: ListQuery,
  given: ListOptions,
): Promise<InstanceList> {
  checkMembers(query, { ...FILTER, ...LIST_OPTIONS }, "client.list");
  checkMembers(given, LIST_OPTIONS, "client.list");
  const { cursor: place, limit: most, orderBy: time, order: direction, waits, ...filter } = query;
  const options = {
    ...defined({ cursor: place, limit: most, orderBy: time, order: direction, waits }),
    ...defined(given),
  };
  checkFlag(options.waits, "waits");
  const { limit = PAGE_DEFAULT, orderBy = "createdAt", order = "desc", cursor = null } = options;
  checkChoice(order, ["desc", "asc", "newest", "oldest"], "order");
  checkChoice(orderBy, ["createdAt", "updatedAt", "completedAt"], "orderBy");
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_MAX) {
    const message = `limit must be a whole number from 1 to ${PAGE_MAX}; got ${showValue(limit)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  const request: ListRequest = {
    filter: storeFilter(filter),
    orderBy,
    order: order === "asc" || order === "oldest" ? "oldest" : "newest",
    limit,
    cursor,
  };
  const page = await store.read((provider) => provider.listInstances(request));
  const waitsOf = options.waits === true ? await listedWaits(store, page.items) : undefined;
  return {
    items: page.items.map((listed) =>
      instanceSummary(listed, store.codec, waitsOf && (waitsOf.get(listed.key) ?? [])),
    ),
    cursor: page.cursor ?? undefined,
  };
}

export function countInstances(store: Store, filter: ListFilter): Promise<number> {
  return store.read((provider) => provider.countInstances(storeFilter(filter)));
}

export async function countBy(
  store: Store,
  options: CountsOptions,
): Promise<readonly InstanceCount[]> {
  checkMembers(options, COUNTS_OPTIONS, "client.counts");
  const { by = ["status"] } = options;
  if (!Array.isArray(by)) throw invalidArgument(`by must be an array; got ${showValue(by)}.`);
  for (const each of by) checkChoice(each, ["status", "name"], "by");
  const counts = new Map<string, InstanceCount>();
  const add = (status: InstanceCount["status"], name: string, count: number): void => {
    if (count === 0) return;
    const group = defined({
      status: by.includes("status") ? status : undefined,
      name: by.includes("name") ? name : undefined,
    });
    const key = JSON.stringify([group.status, group.name]);
    counts.set(key, { ...group, count: (counts.get(key)?.count ?? 0) + count });
  };
  for (const { name, status, instances, paused } of await store.read((provider) =>
    provider.countByName(),
  )) {
    add(status, name, instances - paused);
    add("paused", name, paused);
  }
  const place = ({ name, status }: InstanceCount): string => `${name ?? ""}\n${status ?? ""}`;
  return [...counts.values()].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

export async function deleteInstance(
  store: Store,
  id: string,
  options: { readonly force?: boolean } = {},
): Promise<Removed> {
  checkMembers(options, DELETE_OPTIONS, "client.delete");
  const { force = false } = options;
  checkFlag(force, "force");
  const result = await store.read((provider) => provider.deleteInstance({ id, force }));
  if (result.kind === "refused") throw new PerdureError(result.code, result.message);
  const { instances, executions, events, messages } = result;
  return { instances, executions, events, messages };
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

/** Throws INVALID_ARGUMENT unless the options are valid. */
export function checkPrune(store: Store, options: PruneOptions): void {
  storePrune(store, options);
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
