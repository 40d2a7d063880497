// Asks: waits for the answers to requests.
//   - ask-answers.1: All asks of one instance share one wait. A change of the instance causes one read for all of them,
//        and none if this process commits the answers itself (core/commit/local-answers.ts).
//   - The wait subscribes before the request is sent, so that no answer is missed.
//   - A timeout ends the wait only. The request stays sent; asking again with its id returns the answer.

import { ChurningMap } from "../../core/collections/churning-map.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { fromFailure, openFailure } from "../../core/errors/failure.ts";
import { RequestError } from "../../core/errors/request-error.ts";
import type { Answer, AskItem, AskRecord } from "../../core/provider/asks.ts";
import { askOutcomeOf } from "../../core/telemetry/ask-outcome.ts";
import type { AskOutcome, AskSpan } from "../../core/telemetry/telemetry.ts";
import type { Codec } from "../../core/values/codec.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { Changes } from "../changes.ts";
import { reasonNow } from "../inspect/stuck.ts";
import { notFound, refusedAsk, refusedWrite, type Store } from "../store.ts";
import { timeoutError } from "../waiting.ts";

/** How many request ids one read names. */
const READ_MAX = 500;

/** How long an ask waits. */
export interface AskWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The name of the request, for messages. */
  readonly request: string;
}

/** Sends the request and waits for its answer, inside a telemetry span. */
export async function askAndWait(store: Store, item: AskItem, wait: AskWait): Promise<unknown> {
  const { telemetry } = store;
  if (telemetry?.ask === undefined) return sendAndWait(store, item, wait);
  const { environment } = store.provider;
  const span: AskSpan = { request: wait.request, instanceId: item.id };
  const from = environment.monotonic();
  const over = (outcome: AskOutcome): void =>
    telemetry.askOver?.(span, outcome, environment.monotonic() - from);
  try {
    const answer = await telemetry.ask(span, () => sendAndWait(store, item, wait));
    over("answered");
    return answer;
  } catch (error) {
    over(askOutcomeOf(error));
    throw error;
  }
}

async function sendAndWait(store: Store, item: AskItem, wait: AskWait): Promise<unknown> {
  const { environment } = store.provider;
  const until = environment.monotonic() + wait.timeoutMs;
  wait.signal?.throwIfAborted();
  const instance = AskedInstance.of(store, item.id);
  const leave = instance.join();
  const seen = instance.changes;
  try {
    const result = await store.committer.submit(item);
    if (result.kind === "refused") throw refusedAsk(result.code, item.id);
    const answer =
      result.answer ??
      (await instance.answerTo(item.requestId, result.key, { until, seen, signal: wait.signal }));
    if (answer !== null) return valueOf(answer, item.id, wait.request, store.codec);
  } finally {
    leave();
  }
  const within = formatDuration(wait.timeoutMs);
  const what = `Instance "${item.id}" did not answer request "${wait.request}" within ${within}`;
  throw timeoutError(what, await reasonNow(store, item.id, { brief: false }));
}

function valueOf(text: string, instanceId: string, request: string, codec: Codec): unknown {
  const answer = JSON.parse(text) as Answer; // the engine wrote it
  if ("output" in answer) return codec.decode(answer.output);
  const failure = openFailure(answer.failure, codec);
  const cause = fromFailure(failure, codec);
  throw new RequestError({ kind: answer.outcome, instanceId, request, failure, cause });
}

interface Waiter {
  readonly requestId: string;
  /** The store's number of the instance that was asked. */
  readonly key: number;
  readonly resolve: (answer: string | null) => void;
  readonly reject: (reason: unknown) => void;
}

/** The waiting asks of one instance (ask-answers.1). */
class AskedInstance {
  static readonly #instances = new WeakMap<object, ChurningMap<string, AskedInstance>>();

  static of(store: Store, id: string): AskedInstance {
    const { provider } = store;
    let instances = this.#instances.get(provider);
    if (instances === undefined) this.#instances.set(provider, (instances = new ChurningMap()));
    let instance = instances.get(id);
    if (instance === undefined) {
      instances.set(id, (instance = new AskedInstance(store, id, instances)));
    }
    return instance;
  }

  readonly #store: Store;
  readonly #id: string;
  readonly #all: ChurningMap<string, AskedInstance>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #members = 0;
  #unwatch: (() => void) | null = null;
  #local: { readonly key: number; readonly unwatch: () => void } | null = null;
  /** Counts the changes of the instance that need a read. */
  changes = 0;
  #isReading = false;

