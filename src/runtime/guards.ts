// Guards: what would make an orchestration diverge is derived or refused while its code runs.
//   GD1. A guard acts during a drain of an orchestration that has it switched on, and at no other time: steps,
//        activities and everybody else's code meet the originals.
//   GD2. Derived: Date, Date.now, performance.now, Math.random, crypto.randomUUID. Refused, with the name of the
//        right call: getRandomValues, timers, fetch, and while developing Node's I/O modules.
//   GD3. Originals are taken at import; guards go on with the first runtime and off with the last.

import { createRequire, syncBuiltinESMExports } from "node:module";
import { asyncContext, drain } from "../core/async-context.ts";
import { PerdureError } from "../core/errors.ts";
import type { GuardName } from "../core/guard-names.ts";
import { Run } from "../core/run.ts";

type Restore = () => void;
const load = createRequire(import.meta.url);
let users = 0;
let restores: Restore[] = [];

/** Puts the guards on; the returned function takes them off when nobody needs them any more. */
export function installGuards(options: { io: boolean }): Restore {
  if (users++ === 0) restores = patchAll(options.io);
  let active = true;
  return () => {
    if (!active) return;
    active = false;
    if (--users > 0) return;
    for (const restore of restores.splice(0).reverse()) restore();
    syncBuiltinESMExports();
  };
}

/** A module of Node's as CommonJS sees it: its properties can be replaced, and the named exports follow. */
function builtin(name: string): object {
  return load(name) as object;
}

/** The orchestration whose code is running, if it has that guard on. */
function guarded(name: GuardName): Run | null {
  const { run } = drain;
  if (!(run instanceof Run) || run.options.guards?.has(name) !== true) return null;
  // A drain ends when the next one begins: other callbacks, such as a commit's that enters an activity, may come
  // in between. Only the orchestration's own code is in its context (A2).
  const frame = asyncContext.getStore();
  return frame?.kind === "scope" && frame.run === run ? run : null;
}

function patchAll(io: boolean): Restore[] {
  const crypto = builtin("node:crypto");
  const timers = builtin("node:timers");
  const timersPromises = builtin("node:timers/promises");
  const web = Object.getPrototypeOf(globalThis.crypto) as object;
  const list: Restore[] = [
    patchDate(),
    derive(performance, "now", "date", (run) => run.at - run.startedAt),
    derive(Math, "random", "random", (run) => run.random()),
    derive(web, "randomUUID", "random", (run) => run.uuid()),
    derive(crypto, "randomUUID", "random", (run) => run.uuid()),
    refuse(web, "getRandomValues", "random", "ctx.random() or ctx.uuid()"),
    refuse(crypto, "getRandomValues", "random", "ctx.random() or ctx.uuid()"),
    refuse(crypto, "randomBytes", "random", "ctx.random(), or a step"),
    refuse(globalThis, "fetch", "fetch", "an activity (ctx.run) or a step (ctx.step)"),
  ];
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) {
    list.push(refuse(globalThis, name, "timers", "ctx.sleep"));
    list.push(refuse(timers, name, "timers", "ctx.sleep"));
    list.push(refuse(timersPromises, name, "timers", "ctx.sleep"));
  }
  if (io) list.push(...patchIo());
  syncBuiltinESMExports();
  return list;
}

/** The functions through which code usually leaves the process. */
function patchIo(): Restore[] {
  const names: readonly (readonly [object, readonly string[]])[] = [
    [
      builtin("node:fs"),
      [
        "readFile",
        "readFileSync",
        "writeFile",
        "writeFileSync",
        "open",
        "openSync",
        "existsSync",
        "statSync",
      ],
    ],
    [
      builtin("node:fs/promises"),
      ["readFile", "writeFile", "open", "stat", "readdir", "mkdir", "rm"],
    ],
    [builtin("node:http"), ["request", "get"]],
    [builtin("node:https"), ["request", "get"]],
    [builtin("node:net"), ["connect", "createConnection"]],
    [builtin("node:dns"), ["lookup", "resolve"]],
    [
      builtin("node:child_process"),
      ["spawn", "exec", "execFile", "fork", "spawnSync", "execSync", "execFileSync"],
    ],
  ];
  return names.flatMap(([module, functions]) =>
    functions.map((name) =>
      refuse(module, name, "io", "an activity (ctx.run) or a step (ctx.step)"),
    ),
  );
}

type AnyFunction = (this: unknown, ...rest: unknown[]) => unknown;

function derive(
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
        const run = guarded(guard);
        return run === null ? original.apply(this, rest) : value(run);
      },
  );
}

function refuse(target: object, name: string, guard: GuardName, instead: string): Restore {
  return replace(
    target,
    name,
    (original) =>
      function (this: unknown, ...rest: unknown[]) {
        const run = guarded(guard);
        if (run === null) return original.apply(this, rest);
        const message =
          `${name} was called in the orchestration "${run.started.name}", where it could not be replayed. ` +
          `Use ${instead}.`;
        throw new PerdureError("GUARD_VIOLATION", message);
      },
  );
}

function replace(
  target: object,
  name: string,
  make: (original: AnyFunction) => AnyFunction,
): Restore {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  const original: unknown = Reflect.get(target, name);
  if (typeof original !== "function" || descriptor?.configurable === false) return () => undefined;
  const guardedFunction = make(original as AnyFunction);
  // Symbols such as util.promisify.custom and the arity stay what they were.
  Object.defineProperties(guardedFunction, Object.getOwnPropertyDescriptors(original));
  Object.defineProperty(target, name, {
    value: guardedFunction,
    writable: true,
    configurable: true,
    enumerable: descriptor?.enumerable ?? true,
  });
  return () => {
    if (Reflect.get(target, name) !== guardedFunction) return; // somebody patched over us
    if (descriptor === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, descriptor);
  };
}

function patchDate(): Restore {
  const Original = globalThis.Date;
  const restoreNow = derive(Original, "now", "date", (run) => run.at);
  function GuardedDate(this: unknown, ...rest: unknown[]): unknown {
    const run = guarded("date");
    if (new.target === undefined)
      return run === null ? Original() : new Original(run.at).toString();
    const target = new.target === (GuardedDate as unknown) ? Original : new.target;
    return Reflect.construct(Original, run !== null && rest.length === 0 ? [run.at] : rest, target);
  }
  // The prototype is the original's, so that instanceof, the codec and every existing date agree.
  Object.defineProperties(GuardedDate, Object.getOwnPropertyDescriptors(Original));
  const { constructor } = Original.prototype;
  Original.prototype.constructor = GuardedDate;
  globalThis.Date = GuardedDate as unknown as DateConstructor;
  return () => {
    restoreNow();
    Original.prototype.constructor = constructor;
    if (globalThis.Date === (GuardedDate as unknown)) globalThis.Date = Original;
  };
}
