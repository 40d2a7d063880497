// Held instances: takes leased ones, runs their turns, commits them, lets them go.
//   What follows from a commit, and with it IN1 to IN3: turn-results.ts.
//   IN4. One turn of an instance is under way at a time, and what comes meanwhile waits for its commit.

import { inOrder } from "../core/inbox-delivery.ts";
import type { BlockReason } from "../core/block.ts";
import type { Committer } from "../core/committer.ts";
import { isPerdureError } from "../core/errors.ts";
import type { DeliveryBody } from "../core/history-events.ts";
import { quarantineAfter } from "../core/provider/blame.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import type { Message } from "../core/provider/messages.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import type { Run } from "../core/run.ts";
import { Blocker } from "./blocker.ts";
import { BirthLeases } from "./born-tasks.ts";
import type { Entries } from "./entries.ts";
import { holdInstance, type HeldInstance } from "./held-instance.ts";
import { Holding } from "./holding.ts";
import type { InstanceCache } from "./instance-cache.ts";
import { LimitWatch } from "./limit-watch.ts";
import { makeRun, type MakeRunOptions } from "./make-run.ts";
import type { Pump } from "./pump.ts";
import type { HistoryReader } from "./replay-check.ts";
import { Shadowing } from "./shadowing.ts";
import { shouldRelease } from "./release-rule.ts";
import type { SuspectSlot } from "./suspect-slot.ts";
import { turnItem } from "./turn-commit.ts";
import { TurnJob, type FinishedTurn } from "./turn-job.ts";
import { TurnResults, type TurnResultsOptions } from "./turn-results.ts";

export interface InstancesOptions extends TurnResultsOptions {
  readonly runtimeId: string;
  readonly committer: Committer;
  readonly pump: Pump;
  readonly entries: Pick<Entries, "add">;
  readonly readHistory: HistoryReader;
  /** What every run of this runtime is made with. */
  readonly runOptions: Pick<MakeRunOptions, "codec" | "guards" | "limits" | "readKeyValue">;
  readonly suspects: SuspectSlot;
  readonly mayLeaseAtBirth: () => boolean;
  /** Whether a lease is that of a start of this process whose answer is still on its way. */
  readonly isExpected: (token: number) => boolean;
  /** A turn's place became free. */
  readonly onFree: () => void;
}

export class Instances {
  readonly #o: InstancesOptions;
  readonly #holding: Holding;
  readonly #cache: InstanceCache;
  readonly #blocker: Blocker;
  readonly #limits: LimitWatch;
  readonly #results: TurnResults;
  #stopping = false;

