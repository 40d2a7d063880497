// Queues: the rules of the queues that this runtime serves, on its side (core/provider/queues.ts).
//   - queues.1: The runtime declares the rules of its activities before it leases anything.
//   - queues.2: A task of a queue with a rule or a pause is not leased by the commit that inserts it (provider.queues.7).
//     The runtime knows its own rules at once, and those of other runtimes and pauses from the check of the store.
//   - queues.3: An admitted task must be entered within `enterWithinMs` of its request. The runtime measures how long
//     entries take and asks for three times that. A task whose entry comes too late is released. After the last entry of
//     a request it tells the store how long they took, if that makes a difference to the rate. An entry is measured after
//     the code has begun: the system may stop the process between the decision and the code.
//   - queues.4: Outcomes are counted here and reported to the store every REPORT_MS, and to telemetry at once.

import { weightOf } from "../../core/define/queue-settings.ts";
import { errorMessage } from "../../core/errors/errors.ts";
import type { ActivityScheduled } from "../../core/history/events.ts";
import type { EnteredAdmissions, QueueRule } from "../../core/provider/queues.ts";
import type { WorkSummary } from "../../core/provider/runtimes.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import type { QueueOutcome } from "../../core/telemetry/telemetry.ts";
import type { RuntimeContext } from "../context.ts";

const REPORT_MS = 10_000;
const ENTER_MIN_MS = 5;
const ENTER_MAX_MS = 60_000;
/** How fast a slow entry is forgotten: by this factor with every entry. */
const ENTER_DECAY = 0.98;

/** Entries within this share of the period of a rate count as one; an admission that ends earlier by less stays. */
const ADJUST_SHARE = 0.005;

/** The admissions of one request (queues.3). */
export interface Admissions {
  /** Whether an admitted task may be entered now; false: it is too late. Called once per task. */
  mayEnter(): boolean;
  /** Called after the task was entered. */
  entered(task: LeasedTask): void;
}
/** A task that was entered, and how long after its request. */
interface Entry {
  readonly name: string;
  readonly until: number;
  readonly tookMs: number;
}

type QueuesContext = Pick<
  RuntimeContext,
  "id" | "provider" | "registry" | "log" | "monotonic" | "onStoreError" | "options"
>;

export class Queues {
  readonly #runtime: QueuesContext;
  readonly #own: ReadonlySet<string>;
  #ruled: ReadonlySet<string>;
  #entryMs = 2;
  #outcomes = new Map<string, { completed: number; failed: number; retried: number }>();
  #reportedAt: number;

  constructor(runtime: QueuesContext) {
    this.#runtime = runtime;
    const ruled = runtime.registry.activities.filter(({ queue }) => queue !== undefined);
    this.#own = new Set(ruled.map(({ name }) => name));
    this.#ruled = this.#own;
    this.#reportedAt = runtime.monotonic();
  }

  /** queues.1 */
  async start(): Promise<void> {
    const { id, provider, registry, log } = this.#runtime;
    const declarations = registry.activities.map(({ name, queue }) => ({
      name,
      rule: queue?.rule ?? null,
    }));
    for (const replaced of await provider.declareQueues(id, declarations)) {
      if (!replaced.isLive) continue;
      const { name, previous, declaredBy } = replaced;
      const now = ruleText(registry.activity(name)?.queue?.rule ?? null);
      const message = `activity "${name}" is registered with different limits: runtime ${declaredBy} declared ${ruleText(previous)}, and this runtime declares ${now}, which applies from now on. Register the same limits in every process.`;
      log("warn", message, { activity: name });
    }
  }

  /** queues.2 */
  onSummary({ ruled }: WorkSummary): void {
    this.#ruled = ruled === undefined ? this.#own : new Set([...this.#own, ...ruled]);
  }

  isRuled(name: string): boolean {
    return this.#ruled.size > 0 && this.#ruled.has(name);
  }

