// Putting a guard in the place of one of the host's functions, and the function back.
//   HF1. A function has one guard, however many names lead to it and however often it is put on: names that were
//        equal stay equal, and guards do not pile up.
//   HF2. What somebody else has put over a guard is left alone, then and later.
//   HF3. A guard looks like what it stands for: its name, its arity, `util.promisify.custom`.

import { PerdureError } from "../core/errors.ts";
import type { GuardName } from "../core/guard-names.ts";
import type { Run } from "../core/run.ts";
import { guardedRun } from "./guarded-run.ts";

export type Restore = () => void;
type HostFunction = (this: unknown, ...rest: unknown[]) => unknown;

const guardOf = new WeakMap<object, HostFunction>();
const originalOf = new WeakMap<object, HostFunction>();

/** Inside an orchestration the function's value follows from its history. */
export function derive(
  target: object,
  name: string,
  guard: GuardName,
  value: (run: Run) => unknown,
): Restore {
  return replace(
    target,
    name,
    (original) =>
      function (this: unknown, ...rest: unknown[]) {
        const run = guardedRun(guard);
        return run === null ? original.apply(this, rest) : value(run);
      },
  );
}

/** Inside an orchestration the function throws, and names what to use instead. */
export function refuse(
  target: object,
  name: string,
  guard: GuardName,
  { label = name, instead }: { readonly label?: string; readonly instead: string },
): Restore {
  return replace(target, name, (original) => {
    const guarded: HostFunction = function (this: unknown, ...rest: unknown[]) {
      const run = guardedRun(guard);
      if (run === null || isLoadingModule(guarded)) return original.apply(this, rest);
      const message =
        `${label} was called in the orchestration "${run.started.name}", where it could not be replayed. ` +
        `Use ${instead}.`;
      throw new PerdureError("GUARD_VIOLATION", message);
    };
    return guarded;
  });
}

/** Node reads a module's file by the same functions; a library that is loaded late does no I/O by that. */
function isLoadingModule(guarded: HostFunction): boolean {
  const caller: { stack?: string } = {};
  Error.captureStackTrace(caller, guarded);
  return caller.stack?.split("\n")[1]?.includes("node:internal/modules/") === true;
}

function replace(
  target: object,
  name: string,
  make: (original: HostFunction) => HostFunction,
): Restore {
  const owner = ownerOf(target, name);
  const descriptor = owner === null ? undefined : Object.getOwnPropertyDescriptor(owner, name);
  const found: unknown = Reflect.get(target, name);
  if (owner === null || typeof found !== "function" || descriptor?.configurable !== true) {
    return () => undefined; // this version of the host has no such function
  }
  const original = originalOf.get(found) ?? (found as HostFunction);
  const guard = guardOf.get(original) ?? pair(make(original), original);
  const { enumerable = true } = descriptor;
  Object.defineProperty(owner, name, {
    value: guard,
    writable: true,
    configurable: true,
    enumerable,
  });
  return () => {
    if (Reflect.get(owner, name) !== guard) return; // HF2
    Object.defineProperty(
      owner,
      name,
      "value" in descriptor ? { ...descriptor, value: original } : descriptor,
    );
  };
}

/** Where a function is defined, so that nothing is added to what only inherits it. */
function ownerOf(target: object, name: string): object | null {
  for (
    let at: object | null = target;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    if (Object.hasOwn(at, name)) return at;
  }
  return null;
}

function pair(guard: HostFunction, original: HostFunction): HostFunction {
  Object.defineProperties(guard, Object.getOwnPropertyDescriptors(original)); // HF3
  guardOf.set(original, guard);
  originalOf.set(guard, original);
  return guard;
}