  private constructor(store: Store, id: string, all: ChurningMap<string, AskedInstance>) {
    this.#store = store;
    this.#id = id;
    this.#all = all;
  }

  join(): () => void {
    this.#members++;
    this.#unwatch ??= Changes.of(this.#store.provider).watch(this.#id, () => this.#changed());
    return () => {
      if (--this.#members > 0) return;
      this.#unwatch?.();
      this.#unwatch = null;
      this.#local?.unwatch();
      this.#local = null;
      if (this.#all.get(this.#id) === this) this.#all.delete(this.#id);
    };
  }

  /** Null: the time is over. `seen`: the changes before the request was written. */
  answerTo(
    requestId: string,
    key: number,
    {
      until,
      seen,
      signal,
    }: { readonly until: number; readonly seen: number; readonly signal: AbortSignal | undefined },
  ): Promise<string | null> {
    const { environment } = this.#store.provider;
    const leftMs = until - environment.monotonic();
    if (leftMs <= 0) return Promise.resolve(null);
    this.#watchLocal(key);
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    const waiter: Waiter = { requestId, key, resolve, reject };
    const waiters = this.#waiters.get(requestId) ?? new Set();
    this.#waiters.set(requestId, waiters.add(waiter));
    const timer =
      leftMs === Infinity
        ? null
        : environment.setTimer(Math.min(leftMs, 2 ** 31 - 1), () => resolve(null));
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    // A change may have come while the request was written.
    if (this.changes !== seen) this.#read();
    return promise.finally(() => {
      timer?.cancel();
      signal?.removeEventListener("abort", abort);
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiters.get(requestId) === waiters) {
        this.#waiters.delete(requestId);
      }
    });
  }

  #watchLocal(key: number): void {
    if (this.#local?.key === key) return;
    this.#local?.unwatch();
    const unwatch = this.#store.committer.watchAnswers(key, (answers) => {
      for (const { requestId, answer } of answers) this.#settle(requestId, key, answer);
    });
    this.#local = { key, unwatch };
  }

  #changed(): void {
    // The store reports a commit before the committer does. The answers follow, without a read.
    if (this.#local !== null && this.#store.committer.isAnswering(this.#local.key)) return;
    this.changes++;
    this.#read();
  }

  #read(): void {
    if (this.#isReading || this.#waiters.size === 0) return;
    this.#isReading = true;
    const seen = this.changes;
    void this.#readAll()
      .catch((error: unknown) => {
        for (const waiters of this.#waiters.values()) {
          for (const { reject } of waiters) reject(error);
        }
      })
      .finally(() => {
        this.#isReading = false;
        if (this.changes !== seen) this.#read();
      });
  }

  async #readAll(): Promise<void> {
    const ids = [...this.#waiters.keys()];
    for (let from = 0; from < ids.length; from += READ_MAX) {
      const part = ids.slice(from, from + READ_MAX);
      const found = await this.#store.read((provider) => provider.readAsks(this.#id, part));
      const records = new Map(found?.asks.map((record) => [record.requestId, record]));
      for (const id of part) this.#known(id, found?.key ?? null, records.get(id));
    }
  }

  /** `key`: of the instance that has the id now; null: there is none. */
  #known(requestId: string, key: number | null, record: AskRecord | undefined): void {
    for (const waiter of this.#waiters.get(requestId) ?? []) {
      if (waiter.key !== key || record === undefined) waiter.reject(notFound(this.#id));
      else if (record.damaged === true) waiter.reject(damagedAnswer(this.#id, requestId));
      else if (record.state === "answered") waiter.resolve(record.answer);
      else if (record.state === "finished") {
        waiter.reject(refusedWrite("INSTANCE_FINISHED", this.#id));
      }
    }
  }

  #settle(requestId: string, key: number, answer: string): void {
    for (const waiter of this.#waiters.get(requestId) ?? []) {
      if (waiter.key === key) waiter.resolve(answer);
    }
  }
}

function damagedAnswer(id: string, requestId: string): PerdureError {
  const message = `The stored answer to request "${requestId}" of instance "${id}" is corrupt: its checksum does not match.`;
  return new PerdureError("HISTORY_CORRUPT", message);
}
