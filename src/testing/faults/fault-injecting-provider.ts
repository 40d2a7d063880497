// Fault-injecting provider: wraps the store of one process and makes its calls fail by a plan.
//   - A call without a planned fault reaches the store unchanged, and its reply reaches the caller unchanged.
//   - fault-injecting-provider.1: After a crash no call returns and no notification arrives, forever: a dead
//        process runs no more code. The store finishes calls that it has already received.
//   - fault-injecting-provider.2: After `bury` every call fails, including the calls that hung since the
//        crash, so that the rest of the dead process can be cleaned up.
//   - The wrapped provider has no liveness thread: the thread would send heartbeats for a crashed process.

import { PerdureError } from "../../core/errors/errors.ts";
import type { NewsListener } from "../../core/provider/notifications.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { Fault, FaultPlan } from "./fault-plan.ts";
import { isStoreMethod, type StoreCall, type StoreMethod } from "./store-methods.ts";

/** Callbacks of a fault-injecting provider. */
export interface FaultObserver {
  /** Receives the promise of each call that the store executes, without the injected faults. */
  readonly carrying?: (work: Promise<unknown>) => void;
  /** Called before a fault is applied to a call. */
  readonly striking?: (call: StoreCall, fault: Fault) => void;
}
type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Injects planned faults between one process and its store. Pass `provider` to a runtime or a client. */
export class FaultInjectingProvider {
  /** The provider with faults; use it in place of the store. */
  readonly provider: Provider;
  /** Resolves when the process has crashed. */
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
      has: (target, name) => name !== "startLivenessThread" && name in target,
    });
  }

  /** The number of calls so far. */
  get calls(): number {
    return this.#count;
  }
  get isCrashed(): boolean {
    return this.#state !== "open";
  }

  /** Crashes the process now (fault-injecting-provider.1). */
  crash(): void {
    if (this.#state === "open") this.#state = "crashed";
    this.#died.resolve();
  }

  /**
   * Fails every pending and later call, so that the dead process can be cleaned up
   * (fault-injecting-provider.2).
   */
  bury(): void {
    this.crash();
    this.#state = "buried";
    this.#buried.resolve();
  }

  #member(store: Provider, name: string | symbol): unknown {
    if (name === "startLivenessThread") return undefined;
    if (name === "subscribe") return (listener: NewsListener) => this.#subscribe(listener);
    const member: unknown = Reflect.get(store, name, store);
    if (typeof member !== "function") return member;
    const method = member.bind(store) as Method; // every function of a provider is a method
    if (!isStoreMethod(name)) return method;
    return (...args: readonly unknown[]) => this.#call(name, method, args);
  }

  async #call(name: StoreMethod, method: Method, args: readonly unknown[]): Promise<unknown> {
    if (this.#state !== "open") return this.#afterDeath(name);
    // The provider's types have checked the arguments at the call.
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

  /** Applies the fault. Returns if the call continues; throws if the call fails. */
  async #strike({ method, number }: StoreCall, fault: Fault): Promise<void> {
    switch (fault.kind) {
      case "crash":
        return this.crash();
      case "delay":
        return this.#pass(fault.ms);
      case "fail": {
        if (fault.afterMs !== undefined) await this.#pass(fault.afterMs);
        if (this.#state !== "open") return this.#afterDeath(method);
        const message = `${method}, call ${number}: the fault plan made this call fail.`;
        throw fault.error ?? new PerdureError("STORE_UNAVAILABLE", message);
      }
    }
  }

  #answer(method: StoreMethod, answer: unknown): unknown {
    return this.#state === "open" ? answer : this.#afterDeath(method);
  }

  async #afterDeath(method: StoreMethod): Promise<never> {
    await this.#buried.promise;
    const message = `${method}: the process of this provider has crashed.`;
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

/**
 * Creates a fault-injecting provider: `faultyProvider(store, faultAt(3, { kind: "crash", when: "after"
 * }))`.
 */
export function faultyProvider(store: Provider, plan: FaultPlan): FaultInjectingProvider {
  return new FaultInjectingProvider(store, plan);
}
