// Starts many instances of one orchestration, in chunks (start-chunks.ts).

import { checkMembers, invalidArgument, type Members } from "../../core/checks.ts";
import type { Orchestration } from "../../core/define/definitions.ts";
import { showValue } from "../../core/ids/ids.ts";
import type { StartItem } from "../../core/provider/commit.ts";
import { defined } from "../../core/values/defined.ts";
import { startThrough } from "../calls/layered.ts";
import { checkStart, startItem, type StartOptions } from "../start-item.ts";
import type { Store } from "../store.ts";
import { bulkIds, contextOf, listOf, ofItem, writeChunks, writeWithin } from "./start-chunks.ts";

/** Options of `client.startMany` for all its instances. */
export interface StartManyOptions extends Pick<
  StartOptions,
  "version" | "delay" | "at" | "priority" | "attributes" | "context" | "tx"
> {
  /** A repeated call with the same request id and the same items starts only what is missing. */
  readonly requestId?: string;
}
/** One instance of `client.startMany`: its input, and options that only it has. */
export interface StartManyItem<Input> extends Pick<
  StartOptions,
  "id" | "delay" | "at" | "priority" | "attributes" | "context" | "events"
> {
  readonly input: Input;
}

const OPTIONS: Members<StartManyOptions> = {
  version: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  context: true,
  requestId: true,
  tx: true,
};
const ITEM: Members<StartManyItem<unknown>> = {
  input: true,
  id: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  context: true,
  events: true,
};

const WHAT = "client.startMany";

/** Returns the ids of the instances, in order. Passes the middleware, if there is any, once. */
export async function startMany(
  store: Store,
  target: Orchestration<never, unknown> | string,
  items: Iterable<unknown>,
  options: StartManyOptions,
): Promise<readonly string[]> {
  const { start: layers } = store.layers;
  if (layers === null) return startInside(store, target, items, options);
  checkMembers(options, OPTIONS, WHAT);
  const name = checkStart(target, {});
  const input = [...listOf(items, WHAT)]; // each layer can read a list
  const go = (list: unknown, others: StartManyOptions) =>
    startInside(store, target, listOf(list, WHAT), others);
  return startThrough(layers, { kind: "startMany", name, input, options }, go, (ids) => ids);
}

async function startInside(
  store: Store,
  target: Orchestration<never, unknown> | string,
  items: Iterable<unknown>,
  options: StartManyOptions,
): Promise<readonly string[]> {
  checkMembers(options, OPTIONS, WHAT);
  const { requestId, tx, ...common } = options;
  const name = typeof target === "string" ? target : String(target?.name);
  const makeIds = bulkIds(store, ["instances", "instance runs"], name, requestId);
  const starts: StartItem[] = [];
  let mayOverlap = true;
  for (const item of listOf(items, WHAT)) {
    try {
      const { input, ...own } = partsOf(item);
      const ids = makeIds(starts.length);
      const context = contextOf(common.context, own.context, `an item of ${WHAT}`);
      const each = { ...common, ...own, ...defined({ context }) };
      mayOverlap &&= each.id === undefined;
      starts.push(await startItem(store, target, input, each, ids));
    } catch (error) {
      throw ofItem(error, starts.length);
    }
  }
  const made = (start: StartItem): StartItem => start;
  if (tx !== undefined) return writeWithin(store, starts, made, { tx, what: WHAT });
  return writeChunks(store, starts, made, { mayOverlap });
}

function partsOf(item: unknown): StartManyItem<unknown> {
  if (typeof item !== "object" || item === null || Array.isArray(item) || !("input" in item)) {
    throw invalidArgument(`must be { input, …options }; got ${showValue(item)}.`);
  }
  checkMembers(item as StartManyItem<unknown>, ITEM, `an item of ${WHAT}`);
  return item as StartManyItem<unknown>; // its options are checked by startItem
}
