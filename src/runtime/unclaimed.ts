// Work that no live runtime can take: reported in the log, and failed where the options ask for it (semantics 14).
//   UN1. It is looked for only while something waits, and no more often than every LOOK_MS.
//   UN2. A kind is reported when it has waited for PATIENCE_MS, then again every REPEAT_MS, by name, tags and who is
//        alive; at most KINDS_MAX kinds are remembered (I12).
//        Work that this process itself asks for and does not register is checked at once, once per LOOK_MS and kind.
//   UN3. Only what nobody registers fails, never what lacks a worker with its tags: a worker may yet come.

import { registeredWork, whyNobody, type Nobody, type RegisteredWork } from "../core/claimable.ts";
import type { LogSink } from "../core/log.ts";
import type { WaitingRecord } from "../core/provider/admin.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RuntimeRecord } from "../core/provider/runtimes.ts";
import type { UnregisteredFailures } from "./unregistered.ts";

const LOOK_MS = 5_000;
const PATIENCE_MS = 5_000;
const REPEAT_MS = 300_000;
const KINDS_MAX = 100;

export interface UnclaimedOptions {
  readonly provider: Provider;
  readonly log: LogSink;
  readonly failures: UnregisteredFailures | null;
}

export class Unclaimed {
  readonly #o: UnclaimedOptions;
  readonly #reportedAt = new Map<string, number>();
  readonly #checkedAt = new Map<string, number>();
  #lookedAt = -Infinity;

  constructor(options: UnclaimedOptions) {
    this.#o = options;
  }

  /** This process asked for work that it does not register. `now` is monotonic. */
  async check(kind: WaitingRecord, now: number): Promise<void> {
    const key = keyOf(kind);
    if (now - (this.#checkedAt.get(key) ?? -Infinity) < LOOK_MS) return;
    remember(this.#checkedAt, key, now);
    const runtimes = await this.#o.provider.listRuntimes();
    const works = runtimes.flatMap((runtime) => registeredWork(runtime) ?? []);
    const why = whyNobody(kind, works);
    if (why !== undefined) this.#report(kind, why, runtimes, now);
  }

  /** Something waits, and these runtimes are there. `now` is monotonic. */
  async look(runtimes: readonly RuntimeRecord[], now: number): Promise<void> {
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const { provider, failures } = this.#o;
    const works = runtimes.flatMap((runtime) => registeredWork(runtime) ?? []);
    for (const kind of await provider.readWaiting()) {
      const waitedMs = provider.now() - kind.oldestAt;
      if (waitedMs < PATIENCE_MS && failures === null) continue;
      const why = whyNobody(kind, works);
      if (why === undefined) continue;
      if (waitedMs >= PATIENCE_MS) this.#report(kind, why, runtimes, now);
      if (why.code === "unregistered") await failures?.fail(kind, why.message);
    }
  }

  #report(kind: WaitingRecord, why: Nobody, runtimes: readonly RuntimeRecord[], now: number): void {
    const key = keyOf(kind);
    const last = this.#reportedAt.get(key);
    if (last !== undefined && now - last < REPEAT_MS) return;
    remember(this.#reportedAt, key, now);
    const fix = why.code === "unregistered" ? "; add it to `register`" : "";
    this.#o.log("warn", `${why.message}${fix}`, {
      ...(kind.kind === "task"
        ? { activity: kind.name, tags: kind.tags }
        : { target: kind.target }),
      since: new Date(kind.oldestAt).toISOString(),
      alive: runtimes.map(({ nodeId }) => nodeId),
    });
  }
}

function keyOf(kind: WaitingRecord): string {
  return JSON.stringify(kind.kind === "task" ? [kind.name, ...kind.tags] : { target: kind.target });
}

/** Forgets the oldest entry beyond KINDS_MAX. */
function remember(times: Map<string, number>, key: string, now: number): void {
  times.delete(key);
  times.set(key, now);
  if (times.size <= KINDS_MAX) return;
  const [oldest] = times.keys();
  if (oldest !== undefined) times.delete(oldest);
}

/** Whether another live runtime could take any task that this one takes. */
export function hasPeer(
  own: RegisteredWork,
  ownId: string,
  runtimes: readonly RuntimeRecord[],
): boolean {
  const tags = JSON.stringify(own.tags);
  return runtimes.some((runtime) => {
    if (runtime.id === ownId) return false;
    const work = registeredWork(runtime);
    if (work === undefined || JSON.stringify(work.tags) !== tags) return false;
    return own.activities.every((name) => work.activities.includes(name));
  });
}
