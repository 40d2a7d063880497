// Host functions: replaces a function of the host by a guard, and restores it.
//   - A function has one guard, even if it is reachable by several names or guarded several times. Names
//     that were equal stay equal, and guards are never nested.
//   - host-functions.1: If other code has replaced a guard, that replacement is left in place, also on
//     restore.
//   - host-functions.2: A guard has the same name, arity and `util.promisify.custom` as its original.

import { PerdureError } from "../../core/errors/errors.ts";
import type { GuardName } from "../../core/define/guard-names.ts";
import type { Run } from "../../core/replay/run.ts";
import { guardedRun } from "./guarded-run.ts";

export type Restore = () => void;
type HostFunction = (this: unknown, ...rest: unknown[]) => unknown;

const guardOf = new WeakMap<object, HostFunction>();
const originalOf = new WeakMap<object, HostFunction>();

/** In an orchestration the result of the function is derived from its history. */
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

/** In an orchestration the function throws, and the error names the replacement. */
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

/**
 * Node loads modules with the same functions. A library that is loaded late does no I/O of its own by
 * that.
 */
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
  const isReplaceable = descriptor?.configurable === true || descriptor?.writable === true;
  if (owner === null || typeof found !== "function" || !isReplaceable) {
    return () => undefined; // this run time has no such function, or does not let it be replaced
  }
  const original = originalOf.get(found) ?? (found as HostFunction);
  const guard = guardOf.get(original) ?? pair(make(original), original);
  const { enumerable = true, configurable = true } = descriptor; // Bun's crypto is not configurable, but writable
  const guarded = { value: guard, writable: true, configurable, enumerable };
  const restored = "value" in descriptor ? { ...descriptor, value: original } : descriptor;
  Object.defineProperty(owner, name, guarded);
  return () => {
    if (Reflect.get(owner, name) !== guard) return; // host-functions.1
    Object.defineProperty(owner, name, restored);
  };
}

/**
 * The object in the prototype chain that defines the function, so that no property is added to an object
 * that inherits it.
 */
function ownerOf(target: object, name: string): object | null {
  let at: object | null = target;
  while (at !== null && !Object.hasOwn(at, name)) at = Object.getPrototypeOf(at) as object | null;
  return at;
}

function pair(guard: HostFunction, original: HostFunction): HostFunction {
  Object.defineProperties(guard, Object.getOwnPropertyDescriptors(original)); // host-functions.2
  guardOf.set(original, guard);
  originalOf.set(guard, original);
  return guard;
}
