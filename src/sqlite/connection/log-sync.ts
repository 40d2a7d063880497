// Log sync: puts commits on disk. SQLite's COMMIT writes the log (-wal) and does not wait for the disk; this
// object syncs the log, mostly while the event loop does something else (docs/decisions/0037).
//   - log-sync.1: A write is acknowledged after a sync that began after its COMMIT returned. All writes that
//       wait share the next sync.
//   - log-sync.2: A failed sync is final. The host may have discarded what it could not write, and a second
//       sync would then succeed without it. Every later call of the store throws.
//   - log-sync.3: A small write that finds no sync in flight is synced on the event loop if the disk is fast:
//       that has the lowest latency. A single slow sync moves the next ones off the event loop.
//   - log-sync.4: The host syncs on its thread pool, which other work of the process can fill. If a sync does
//       not return in time, the event loop syncs instead, until the pool has returned it.
//   - On virtual time every sync happens on the event loop, because a test cannot wait for the host.

import { closeSync, openSync } from "node:fs";
import { errorMessage } from "../../core/errors/errors.ts";
import { StoreLostError } from "../../core/provider/store-lost.ts";
import type { Environment } from "../../core/time/environment.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { disk } from "./disk.ts";

/** A disk is fast if its syncs take less than this on average. */
const FAST_MS = 1;
/** The weight of the newest sync in the average. */
const WEIGHT = 0.25;
/** How long a sync of the thread pool may take: at least this, and this many times the average (log-sync.4). */
const PATIENCE_MS = 50;
const PATIENCE_TIMES = 20;

export class LogSync {
  readonly #path: string;
  readonly #environment: Environment;
  readonly #descriptor: number;
  #averageMs: number | null = null;
  /** The sync in flight, for the writes that were committed before it began. */
  #current: PromiseWithResolvers<void> | null = null;
  /** The sync after it. */
  #next: PromiseWithResolvers<void> | null = null;
  /** Whether the thread pool still has a sync that the event loop has overtaken (log-sync.4). */
  #isOvertaken = false;
  #lost: StoreLostError | null = null;
  #isClosed = false;

  /** Expects the database at that path to be open in WAL mode. */
  constructor(path: string, environment: Environment) {
    this.#path = `${path}-wal`;
    this.#environment = environment;
    // The log has no POSIX locks, so closing this descriptor releases no lock of SQLite.
    this.#descriptor = openSync(this.#path, "r+");
  }

  /** Throws if a sync has failed (log-sync.2). */
  assert(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  /**
   * To be called right after a COMMIT, or after a read of commits of other connections. Null: everything
   * committed so far is on disk. Otherwise the promise resolves when it is (log-sync.1).
   */
  commit(isSmall: boolean): Promise<void> | null {
    this.assert();
    if (this.#current === null && (this.#mustBlock || (isSmall && this.#isFast))) {
      this.#syncNow();
      return null;
    }
    this.#next ??= waiting();
    const { promise } = this.#next;
    if (this.#current === null) this.#begin();
    return promise;
  }

  /** Null: all commits of this process are on disk. Otherwise the promise resolves when they are. */
  pending(): Promise<void> | null {
    this.assert();
    return (this.#next ?? this.#current)?.promise ?? null;
  }

  /** Closes the descriptor, after the sync in flight. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closeIfIdle();
  }

  get #mustBlock(): boolean {
    return this.#isOvertaken || this.#environment !== systemEnvironment;
  }

  get #isFast(): boolean {
    return (this.#averageMs ?? 0) < FAST_MS;
  }

  #syncNow(): void {
    const began = this.#environment.monotonic();
    try {
      disk.sync(this.#descriptor);
    } catch (error) {
      throw this.#fail(error);
    }
    this.#measured(this.#environment.monotonic() - began);
  }

  #begin(): void {
    const current = this.#next;
    if (current === null) return;
    this.#current = current;
    this.#next = null;
    const began = this.#environment.monotonic();
    const patienceMs = Math.max(PATIENCE_MS, PATIENCE_TIMES * (this.#averageMs ?? 0));
    const timer = this.#environment.setTimer(patienceMs, () => {
      // If the event loop was busy, the pool's answer may be waiting. It comes before the next macrotask.
      this.#environment.immediate(() => {
        if (this.#current === current) this.#overtake();
      });
    });
    disk.startSync(this.#descriptor, (error) => {
      timer.cancel();
      this.#isOvertaken = false;
      if (error !== null) this.#fail(error);
      else if (this.#current === current) {
        this.#measured(this.#environment.monotonic() - began);
        this.#synced();
      }
      this.#closeIfIdle();
    });
  }

  /** log-sync.4 */
  #overtake(): void {
    this.#isOvertaken = true;
    try {
      this.#syncNow();
    } catch {
      return; // `#syncNow` has rejected all that wait
    }
    const next = this.#next;
    this.#next = null;
    this.#synced();
    next?.resolve();
  }

  #synced(): void {
    this.#current?.resolve();
    this.#current = null;
    this.#begin();
  }

  #measured(tookMs: number): void {
    const averageMs = this.#averageMs ?? tookMs;
    this.#averageMs = averageMs + (tookMs - averageMs) * WEIGHT;
  }

  /** log-sync.2 */
  #fail(cause: unknown): StoreLostError {
    const message = `${this.#path} could not be synced to disk (${errorMessage(cause)}). Which of the last commits are on disk is unknown, so this process no longer uses the store. Check the disk, stop every process that uses the store, and start them again.`;
    const lost = (this.#lost ??= new StoreLostError(message));
    for (const waiting of [this.#current, this.#next]) waiting?.reject(lost);
    this.#current = null;
    this.#next = null;
    return lost;
  }

  #closeIfIdle(): void {
    if (!this.#isClosed || this.#current !== null || this.#isOvertaken) return;
    closeSync(this.#descriptor);
  }
}

function waiting(): PromiseWithResolvers<void> {
  const waiting = Promise.withResolvers<void>();
  waiting.promise.catch(() => {}); // the caller may have failed meanwhile for another reason
  return waiting;
}
