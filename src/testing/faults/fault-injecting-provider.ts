// A provider with faults: what one process sees of its store while things go wrong.
//   FP1. A call that the plan does not name reaches the store unchanged, and so does its answer.
//   FP2. After a crash no call returns and no news arrives, for ever: that is what dying looks like from inside.
//        What the store was doing it finishes.
//   FP3. Buried, every call fails, also those that hung, so that what is left of a dead process can be taken down.
//   FP4. There is no heart beside the main loop: it would go on beating for a process that has died.

import { PerdureError } from "../../core/errors.ts";
import type { NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { Fault, FaultPlan } from "./fault-plan.ts";
import { isStoreMethod, type StoreCall, type StoreMethod } from "./store-methods.ts";

/** Who wants to know what a provider with faults is doing. */
export interface FaultObserver {
  /** What the store itself is doing for a call, without the faults around it. */
  readonly carrying?: (work: Promise<unknown>) => void;
  /** A fault is about to strike. */
  readonly striking?: (call: StoreCall, fault: Fault) => void;
}
type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** A store as one process sees it while things go wrong by plan. Give `provider` to a runtime or a client. */
export class FaultInjectingProvider {
  /** To be used in place of the store. */
  readonly provider: Provider;
  /** Resolves when the process has died. */
  readonly crashed: Promise<void>;
  readonly #store: Provider;
  readonly #plan: FaultPlan;
  readonly #observer: FaultObserver;
  readonly #died = Promise.withResolvers<void>();
  readonly #buried = Promise.withResolvers<void>();
  #state: "open" | "crashed" | "buried" = "open";
  #count = 0;

  constructor(store: Provider, plan: FaultPlan = {}, observer: FaultObserver = {}) {
    this.#store = store;
    this.#plan = plan;
    this.#observer = observer;
    this.crashed = this.#died.promise;
    this.provider = new Proxy(store, {
      get: (target, name) => this.#member(target, name),
      has: (target, name) => name !== "startHeart" && name in target,
    });
  }

  /** How many calls were made so far. */
  get calls(): number {
    return this.#count;
  }
  get isCrashed(): boolean {
    return this.#state !== "open";
  }

  /** The process dies here and now (FP2). */
  crash(): void {
    if (this.#state === "open") this.#state = "crashed";
    this.#died.resolve();
  }

  /** Lets what a dead process left behind come to its end (FP3). */
  bury(): void {
    this.crash();
    this.#state = "buried";
    this.#buried.resolve();
  }

  #member(store: Provider, name: string | symbol): unknown {
    if (name === "startHeart") return undefined;
    if (name === "subscribe") return (listener: NewsListener) => this.#subscribe(listener);
    const member: unknown = Reflect.get(store, name, store);
    if (typeof member !== "function") return member;
    const method = member.bind(store) as Method; // a method of the store's, called on it
    if (!isStoreMethod(name)) return method;
    return (...args: readonly unknown[]) => this.#call(name, method, args);
  }

  async #call(name: StoreMethod, method: Method, args: readonly unknown[]): Promise<unknown> {
    if (this.#state !== "open") return this.#afterDeath(name);
    // The provider is typed: whoever called this method gave what it takes.
    const call = { number: ++this.#count, method: name, args } as unknown as StoreCall;
    const fault = this.#plan.call?.(call);
    if (fault === undefined) return this.#answer(name, await this.#carryOut(method, args));
    this.#observer.striking?.(call, fault);
    let answer: unknown;
    if (fault.when === "after") answer = await this.#carryOut(method, args);
    await this.#strike(call, fault);
    if (fault.kind === "delay" && fault.when === "before") {
      if (this.#state !== "open") return this.#afterDeath(name);
      answer = await this.#carryOut(method, args);
    }
    return this.#answer(name, answer);
  }

  #carryOut(method: Method, args: readonly unknown[]): Promise<unknown> {
    const work = method(...args);
    this.#observer.carrying?.(work);
    return work;
  }

  /** Returns when the call goes on; throws when it failed. */
  async #strike({ method, number }: StoreCall, fault: Fault): Promise<void> {
    switch (fault.kind) {
      case "crash":
        return this.crash();
      case "delay":
        return this.#pass(fault.ms);
      case "fail": {
        if (fault.afterMs !== undefined) await this.#pass(fault.afterMs);
        if (this.#state !== "open") return this.#afterDeath(method);
        const message = `${method}, call ${number}: the store fails by plan.`;
        throw fault.error ?? new PerdureError("STORE_UNAVAILABLE", message);
      }
    }
  }

  #answer(method: StoreMethod, answer: unknown): unknown {
    return this.#state === "open" ? answer : this.#afterDeath(method);
  }

  async #afterDeath(method: StoreMethod): Promise<never> {
    await this.#buried.promise;
    const message = `${method}: the process of this provider has died.`;
    throw new PerdureError("STORE_UNAVAILABLE", message);
  }

  #subscribe(listener: NewsListener): () => void {
    return this.#store.subscribe((news) => {
      if (this.#state !== "open" || this.#plan.news?.(news) === false) return;
      listener(news);
    });
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#store.environment.setTimer(ms, resolve));
  }
}

/** The same with one call: `faultyProvider(store, faultAt(3, { kind: "crash", when: "after" }))`. */
export function faultyProvider(store: Provider, plan: FaultPlan): FaultInjectingProvider {
  return new FaultInjectingProvider(store, plan);
}