  constructor(options: InstancesOptions) {
    this.#o = options;
    this.#holding = new Holding(options);
    this.#cache = this.#holding.cache;
    const newNumber = (): number => this.#number();
    this.#blocker = new Blocker({ ...options, holding: this.#holding, newNumber });
    const shadowing = new Shadowing({
      ...options,
      policy: options.options.shadowReplay,
      differs: (held, reason) => this.#differs(held, reason),
    });
    this.#limits = new LimitWatch(options.options.limits, options.options.log);
    this.#results = new TurnResults(options, {
      holding: this.#holding,
      blocker: this.#blocker,
      shadowing,
      limits: this.#limits,
      advance: (held) => this.advance(held),
    });
  }

  /** How instances are let go. */
  get holding(): Holding {
    return this.#holding;
  }
  /** Counts commits, so that a reader can tell what it read before one. */
  get stamp(): number {
    return this.#results.commits;
  }
  get size(): number {
    return this.#cache.size;
  }
  get leases(): readonly { key: number; token: number }[] {
    return this.#cache.all().map(({ key, token }) => ({ key, token }));
  }
  heldById(id: string): HeldInstance | undefined {
    return this.#cache.byId(id);
  }
  heldByKey(key: number): HeldInstance | undefined {
    return this.#cache.byKey(key);
  }

  /** Takes what a lease handed over: a new instance, or news for one that is held already. */
  take(leased: LeasedInstance, stamp = this.stamp): void {
    const known = this.#cache.byKey(leased.key);
    if (!leased.fresh) {
      if (known?.token === leased.token) return this.giveMessages(known, leased.messages, stamp);
      if (this.#o.isExpected(leased.token)) return;
      // Leased to us by a call whose answer was lost, or by one that the store remembers and we do not because it went
      // back: given back, so that it is leased again with its history.
      return this.#holding.release(leased);
    }
    // Its commit gave it back, or somebody took it over; the answer that says so is still on its way.
    if (known !== undefined) this.#holding.letGo(known);
    const definition = this.#o.registry.orchestration(leased.name, leased.version);
    if (definition === undefined || this.#stopping) return this.#holding.release(leased); // as AC4
    const held = holdInstance(leased, definition, this.#o.environment.monotonic());
    this.#cache.add(held);
    if (held.lastEvent === 0) this.#o.window.begins(held);
    if (held.suspect) this.#holding.enterSuspect(held);
    if (leased.suspicion >= quarantineAfter(leased.stepsOpen)) {
      return this.#blocker.quarantine(held, this.#o.registry.codeOf(definition));
    }
    this.advance(held);
  }

  /**
   * Due messages for an instance held here, read when the commit count was `stamp`. A busy one is told by its own
   * commit; what was read before its last commit may be consumed already.
   */
  giveMessages(held: HeldInstance, messages: readonly Message[], stamp: number): void {
    if (held.state !== "idle" || held.messages.length > 0 || messages.length === 0) return;
    if (held.stamp > stamp) return;
    held.messages = inOrder(messages);
    this.advance(held);
  }

  /** An activity of this runtime is over. False: the instance is not held here. */
  giveOutcome(task: LeasedTask, body: DeliveryBody): boolean {
    const held = this.#cache.byKey(task.key);
    if (held === undefined || held.execution !== task.execution) return false;
    held.outcomes.push({ task, body });
    this.advance(held);
    return true;
  }

  giveStepOutcome(held: HeldInstance, body: DeliveryBody): void {
    if (!this.#cache.has(held)) return;
    held.outcomes.push({ task: null, body });
    this.advance(held);
  }

  advance(held: HeldInstance): void {
    if (held.state !== "idle") return;
    if (held.run !== null && held.messages.length === 0 && held.outcomes.length === 0) return;
    this.#holding.setState(held, "turning");
    const refusal = this.#limits.refusal(held);
    if (refusal !== null) {
      return this.#blocker.block(held, { code: "LIMIT_EXCEEDED", message: refusal }, []);
    }
    // Decoding a history takes time: a batch of them gives the loop back in between.
    if (held.run === null && held.rows.length > 0) this.#o.entries.add(() => this.#begin(held));
    else this.#begin(held);
  }

  #begin(held: HeldInstance): void {
    if (!this.#cache.has(held)) return; // dropped meanwhile
    const run = held.run ?? this.#revive(held);
    if (run === null) return;
    held.run = run;
    this.#o.stats.turns++;
    const finish = (turn: FinishedTurn): void => this.#finish(turn);
    const { storeNow: now, options } = this.#o;
    this.#o.pump.add(new TurnJob({ held, run, now, finish, poison: options.poison }));
  }

  #revive(held: HeldInstance): Run | null {
    try {
      const run = makeRun(held, { ...this.#o.runOptions, onMisuse: this.#misused });
      this.#o.stats.replays += held.rows.length === 0 ? 0 : 1;
      held.rows = [];
      return run;
    } catch (error) {
      const message = isPerdureError(error) ? error.message : String(error);
      const code = isPerdureError(error, "KEY_MISSING") ? "KEY_MISSING" : "HISTORY_CORRUPT";
      this.#blocker.block(held, { code, message }, held.outcomes);
      return null;
    }
  }

  /** The context was used outside a turn: no turn may follow (architecture §7). */
  readonly #misused = (run: Run): void => {
    const held = this.#cache.byId(run.instanceId);
    if (held?.run !== run || held.state !== "idle" || run.blocked === null) {
      // Its lease is given back already; the next turn will find nothing open and say the same.
      this.#o.options.log("warn", run.blocked?.message ?? "", { instance: run.instanceId });
      return;
    }
    this.#holding.setState(held, "turning");
    this.#blocker.block(held, run.blocked, held.outcomes);
  };

  #finish(turn: FinishedTurn): void {
    const { held, run } = turn;
    if (!this.#cache.has(held)) return this.#holding.toInbox(turn.outcomes); // dropped meanwhile (IN2)
    if (turn.bug !== undefined) return this.#blocker.bug(turn);
    if (run.blocked !== null) return this.#blocker.turnBlocked(turn, run.blocked);
    if (!run.isOver) this.#passOn(turn);
    const { events, effects, logs } = run.takeTurn();
    if (events.length === 0 && turn.consumed.length === 0 && !turn.leftEvents) {
      this.#holding.setState(held, "idle");
      this.#o.steps.enterDue(held);
      this.#holding.letSuspectGo(held);
      // What came while a turn ran that had nothing to write has no commit to wait for.
      this.advance(held);
      if (held.called === true && held.state === "idle") {
        held.called = false;
        this.#o.onCalled(held.key);
      }
      return;
    }
    const { stickyCacheMax, stickyIdleMs } = this.#o.options;
    const soon = this.#o.storeNow() + stickyIdleMs;
    const release = shouldRelease(run, { stopping: this.#stopping, stickyCacheMax, soon });
    const births = this.#birthLeases();
    const item = turnItem(turn, events, effects, {
      commitId: this.#number(),
      cancelTimeoutMs: this.#o.options.cancelTimeoutMs,
      leaseFor: (task) => births.leaseFor(task.body),
      release,
    });
    held.state = "committing";
    held.called = false;
    this.#o.committer.submit(item).then(
      (result) => {
        if (result.kind === "committed") {
          this.#results.committed({ turn, item, events, logs, due: result.due });
        } else {
          births.takeBack();
          this.#results.refused(turn, item, result.code);
        }
      },
      (error: unknown) => {
        births.takeBack();
        this.#blocker.unwritable(turn, error);
      },
    );
  }

  /**
   * Outcomes of calls that this run does not have open. It cancelled them, and their tasks are gone; or somebody took
   * the instance over and made them, and will find them in the inbox (semantics 4a).
   */
  #passOn({ outcomes, delivered }: FinishedTurn): void {
    if (outcomes.length === delivered.length) return;
    this.#holding.toInbox(outcomes.filter((outcome) => !delivered.includes(outcome)));
  }

  #birthLeases(): BirthLeases {
    const { registry, activities, mayLeaseAtBirth, runtimeId, options } = this.#o;
    return new BirthLeases({
      owner: runtimeId,
      newToken: () => this.#number(),
      options,
      mayLease: () => !this.#stopping && mayLeaseAtBirth(),
      isRegistered: (name) => registry.activity(name) !== undefined,
      activities,
    });
  }

  /** A replay of what was committed does not agree with the live run. */
  #differs(held: HeldInstance, reason: BlockReason): void {
    if (!this.#cache.has(held)) return;
    if (held.state === "turning") held.difference = reason;
    else this.#blocker.block(held, reason, held.outcomes);
  }

  /** No further turn begins by itself; instances are released as their commits return. */
  stop(): void {
    this.#stopping = true;
    this.#holding.evictAll();
  }

  #number(): number {
    return Math.floor(this.#o.environment.random() * Number.MAX_SAFE_INTEGER);
  }
}
