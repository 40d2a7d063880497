// Enqueue many: checks many jobs and writes them in chunks (bulk/start-chunks.ts).
//   - All items are checked before anything is written. The error of a bad item names its index.

import { checkMembers, type Members } from "../../core/checks.ts";
import { parseInstanceId } from "../../core/ids/ids.ts";
import type { EnqueueKey } from "../../core/provider/enqueue.ts";
import { defined } from "../../core/values/defined.ts";
import {
  bulkIds,
  contextOf,
  listOf,
  ofItem,
  writeChunks,
  writeWithin,
} from "../bulk/start-chunks.ts";
import { startThrough } from "../calls/layered.ts";
import type { Store } from "../store.ts";
import { checkRequestId } from "./enqueue.ts";
import { enqueueKey } from "./enqueue-key.ts";
import {
  checkEnqueueOptions,
  checkJob,
  checkJobInput,
  ENQUEUE_OPTIONS,
  idsOf,
  jobMaker,
  type AnyJob,
  type EnqueueOptions,
  type JobMaker,
} from "./job-item.ts";

/** Options of `client.enqueueMany` for all its jobs. */
export interface EnqueueManyOptions extends Pick<
  EnqueueOptions,
  "key" | "delay" | "at" | "priority" | "attributes" | "context" | "tx"
> {
  /** A repeated call with the same request id and the same items enqueues only what is missing. */
  readonly requestId?: string;
}
/** Options of one item of `client.enqueueMany`. */
export type EnqueueItemOptions = Omit<EnqueueOptions, "requestId" | "requestDigest" | "tx">;

const MANY_OPTIONS: Members<EnqueueManyOptions> = {
  key: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  context: true,
  requestId: true,
  tx: true,
};

const NOT_OF_ITEMS = ["requestId", "requestDigest", "tx"];

/** Returns the ids of the instances that run for the items, in order. Passes the middleware, if there is any, once. */
export async function enqueueMany(
  store: Store,
  target: AnyJob,
  items: Iterable<unknown>,
  options: EnqueueManyOptions,
): Promise<readonly string[]> {
  const { start: layers } = store.layers;
  if (layers === null) return enqueueInside(store, target, items, options);
  checkMembers(options, MANY_OPTIONS, "client.enqueueMany");
  const name = checkJob(target, "client.enqueueMany");
  const input = [...listOf(items, "client.enqueueMany")]; // each layer can read a list
  const go = (list: unknown, others: EnqueueManyOptions) =>
    enqueueInside(store, target, listOf(list, "client.enqueueMany"), others);
  return startThrough(layers, { kind: "enqueueMany", name, input, options }, go, (ids) => ids);
}

async function enqueueInside(
  store: Store,
  target: AnyJob,
  items: Iterable<unknown>,
  options: EnqueueManyOptions,
): Promise<readonly string[]> {
  checkMembers(options, MANY_OPTIONS, "client.enqueueMany");
  const name = checkJob(target, "client.enqueueMany");
  const { requestId, tx, ...common } = options;
  const makeIds = bulkIds(store, ["jobs", "runs"], name, requestId);
  const checker = new ItemChecker(store, target, common);
  const checked: CheckedItem[] = [];
  for (const item of listOf(items, "client.enqueueMany")) {
    try {
      const made = await checker.check(item);
      checkRequestId({ requestId }, made.key, `job "${name}"`);
      checked.push(made);
    } catch (error) {
      throw ofItem(error, checked.length);
    }
  }
  const make = ({ make, input, id, key }: CheckedItem, index: number) => {
    const start = make(input, id === null ? makeIds(index) : idsOf(store, "", { id }));
    return key === null ? start : ({ kind: "enqueue", start, key } as const);
  };
  if (tx !== undefined)
    return writeWithin(store, checked, make, { tx, what: "client.enqueueMany" });
  const mayOverlap = checked.every(({ id, key }) => id === null && key === null);
  return writeChunks(store, checked, make, { mayOverlap });
}

/** An item that was checked, with the parts of its start. */
interface CheckedItem {
  readonly make: JobMaker;
  readonly input: string;
  readonly id: string | null;
  readonly key: EnqueueKey | null;
}

class ItemChecker {
  readonly #store: Store;
  readonly #target: AnyJob;
  readonly #common: EnqueueItemOptions;
  readonly #hasSchema: boolean;
  /** For all items without options. */
  #make: JobMaker | null = null;

  constructor(store: Store, target: AnyJob, common: EnqueueItemOptions) {
    this.#store = store;
    this.#target = target;
    this.#common = common;
    this.#hasSchema = typeof target !== "string" && target.defaults.input !== undefined;
  }

  /** A promise only if the input has a schema. */
  check(item: unknown): CheckedItem | Promise<CheckedItem> {
    const { input, own } = partsOf(item);
    if (!this.#hasSchema) return this.#checked(input, own);
    return checkJobInput(this.#target, input).then(() => this.#checked(input, own));
  }

  #checked(input: unknown, own: EnqueueItemOptions | null): CheckedItem {
    const store = this.#store;
    if (own === null) {
      const make = (this.#make ??= jobMaker(store, this.#target, this.#common));
      return { make, input: store.codec.encode(input), id: null, key: null };
    }
    const context = contextOf(this.#common.context, own.context, "an item of client.enqueueMany");
    const options = { ...this.#common, ...own, ...defined({ context }) };
    checkEnqueueOptions(options, "an item of client.enqueueMany");
    const make = jobMaker(store, this.#target, options);
    const id = options.id === undefined ? null : parseInstanceId(options.id);
    const key = enqueueKey(options, `job "${checkJob(this.#target, "client.enqueueMany")}"`);
    return { make, input: store.codec.encode(input), id, key };
  }
}

/**
 * An item is an input, or `{ input, …options }`: an object that has the member `input` and otherwise only options of
 * enqueue.
 */
function partsOf(item: unknown): {
  readonly input: unknown;
  readonly own: EnqueueItemOptions | null;
} {
  if (typeof item !== "object" || item === null || !Object.hasOwn(item, "input")) {
    return { input: item, own: null };
  }
  const { input, ...own } = item as { readonly input: unknown } & EnqueueItemOptions;
  if (!Object.keys(own).every(isItemOption)) {
    return { input: item, own: null };
  }
  return { input, own };
}

function isItemOption(name: string): boolean {
  return Object.hasOwn(ENQUEUE_OPTIONS, name) && !NOT_OF_ITEMS.includes(name);
}
