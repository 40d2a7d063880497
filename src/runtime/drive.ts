// A drive: works off what is due and stops, for a process that does not run all the time (docs/serverless.md).
//   It is the engine of a worker (lifecycle.ts) with other rules for its start and its end.
//
//   look ──nothing due──▶ sweep, if it is time ─────────────────────────────────▶ result
//     └──due──▶ start the loops ──▶ work until nothing is due, or the time is over ──▶ stop ──▶ look ──▶ result
//
//   - A drive that finds nothing costs one `nextDue`. It does not register, and writes nothing, except for a sweep and
//     the removal of rows that dead runtimes left.
//   - drive.1: It has no liveness thread. All its leases end by themselves, and the main loop renews them. If the process is
//     frozen, another process takes the work over when the leases end; what the frozen process writes after that is refused,
//     because each write names the token of its lease (I2).
//   - At the end of its time it begins nothing more. Running work has `cancelGraceMs` to end. The rest is handed back,
//     which does not count as an attempt. The removal of its row frees every lease.
//   - drive.2: It waits for work that comes due within WAIT_MS, if its time suffices. A new invocation would cost more.
//   - All drives of a runtime have one id. An instance that was blocked under it is not tried again by each drive.
//   - drive.3: If something is due, and the drive gets none of it, FRUITLESS_MAX times in a row, it stops. If it has done
//     nothing at all, `nextAt` is RETRY_MS later, so that the caller does not call it in a loop.
//   - drive.4: A dead worker leaves leases without an end. A drive waits until it may expire that worker (liveness.1).
//   - drive.5: Retention is swept at most once per SWEEP_MS and runtime, while there is time. Definitions are opened by
//     the first drive.

import { checkInteger, checkMembers } from "../core/checks.ts";
import type { DriveOptions, DriveResult } from "../core/define/drive.ts";
import type { NextDue } from "../core/provider/runtimes.ts";
import type { RuntimeContext } from "./context.ts";
import type { Lifecycle } from "./lifecycle.ts";

const MAX_MS = 25_000;
const WAIT_MS = 1_000;
const FRUITLESS_MAX = 3;
const FRUITLESS_PAUSE_MS = 50;
const RETRY_MS = 1_000;
const SWEEP_MS = 60_000;
/**
 * The pauses between two looks at the loops while something runs. They grow while nothing new begins, so that a drive ends at
 * most a fifth later than its work, and a long activity costs little.
 */
const PAUSE_MIN_MS = 1;
const PAUSE_GROWTH = 1.25;
/** The longest pause: while something runs, after an error of the store, and between two looks at dead workers. */
const LOOK_MS = 250;

/** What a runtime remembers between its drives. */
export interface DriveMemory {
  /** By the monotonic clock. */
  sweptAt: number;
  /** Whether the definitions were opened. */
  hasOpened: boolean;
  /** Whether the last drive may have left its row, because the store failed. */
  isRowLeft: boolean;
}
export const NOTHING_REMEMBERED: DriveMemory = {
  sweptAt: -Infinity,
  hasOpened: false,
  isRowLeft: false,
};

/** Checks the options and returns `maxMs`. */
export function checkDrive(options: DriveOptions): number {
  checkMembers(options, { maxMs: true }, "drive");
  checkInteger(options.maxMs, 1, "maxMs");
  return options.maxMs ?? MAX_MS;
}

export class Drive {
  readonly lifecycle: Lifecycle;
  readonly #context: RuntimeContext;
  readonly #memory: DriveMemory;
  readonly #over = Promise.withResolvers<void>();
  /** When its time is over, by the monotonic clock. */
  #until: number;
  #graceMs: number;
  #isOver = false;
  #endPause = (): void => undefined;

