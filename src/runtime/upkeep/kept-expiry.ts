// Kept expiry: lets events expire that waited too long for an instance that does not exist (semantics 18a).
//   - Each expired event is logged as a warning and counted in the telemetry. Without this an event could
//     get lost unnoticed (kept.2).
//   - Every runtime looks once per LOOK_MS. No claim is needed: the store returns each event to one runtime,
//     and a look that finds nothing writes nothing.

import type { ExpiredRecord } from "../../core/provider/kept.ts";
import { formatDuration } from "../../core/time/duration.ts";
import type { RuntimeContext } from "../context.ts";

const LOOK_MS = 60_000;
/** How many events one transaction marks. */
const BATCH = 100;

type ExpiryContext = Pick<
  RuntimeContext,
  "provider" | "log" | "options" | "isRunning" | "onStoreError"
>;

export class KeptExpiry {
  readonly #runtime: ExpiryContext;
  #lookedAt = -Infinity;
  #busy = false;

  constructor(runtime: ExpiryContext) {
    this.#runtime = runtime;
  }

  get isBusy(): boolean {
    return this.#busy;
  }

  /** Called by the upkeep loop. Does not wait for the look that it starts. */
  tick(now: number): void {
    if (this.#busy || now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    this.#busy = true;
    void this.#look()
      .catch(this.#runtime.onStoreError)
      .finally(() => (this.#busy = false));
  }

  async #look(): Promise<void> {
    let expired: readonly ExpiredRecord[];
    do {
      expired = await this.#runtime.provider.expireKept(BATCH);
      for (const record of expired) this.#report(record);
    } while (expired.length === BATCH && this.#runtime.isRunning);
  }

  #report({ id, name, createdAt, expiresAt }: ExpiredRecord): void {
    const { log, options, provider } = this.#runtime;
    options.telemetry?.messageExpired?.({ event: name, instanceId: id });
    const age = formatDuration(provider.now() - createdAt);
    const keptFor = formatDuration(expiresAt - createdAt);
    const what = `event "${name}" for instance "${id}" expired: it was raised ${age} ago with keepFor ${keptFor}, and no instance with this id was started`;
    const fix = `start the instance earlier, or raise the event with a longer keepFor`;
    log("warn", `${what}; ${fix}`, { instance: id, event: name });
  }
}