  /** The weight of the key of a call; undefined: its queue is not fair. */
  weightOf({ name, queueKey = "" }: ActivityScheduled): number | undefined {
    if (!this.#own.has(name)) return undefined;
    const settings = this.#runtime.registry.activity(name)?.queue;
    if (settings === undefined) return undefined;
    try {
      return weightOf(settings, queueKey, `activity "${name}"`);
    } catch (error) {
      // The call is recorded already, so it cannot fail.
      this.#runtime.log("warn", `${errorMessage(error)} The weight 1 is used.`, { activity: name });
      return 1;
    }
  }

  /** queues.3 */
  get enterWithinMs(): number {
    return Math.ceil(Math.min(Math.max(3 * this.#entryMs, ENTER_MIN_MS), ENTER_MAX_MS));
  }

  /** The admissions of the tasks of a request that was sent at `requestedAt`. */
  admissions(
    tasks: readonly LeasedTask[],
    {
      requestedAt,
      enterWithinMs,
    }: { readonly requestedAt: number; readonly enterWithinMs: number },
  ): Admissions {
    let left = tasks.filter(({ admittedUntil }) => admittedUntil !== undefined).length;
    const entries: Entry[] = [];
    const measure = (): number => {
      const tookMs = this.#runtime.monotonic() - requestedAt;
      this.#entryMs = Math.max(tookMs, this.#entryMs * ENTER_DECAY);
      return tookMs;
    };
    const isDecided = (): void => {
      left--;
      if (left === 0) this.#adjust(entries, enterWithinMs);
    };
    return {
      mayEnter: () => {
        if (measure() <= enterWithinMs) return true;
        isDecided();
        return false;
      },
      entered: ({ name, admittedUntil: until = 0 }) => {
        entries.push({ name, until, tookMs: measure() });
        isDecided();
      },
    };
  }

  /**
   * Moves the ends of admissions: to the entries, a few at a time, or beyond their end if an entry was late after all. Each
   * entry counts from about its own time, so entries that take long use up no more of the rate than quick ones.
   */
  #adjust(entries: readonly Entry[], enterWithinMs: number): void {
    const { provider, registry, onStoreError } = this.#runtime;
    const adjusted: EnteredAdmissions[] = [];
    for (const [name, own] of Map.groupBy(entries, (entry) => entry.name)) {
      const perMs = registry.activity(name)?.queue?.rule.rate?.perMs ?? Infinity;
      const stepMs = Math.max(perMs * ADJUST_SHARE, 1);
      const steps = Map.groupBy(own, ({ tookMs }) => Math.ceil(tookMs / stepMs));
      for (const together of steps.values()) {
        const latestMs = Math.max(...together.map(({ tookMs }) => tookMs));
        const byMs = Math.floor(enterWithinMs - latestMs);
        const until = together[0]?.until ?? 0;
        if (byMs >= 0 && byMs < stepMs) continue;
        adjusted.push({ name, until, number: together.length, enteredBy: until - byMs });
      }
    }
    // If this fails, the admissions end by themselves.
    if (adjusted.length > 0) provider.adjustAdmissions(adjusted).catch(onStoreError);
  }

  /** queues.4 */
  count(name: string, outcome: QueueOutcome): void {
    this.#runtime.options.telemetry?.queueOutcome?.(name, outcome);
    let counts = this.#outcomes.get(name);
    if (counts === undefined) {
      this.#outcomes.set(name, (counts = { completed: 0, failed: 0, retried: 0 }));
    }
    counts[outcome]++;
  }

  /** Reports in the background what was counted. */
  tick(now: number): void {
    if (now - this.#reportedAt >= REPORT_MS) this.report();
  }

  report(): void {
    if (this.#outcomes.size === 0) return;
    this.#reportedAt = this.#runtime.monotonic();
    const outcomes = [...this.#outcomes].map(([name, counts]) => ({ name, ...counts }));
    this.#outcomes = new Map();
    const { provider, onStoreError } = this.#runtime;
    // If this fails, the figures of a few seconds are missing.
    provider.reportOutcomes(outcomes).catch(onStoreError);
  }
}

function ruleText(rule: QueueRule | null): string {
  return rule === null ? "no limits" : JSON.stringify(rule);
}
