// Determines which workers of a store are dead. Work that a dead worker holds waits for a takeover.

import { formatDuration } from "../../core/time/duration.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeRecord } from "../../core/provider/runtimes.ts";
import { defined } from "../../core/values/defined.ts";
import { staleMsOf } from "../../runtime/health/liveness.ts";
import { isCertainlyGone, ownIdentity } from "../../runtime/health/process-identity.ts";

export class WorkerLiveness {
  readonly runtimes: readonly RuntimeRecord[];
  readonly #now: number;
  readonly #own = ownIdentity();

  private constructor(runtimes: readonly RuntimeRecord[], now: number) {
    this.runtimes = runtimes;
    this.#now = now;
  }

  static async read(provider: Provider): Promise<WorkerLiveness> {
    const runtimes = await provider.listRuntimes();
    return new WorkerLiveness(runtimes, provider.now());
  }

  isDead(runtime: RuntimeRecord): boolean {
    return this.#isGone(runtime) || this.#silentMs(runtime) > staleMsOf(runtime);
  }

  /** Why the worker is dead; undefined: it is alive. */
  death(id: string): string | undefined {
    const runtime = this.runtimes.find((one) => one.id === id);
    if (runtime === undefined) return "no longer registered";
    if (!this.isDead(runtime)) return undefined;
    const silence = `no heartbeat for ${formatDuration(toSeconds(this.#silentMs(runtime)))}`;
    return this.#isGone(runtime) ? `its process is gone, ${silence}` : silence;
  }

  /** The worker, for JSON output. */
  document(id: string): { readonly id: string; readonly alive: boolean; readonly why?: string } {
    const why = this.death(id);
    return { id, alive: why === undefined, ...defined({ why }) };
  }

  #isGone(runtime: RuntimeRecord): boolean {
    return isCertainlyGone(runtime.process, this.#own);
  }

  #silentMs({ beatAt }: RuntimeRecord): number {
    return Math.max(this.#now - beatAt, 0);
  }
}

function toSeconds(ms: number): number {
  return Math.round(ms / 1_000) * 1_000;
}
