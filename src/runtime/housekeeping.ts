// Housekeeping: what one runtime does for the store as a whole, beside its own work, now and then.

import type { RegisteredWork } from "../core/claimable.ts";
import type { Committer } from "../core/committer.ts";
import type { WaitingRecord } from "../core/provider/admin.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Peek } from "../core/provider/runtimes.ts";
import type { ResolvedOptions } from "./options.ts";
import { RetentionSweeper } from "./retention.ts";
import { hasPeer, Unclaimed } from "./unclaimed.ts";
import { UnregisteredFailures } from "./unregistered.ts";

/** For how long a failed attempt is left to others that could take it (semantics 10). */
const AVOID_MS = 1_000;

export interface HousekeepingOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly committer: Committer;
  readonly options: ResolvedOptions;
  readonly work: RegisteredWork;
  readonly newToken: () => number;
  readonly trouble: (error: unknown) => void;
}

export class Housekeeping {
  readonly #o: HousekeepingOptions;
  readonly #unclaimed: Unclaimed;
  readonly #retention: RetentionSweeper | null;
  #avoidMs = 0;

  constructor(options: HousekeepingOptions) {
    this.#o = options;
    const { provider, trouble } = options;
    const { unregistered: waitMs, retention: rule, log } = options.options;
    const failures = waitMs === null ? null : new UnregisteredFailures({ ...options, waitMs, log });
    this.#unclaimed = new Unclaimed({ provider, log, failures });
    const { environment } = provider;
    this.#retention =
      rule === null ? null : new RetentionSweeper({ provider, environment, rule, trouble });
  }

  /** For how long a task that failed here is left to others; 0 when no other runtime takes the same. */
  get avoidMs(): number {
    return this.#avoidMs;
  }

  continued(id: string): void {
    this.#retention?.continued(id);
  }

  tick(now: number): void {
    this.#retention?.tick(now);
  }

  /** What the safety net's look found. */
  async found({ instances, tasks, runtimes }: Peek): Promise<void> {
    const { work, runtimeId, provider } = this.#o;
    this.#avoidMs = hasPeer(work, runtimeId, runtimes) ? AVOID_MS : 0;
    if (!instances && !tasks) return;
    await this.#unclaimed.look(runtimes, provider.environment.monotonic());
  }

  /** This process asked for work that it does not register; perhaps another worker does. */
  unknown(kind: WaitingRecord): void {
    const { provider, trouble } = this.#o;
    this.#unclaimed.check(kind, provider.environment.monotonic()).catch(trouble);
  }

  stop(): void {
    this.#retention?.stop();
  }
}