  constructor(lifecycle: Lifecycle, memory: DriveMemory, maxMs: number) {
    this.lifecycle = lifecycle;
    this.#context = lifecycle.context;
    this.#memory = memory;
    this.#until = this.#context.monotonic() + maxMs;
    this.#graceMs = this.#context.options.cancelGraceMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with the error of the store if the store cannot be read at the begin or at the end. */
  async run(): Promise<DriveResult> {
    try {
      await this.#prepare();
      const next = await this.#look();
      const isOrphaned = await this.#isOrphaned(next);
      if (this.#isSoon(next) || isOrphaned) return await this.#drive(next, isOrphaned);
      await this.#context.liveness.reap(next.runtimes); // rows of drives that died, without leases
      if (this.#mustSweep(next)) await this.#sweep();
      return this.#result(next, false);
    } finally {
      this.#isOver = true;
      this.#over.resolve();
    }
  }

  /** Ends the drive early. Resolves when it is over. */
  async stop(graceMs: number): Promise<void> {
    this.#until = -Infinity;
    this.#graceMs = Math.min(this.#graceMs, graceMs);
    this.#endPause();
    await this.#over.promise;
  }

  async #prepare(): Promise<void> {
    const { provider, id } = this.#context;
    if (this.#memory.isRowLeft) {
      await provider.removeRuntime(id);
      this.#memory.isRowLeft = false;
    }
    if (this.#memory.hasOpened) return;
    await this.lifecycle.openDefinitions();
    this.#memory.hasOpened = true;
  }

  async #drive(found: NextDue, isOrphaned: boolean): Promise<DriveResult> {
    let orphaned = isOrphaned;
    try {
      await this.lifecycle.start();
      if (this.#mustSweep(found)) this.#beginSweep();
      orphaned = await this.#work(isOrphaned);
    } finally {
      await this.lifecycle.shutdown(this.#graceMs);
      this.#memory.isRowLeft = !this.lifecycle.isRowRemoved;
    }
    const next = await this.#look();
    return this.#result(next, orphaned && (await this.#isOrphaned(next)));
  }

  /** Returns whether a dead worker may still hold work. */
  async #work(isOrphaned: boolean): Promise<boolean> {
    const { intake, retention, storeOutage, onStoreError, monotonic } = this.#context;
    let orphaned = isOrphaned;
    let pauseMs = PAUSE_MIN_MS;
    let done = this.#done;
    for (let fruitless = 0; this.#hasTime && fruitless < FRUITLESS_MAX;) {
      retention.tick(monotonic());
      if (!this.#isQuiet) {
        const before = this.#done;
        await this.#pause(pauseMs);
        pauseMs = before === this.#done ? Math.min(pauseMs * PAUSE_GROWTH, LOOK_MS) : PAUSE_MIN_MS;
        continue;
      }
      pauseMs = PAUSE_MIN_MS;
      try {
        const next = await this.#look();
        storeOutage.answered();
        if (done !== this.#done) fruitless = 0;
        const hasBegun = !this.#isQuiet || done !== this.#done;
        done = this.#done;
        if (hasBegun) continue; // work that this look may not have seen
        orphaned &&= await this.#isOrphaned(next);
        if (!orphaned && !this.#isSoon(next)) return false;
        const waitMs = next.at === null ? LOOK_MS : next.at - next.now;
        if (waitMs > 0) await this.#pause(Math.min(waitMs, LOOK_MS));
        else {
          fruitless++;
          intake.wake();
          await this.#pause(FRUITLESS_PAUSE_MS);
        }
      } catch (error) {
        onStoreError(error);
        await this.#pause(LOOK_MS);
      }
    }
    return orphaned;
  }

  get #hasTime(): boolean {
    return this.#context.isRunning && this.#context.monotonic() < this.#until;
  }

  /** Whether no work runs, no request for work is in flight, and no sweep runs. */
  get #isQuiet(): boolean {
    const { attempts, activities, instances, intake, retention, keptExpiry } = this.#context;
    const isWorking = !attempts.isQuiet || !instances.isQuiet || activities.claims.length > 0;
    return !isWorking && intake.isIdle && !retention.isBusy && !keptExpiry.isBusy;
  }

  /** Grows with all work that the drive does. */
  get #done(): number {
    const { stats, activities, steps } = this.#context;
    return stats.turns + activities.stats.started + steps.started;
  }

  #look(): Promise<NextDue> {
    const { provider, id: owner, registry, options, sessions } = this.#context;
    const { targets, codes, activityNames: names } = registry;
    const takesSessions = options.maxSessionsPerRuntime > 0;
    const sessionOwner = takesSessions ? sessions.owner : null;
    return provider.nextDue({ owner, targets, codes, names, tags: options.tags, sessionOwner });
  }

  /** drive.2 */
  #isSoon({ at, now }: NextDue): boolean {
    if (at === null) return false;
    const waitMs = at - now;
    return waitMs <= WAIT_MS && this.#context.monotonic() + waitMs < this.#until;
  }

  /** drive.4: whether a runtime that seems dead holds work. */
  async #isOrphaned({ runtimes, now }: NextDue): Promise<boolean> {
    const { provider, liveness } = this.#context;
    for (const other of runtimes) {
      if (!liveness.seemsDead(other, now)) continue;
      const { instances, tasks } = await provider.readLeases(other.id);
      if (instances.length + tasks.length > 0) return true;
    }
    return false;
  }

  /** drive.5 */
  #mustSweep({ hasExpired }: NextDue): boolean {
    const { retention, monotonic } = this.#context;
    if (monotonic() - this.#memory.sweptAt < SWEEP_MS) return false;
    return hasExpired || retention.hasRule;
  }

  #beginSweep(): void {
    const { retention, keptExpiry, monotonic } = this.#context;
    this.#memory.sweptAt = monotonic();
    retention.sweepNow(monotonic());
    keptExpiry.tick(monotonic());
  }

  /** Sweeps without the loops. */
  async #sweep(): Promise<void> {
    const { retention, keptExpiry, monotonic } = this.#context;
    this.#beginSweep();
    while (retention.isBusy || keptExpiry.isBusy) {
      if (monotonic() >= this.#until) retention.stop();
      await this.#pause(PAUSE_MIN_MS);
    }
  }

  #result({ at, now }: NextDue, isOrphaned: boolean): DriveResult {
    const { stats, activities, steps } = this.#context;
    const isLeft = isOrphaned || (at !== null && at <= now);
    const isFruitless = isLeft && this.#done === 0 && this.lifecycle.context.state === "stopped";
    const leftAt = isFruitless ? now + RETRY_MS : now; // drive.3
    return {
      turns: stats.turns,
      attempts: activities.stats.started + steps.started,
      idle: !isLeft,
      nextAt: isLeft ? new Date(leftAt) : at === null ? null : new Date(at),
    };
  }

  /** Ends at the end of the drive's time at the latest. */
  #pause(ms: number): Promise<void> {
    const { environment, monotonic } = this.#context;
    const leftMs = Math.max(this.#until - monotonic(), PAUSE_MIN_MS);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#endPause = resolve;
    environment.setTimer(Math.min(ms, leftMs), resolve);
    return promise;
  }
}
