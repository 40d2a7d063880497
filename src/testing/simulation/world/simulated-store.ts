// Simulated store: one real SQLite provider that many simulated processes share, one call at a time.
//   - The store executes one call completely, and all watchers have seen it, before the next call begins.
//   - The store has its own clock (I3). It differs from the clocks of the processes, and it may jump.
//   - The caller receives notifications of its call with the reply. Other processes receive them as
//        "elsewhere".
//   - Every reader sees a damaged row as damaged until it is repaired. Nothing else in the store changes.
//   - A store that may lose commits is a file, so that a second handle can restore earlier rows. Afterwards
//        its server has another name, as after a restart or a replacement.

import type { HistoryRow } from "../../../core/history/rows.ts";
import type { News } from "../../../core/provider/notifications.ts";
import type { Provider } from "../../../core/provider/provider.ts";
import type { WorkSummary } from "../../../core/provider/runtimes.ts";
import { SqliteProvider } from "../../../sqlite/index.ts";
import { TailFile } from "./tail-file.ts";
import type { Carried, Method } from "../calls.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { WALL_START } from "./process-environment.ts";
import type { Timeline } from "../timeline.ts";

/** Called with every executed call, before the store accepts the next one. */
export type Watcher = (call: Carried) => void | Promise<void>;
/** Replaces methods of the real provider, to test that the simulation detects the bug. */
export type Sabotage = (real: Provider) => Partial<Provider>;

export class SimulatedStore {
  readonly provider: Provider;
  readonly watchers: Watcher[] = [];
  readonly #clock: { skewMs: number };
  readonly #timeline: Timeline;
  readonly #damaged = new Map<string, string>();
  readonly #file: TailFile | null;
  #server = 1;
  #news: News[] = [];

  static async open(options: {
    readonly timeline: Timeline;
    readonly random: SeededRandom;
    readonly sabotage?: Sabotage | undefined;
    readonly mayForget: boolean;
  }): Promise<SimulatedStore> {
    const { timeline, random, sabotage } = options;
    const clock = { skewMs: 0 };
    const environment = {
      now: () => WALL_START + timeline.now + clock.skewMs,
      monotonic: () => timeline.now,
      setTimer: (delayMs: number, fn: () => void) => timeline.after(Math.ceil(delayMs), fn),
      immediate: (fn: () => void) => void timeline.after(0, fn),
      random: () => random.fraction(),
      randomHex: (bytes: number) => random.hex(bytes),
    };
    const file = options.mayForget ? new TailFile() : null;
    const real = await SqliteProvider.open(file?.path ?? ":memory:", {
      environment,
      durability: file === null ? "full" : "normal",
    });
    const provider = sabotage === undefined ? real : replaceMethods(real, sabotage(real));
    return new SimulatedStore(provider, clock, timeline, file);
  }

  private constructor(
    provider: Provider,
    clock: { skewMs: number },
    timeline: Timeline,
    file: TailFile | null,
  ) {
    this.#file = file;
    this.provider = provider;
    this.#clock = clock;
    this.#timeline = timeline;
    provider.subscribe((news) => void this.#news.push(news));
  }

  now(): number {
    return this.provider.now();
  }
  jumpClock(ms: number): void {
    this.#clock.skewMs += ms;
  }

  /** Executes a call. Returns its notifications with the reply. */
  async carryOut(
    by: string,
    method: Method,
    args: readonly unknown[],
  ): Promise<{ readonly result: unknown; readonly news: readonly News[] }> {
    this.#news = [];
    const asked = this.provider[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const said = this.#damagedIn(method, args, await asked.apply(this.provider, [...args]));
    const result =
      method === "peek" && this.#file !== null
        ? { ...(said as WorkSummary), server: this.server }
        : said;
    const news = this.#news;
    const atMs = this.#timeline.now;
    const carried = { method, args, result, by, now: this.now(), atMs };
    const call = carried as unknown as Carried; // the arguments and the result belong to this method
    for (const watch of this.watchers) await watch(call);
    return { result, news };
  }

  /** The name of the server, as `peek` returns it. */
  get server(): string {
    return `server ${this.#server}`;
  }

  /** Saves the contents of the store. The returned function restores them. */
  checkpoint(): () => void {
    const restore = this.#file?.checkpoint();
    return () => {
      restore?.();
      this.#server++;
    };
  }

  damage(address: { key: number; execution: number }, first: number, data: string): void {
    this.#damaged.set(`${address.key}:${address.execution}:${first}`, data);
  }
  repair(): void {
    this.#damaged.clear();
  }

  async close(): Promise<void> {
    await this.provider.close();
    this.#file?.remove();
  }

  #damagedIn(method: Method, args: readonly unknown[], result: unknown): unknown {
    if (this.#damaged.size === 0) return result;
    const read = (address: { key: number; execution: number }, rows: readonly HistoryRow[]) =>
      rows.map((row) => {
        const data = this.#damaged.get(`${address.key}:${address.execution}:${row.first}`);
        return data === undefined ? row : { ...row, data };
      });
    if (method === "readHistory") {
      const [address] = args as Parameters<Provider["readHistory"]>;
      return read(address, result as readonly HistoryRow[]);
    }
    if (method !== "leaseInstances") return result;
    const leased = result as Awaited<ReturnType<Provider["leaseInstances"]>>;
    const instances = leased.instances.map((instance) => ({
      ...instance,
      history: read(instance, instance.history),
    }));
    return { ...leased, instances };
  }
}

function replaceMethods(real: Provider, methods: Partial<Provider>): Provider {
  return new Proxy(real, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
