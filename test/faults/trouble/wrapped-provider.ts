// A provider with some methods replaced, to simulate a failing store or a frozen process.

import type { Environment, Provider } from "../../../src/index.ts";

type Methods = {
  [K in keyof Provider]-?: Provider[K] extends (...args: never) => unknown ? K : never;
}[keyof Provider];
type Replacements = Partial<Provider>;

/** All other methods go to the provider itself. Each wrapper has its own committer. */
export function wrapProvider(provider: Provider, replaced: Replacements): Provider {
  const bound = new Map<string | symbol, unknown>();
  return new Proxy(provider, {
    get(target, key) {
      if (Object.hasOwn(replaced, key)) return Reflect.get(replaced, key);
      if (bound.has(key)) return bound.get(key);
      const value: unknown = Reflect.get(target, key, target);
      const member: unknown = typeof value === "function" ? value.bind(target) : value;
      bound.set(key, member);
      return member;
    },
  });
}

/** `before`: the call never reaches the store. `after`: the store executed the call, but its reply was lost. */
export type Failing = "before" | "after";
export type FaultPlan = (method: Methods, call: number) => Failing | null;

/** A store whose calls fail according to the plan; `call` counts the calls of that method from 1. */
export function faultyProvider(
  provider: Provider,
  plan: FaultPlan,
  error: () => Error = () => new Error("the connection was lost"),
) {
  const calls = new Map<string, number>();
  const failures = new Map<string, number>();
  const replaced: Record<string, unknown> = {};
  const METHODS = [
    "commit",
    "settle",
    "leaseInstances",
    "takeMessages",
    "leaseTasks",
    "lostTasks",
    "readInstance",
    "readHistory",
    "readTasks",
    "beat",
    "listRuntimes",
    "expireRuntime",
    "renewInstances",
    "renewTasks",
  ] as const satisfies readonly Methods[];
  for (const name of METHODS) {
    const real = provider[name].bind(provider) as (...args: unknown[]) => Promise<unknown>;
    replaced[name] = async (...args: unknown[]): Promise<unknown> => {
      const call = (calls.get(name) ?? 0) + 1;
      calls.set(name, call);
      const failing = plan(name, call);
      if (failing !== null) failures.set(name, (failures.get(name) ?? 0) + 1);
      if (failing === "before") throw error();
      const answer = await real(...args);
      if (failing === "after") throw error();
      return answer;
    };
  }
  return {
    provider: wrapProvider(provider, replaced as Replacements),
    failures: (name: Methods) => failures.get(name) ?? 0,
  };
}

/** A store as seen by a separate process: the process can be frozen while the clock advances. */
export function freezable(provider: Provider) {
  const { environment } = provider;
  let held: (() => void)[] | null = null;
  const gate = (fn: () => void) => (): void => {
    if (held === null) fn();
    else held.push(fn);
  };
  const own: Environment = {
    now: () => environment.now(),
    monotonic: () => environment.monotonic(),
    setTimer: (delayMs, fn) => environment.setTimer(delayMs, gate(fn)),
    immediate: (fn) => environment.immediate(gate(fn)),
    random: () => environment.random(),
    randomHex: (bytes) => environment.randomHex(bytes),
  };
  const subscribe: Provider["subscribe"] = (listener) =>
    provider.subscribe((news) => gate(() => listener(news))());
  return {
    provider: wrapProvider(provider, { environment: own, subscribe }),
    freeze: () => void (held ??= []),
    thaw: () => {
      const waiting = held ?? [];
      held = null;
      for (const fn of waiting) environment.immediate(fn);
    },
  };
}
