// The gatherer of a batch job in one runtime: it forms batches from the attempts that run there.
//   - gatherer.1: A batch is complete when it has `max` items, `waitMs` after its first item arrived, or when the runtime
//     shuts down. A shutdown does not lose what waits: the handler gets the grace period.
//   - gatherer.2: Two runtimes in one process never share a batch, because each may stop or lose its leases alone.

import { servicesOf, type ActivityServices } from "../core/attempts/attempt-context.ts";
import type { ActivityContext } from "../core/context/activity-context.ts";
import { makeLogger } from "../core/telemetry/log.ts";
import type { TimerHandle } from "../core/time/environment.ts";
import { Batch, Entry, LEADS } from "./batch.ts";
import { outcomesOf } from "./outcomes.ts";
import type { BatchContext, BatchOutcome } from "./types.ts";

/** A batch job, checked. */
export interface BatchPlan<Item> {
  readonly name: string;
  readonly max: number;
  readonly waitMs: number;
  /** Null: the job has no `key`. May throw. */
  readonly keyOf: ((item: Item) => string) | null;
  readonly handler: (items: Item[], ctx: BatchContext) => unknown;
}

/** The gatherers of a batch job, one per runtime (gatherer.2). */
export class Gatherers<Item> {
  readonly #plan: BatchPlan<Item>;
  readonly #byHost = new WeakMap<object, Gatherer<Item>>();

  constructor(plan: BatchPlan<Item>) {
    this.#plan = plan;
  }

  /** Runs one attempt of one item. */
  async run(item: Item, context: ActivityContext): Promise<unknown> {
    const services = servicesOf(context);
    const { host } = services;
    let gatherer = this.#byHost.get(host);
    if (gatherer === undefined) {
      gatherer = new Gatherer(this.#plan, services);
      this.#byHost.set(host, gatherer);
    }
    const outcome = await gatherer.run(item, context);
    // The error is whatever the handler threw or returned; the runtime turns it into a failure.
    return "error" in outcome ? Promise.reject(outcome.error) : outcome.ok;
  }
}

class Gatherer<Item> {
  readonly #plan: BatchPlan<Item>;
  readonly #services: ActivityServices;
  /** By key: the batches that wait for more items, with their timers. */
  readonly #open = new Map<string, { readonly batch: Batch<Item>; timer: TimerHandle | null }>();

  constructor(plan: BatchPlan<Item>, services: ActivityServices) {
    this.#plan = plan;
    this.#services = services;
    services.host.stopping.addEventListener("abort", () => {
      for (const key of [...this.#open.keys()]) this.#close(key)?.complete();
    });
  }

  async run(item: Item, context: ActivityContext): Promise<BatchOutcome<unknown>> {
    const key = this.#plan.keyOf?.(item) ?? "";
    context.signal.throwIfAborted(); // a schema may have checked the item for long
    const entry = new Entry(item, context);
    const batch = this.#join(key, entry);
    const { environment } = this.#services.host;
    const turn = await (environment.idleWhile?.(entry.turn) ?? entry.turn);
    if (turn !== LEADS) return turn;
    await this.#call(batch);
    return entry.outcome;
  }

  /** gatherer.1 */
  #join(key: string, entry: Entry<Item>): Batch<Item> {
    const { max, waitMs } = this.#plan;
    const { environment, stopping } = this.#services.host;
    const open = this.#open.get(key) ?? this.#begin(key);
    const { batch } = open;
    batch.add(entry);
    if (batch.size >= max || stopping.aborted) this.#close(key)?.complete();
    else open.timer ??= environment.setTimer(waitMs, () => this.#close(key)?.complete());
    return batch;
  }

  #begin(key: string) {
    const batch: Batch<Item> = new Batch(key, () => {
      if (this.#open.get(key)?.batch === batch) this.#close(key);
    });
    const open = { batch, timer: null };
    this.#open.set(key, open);
    return open;
  }

  /** The batch of the key takes no more items. */
  #close(key: string): Batch<Item> | undefined {
    const open = this.#open.get(key);
    this.#open.delete(key);
    open?.timer?.cancel();
    return open?.batch;
  }

  /** Calls the handler with what is left of the batch, and settles its items. Never rejects. */
  async #call(batch: Batch<Item>): Promise<void> {
    const entries = batch.begin();
    if (entries.length === 0) return;
    try {
      const { name, handler } = this.#plan;
      const context = this.#contextOf(batch, entries);
      context.heartbeat(); // `heartbeatTimeout` counts again from here
      const returned = await handler(
        entries.map(({ item }) => item),
        context,
      );
      const outcomes = outcomesOf(returned, entries.length, `batch job "${name}"`);
      for (const [index, outcome] of outcomes.entries()) entries[index]?.settle(outcome);
    } catch (error) {
      for (const entry of entries) entry.settle({ error });
    }
  }

  #contextOf(batch: Batch<Item>, entries: readonly Entry<Item>[]): BatchContext {
    const { log, client, services } = this.#services;
    const { name, keyOf } = this.#plan;
    const items = entries.map(({ description }) => description);
    const worker = items[0]?.info.worker;
    const key = keyOf === null ? {} : { key: batch.key };
    return {
      signal: batch.signal,
      log: makeLogger(log, { activity: name, items: items.length, worker, ...key }),
      items,
      heartbeat: () => {
        for (const { context } of entries) context.heartbeat();
      },
      client,
      services,
    };
  }
}
