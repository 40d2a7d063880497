// Waiting for an instance to change: pushed by the provider's news, with a slow look as the safety net.
//   CH1. A wait that began before the change is woken by it; nothing polls while there is news.
//   CH2. With nobody waiting nothing is subscribed and no timer runs.
//   CH3. The slow look costs a thousand reads a second at most, however many wait.

import type { Environment, TimerHandle } from "../core/environment.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";

/** Of each who waits; and with thousands of them, one millisecond for each (CH3). */
const SAFETY_MS = 1_000;

export class Changes {
  static readonly #all = new WeakMap<Provider, Changes>();
  static of(provider: Provider): Changes {
    let changes = this.#all.get(provider);
    if (changes === undefined) this.#all.set(provider, (changes = new Changes(provider)));
    return changes;
  }

  readonly #provider: Provider;
  readonly #environment: Environment;
  readonly #waiting = new Map<string, Set<() => void>>();
  #unsubscribe: (() => void) | null = null;
  #timer: TimerHandle | null = null;

  private constructor(provider: Provider) {
    this.#provider = provider;
    this.#environment = provider.environment;
  }

  /** Calls `woken` once when the instance may have changed. Call the result to stop waiting. */
  watch(id: string, woken: () => void): () => void {
    let watchers = this.#waiting.get(id);
    if (watchers === undefined) this.#waiting.set(id, (watchers = new Set()));
    watchers.add(woken);
    this.#begin();
    return () => {
      const set = this.#waiting.get(id);
      set?.delete(woken);
      if (set?.size === 0) this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#end();
    };
  }

  #begin(): void {
    this.#unsubscribe ??= this.#provider.subscribe((news) => this.#hear(news));
    const delayMs = Math.max(SAFETY_MS, this.#waiting.size);
    this.#timer ??= this.#environment.setTimer(delayMs, () => {
      this.#timer = null;
      this.#wakeAll();
      if (this.#waiting.size > 0) this.#begin();
    });
  }

  #end(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #hear(news: News): void {
    if (news.elsewhere) return this.#wakeAll();
    for (const id of news.changed) this.#wake(id);
    for (const id of news.progressed ?? []) this.#wake(id);
  }

  #wakeAll(): void {
    for (const id of [...this.#waiting.keys()]) this.#wake(id);
  }

  #wake(id: string): void {
    for (const woken of [...(this.#waiting.get(id) ?? [])]) woken();
  }
}
