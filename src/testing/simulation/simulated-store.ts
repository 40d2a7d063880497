// The simulated store: one real provider in memory, asked by many processes, one call at a time.
//   SS1. A call is carried out whole before the next one begins, and everybody who watches has seen it.
//   SS2. Its clock is the store's own (I3): skewed against the processes', and it may jump.
//   SS3. News about a call is for its caller when the answer arrives, and "elsewhere" for everybody else.
//   SS4. A damaged row is read damaged by everybody until it is repaired; nothing else of the store changes.
//   SS5. A store that may forget lies in a file, so that a second handle can put its rows back to what they were. Its
//        server then has another name, as one that was restarted or replaced has.

import type { HistoryRow } from "../../core/history-row.ts";
import type { News } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { Peek } from "../../core/provider/runtimes.ts";
import { SqliteProvider } from "../../sqlite/index.ts";
import { TailFile } from "./tail-file.ts";
import type { Carried, Method } from "./calls.ts";
import type { Chance } from "./chance.ts";
import { WALL_START } from "./process-environment.ts";
import type { Timeline } from "./timeline.ts";

/** Sees every call that was carried out, before anybody else can ask. */
export type Watcher = (call: Carried) => void | Promise<void>;
/** A provider in place of the real one: to see whether the simulation would notice. */
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
    readonly chance: Chance;
    readonly sabotage?: Sabotage | undefined;
    readonly mayForget: boolean;
  }): Promise<SimulatedStore> {
    const { timeline, chance, sabotage } = options;
    const clock = { skewMs: 0 };
    const environment = {
      now: () => WALL_START + timeline.now + clock.skewMs,
      monotonic: () => timeline.now,
      setTimer: (delayMs: number, fn: () => void) => timeline.after(Math.ceil(delayMs), fn),
      immediate: (fn: () => void) => void timeline.after(0, fn),
      random: () => chance.random(),
      randomHex: (bytes: number) => chance.hex(bytes),
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

  /** Carries a call out. The news it made comes with the answer. */
  async carryOut(
    by: string,
    method: Method,
    args: readonly unknown[],
  ): Promise<{ readonly result: unknown; readonly news: readonly News[] }> {
    this.#news = [];
    const asked = this.provider[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const said = this.#damagedIn(method, args, await asked.apply(this.provider, [...args]));
    const result =
      method === "peek" && this.#file !== null ? { ...(said as Peek), server: this.server } : said;
    const news = this.#news;
    const atMs = this.#timeline.now;
    const carried = { method, args, result, by, now: this.now(), atMs };
    const call = carried as unknown as Carried; // arguments and result are those of its method
    for (const watch of this.watchers) await watch(call);
    return { result, news };
  }

  /** As `peek` names it. */
  get server(): string {
    return `server ${this.#server}`;
  }

  /** Notes what the store holds. Returns what puts it back to that. */
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
