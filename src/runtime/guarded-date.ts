// The guarded Date: inside an orchestration `new Date()` and `Date()` are the time of the event last delivered.
//   DT1. It is the host's Date in all but the missing argument: the same prototype, so that `instanceof`, the codec
//        and every existing date agree, and classes may extend it.

import { guardedRun } from "./guarded-run.ts";
import { derive, type Restore } from "./host-functions.ts";

const guards = new WeakMap<object, DateConstructor>();
const originals = new WeakMap<object, DateConstructor>();

export function guardDate(): Restore {
  const found = globalThis.Date;
  const Original = originals.get(found) ?? found;
  const restoreNow = derive(Original, "now", "date", (run) => run.at);
  const Guarded = guards.get(Original) ?? guarded(Original);
  const { constructor } = Original.prototype;
  Original.prototype.constructor = Guarded;
  globalThis.Date = Guarded;
  return () => {
    restoreNow();
    Original.prototype.constructor = constructor;
    if (globalThis.Date === Guarded) globalThis.Date = Original; // else somebody put another one over it
  };
}

function guarded(Original: DateConstructor): DateConstructor {
  function Guarded(this: unknown, ...rest: unknown[]): unknown {
    const run = guardedRun("date");
    if (new.target === undefined) {
      return run === null ? Original() : new Original(run.at).toString();
    }
    const target: unknown = new.target;
    const values = run !== null && rest.length === 0 ? [run.at] : rest;
    return Reflect.construct(Original, values, target === Guarded ? Original : new.target);
  }
  Object.defineProperties(Guarded, Object.getOwnPropertyDescriptors(Original)); // DT1
  // A function that may be called and constructed alike cannot be typed as one without saying so.
  const made = Guarded as unknown as DateConstructor;
  guards.set(Original, made);
  originals.set(made, Original);
  return made;
}
