// Guards: while the code of an orchestration runs, functions that would make it diverge are derived from
// history or refused.
//   - guards.1: A guard acts only during a drain of an orchestration that has it switched on. Steps,
//     activities and all other code use the original functions.
//   - guards.2: Derived: Date, Date.now, performance.now, Math.random, crypto.randomUUID. Refused, with
//     the name of the replacement: other random values, timers, fetch and, during development, Node's I/O
//     modules.
//   - guards.3: The engine keeps the original functions from import time. A guard is installed by the
//     first runtime that uses it and removed by the last. A runtime without guards changes nothing.

import { createRequire, syncBuiltinESMExports } from "node:module";
import { GUARD_NAMES, type GuardName } from "../../core/define/guard-names.ts";
import { derive, refuse, type Restore } from "./host-functions.ts";
import { guardedRun } from "./guarded-run.ts";

const INSTALL: Readonly<Record<GuardName, () => readonly Restore[]>> = {
  date: guardClocks,
  random: guardRandom,
  timers: guardTimers,
  fetch: () => [refuse(globalThis, "fetch", "fetch", { instead: ACTIVITY_OR_STEP })],
  io: guardIo,
};
const ACTIVITY_OR_STEP = "an activity (ctx.run) or a step (ctx.step)";
const installed = new Map<GuardName, { users: number; readonly restores: readonly Restore[] }>();

/** Installs guards. The returned function removes those that no other runtime uses. */
export function installGuards(names: ReadonlySet<GuardName>): Restore {
  const wanted = GUARD_NAMES.filter((name) => names.has(name));
  for (const name of wanted) {
    const guard = installed.get(name);
    if (guard === undefined) installed.set(name, { users: 1, restores: INSTALL[name]() });
    else guard.users++;
  }
  // Named imports follow the properties of a built-in module only after this call.
  if (wanted.length > 0) syncBuiltinESMExports();
  let active = true;
  return () => {
    if (!active) return;
    active = false;
    for (const name of wanted) uninstall(name);
    if (wanted.length > 0) syncBuiltinESMExports();
  };
}

function uninstall(name: GuardName): void {
  const guard = installed.get(name);
  if (guard === undefined || --guard.users > 0) return;
  installed.delete(name);
  for (const restore of guard.restores) restore();
}

const load = createRequire(import.meta.url);
/**
 * A built-in module as CommonJS sees it: its properties can be replaced, and the named exports follow.
 */
function builtin(name: string): object {
  return load(name) as object;
}

function guardClocks(): readonly Restore[] {
  return [guardDate(), derive(performance, "now", "date", (run) => run.eventTime - run.startedAt)];
}

function guardRandom(): readonly Restore[] {
  const web = globalThis.crypto;
  const node = builtin("node:crypto");
  const instead = "ctx.random() or ctx.uuid(), or a step (ctx.step)";
  const refused = ["getRandomValues", "randomBytes", "randomFill", "randomFillSync", "randomInt"];
  return [
    derive(Math, "random", "random", (run) => run.random()),
    derive(web, "randomUUID", "random", (run) => run.uuid()),
    derive(node, "randomUUID", "random", (run) => run.uuid()),
    ...[web, node].flatMap((module) =>
      [...refused, "randomUUIDv7"].map((name) =>
        refuse(module, name, "random", { label: `crypto.${name}`, instead }),
      ),
    ),
  ];
}

function guardTimers(): readonly Restore[] {
  const promises = builtin("node:timers/promises");
  const scheduler = Reflect.get(promises, "scheduler") as object;
  const instead = { instead: "ctx.sleep" };
  return [
    ...[globalThis, builtin("node:timers"), promises].flatMap((module) =>
      ["setTimeout", "setInterval", "setImmediate"].map((name) =>
        refuse(module, name, "timers", instead),
      ),
    ),
    refuse(scheduler, "wait", "timers", { label: "scheduler.wait", ...instead }),
    refuse(scheduler, "yield", "timers", { label: "scheduler.yield", ...instead }),
    refuse(AbortSignal, "timeout", "timers", {
      label: "AbortSignal.timeout",
      instead: "ctx.race with ctx.sleep",
    }),
  ];
}

const FILES = [
  "access",
  "appendFile",
  "copyFile",
  "lstat",
  "mkdir",
  "open",
  "opendir",
  "readFile",
  "readdir",
  "rename",
  "rm",
  "rmdir",
  "stat",
  "unlink",
  "writeFile",
];
/** The functions through which code usually leaves the process. */
const IO: Readonly<Record<string, readonly string[]>> = {
  child_process: ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"],
  dgram: ["createSocket"],
  dns: ["lookup", "resolve", "resolve4", "resolve6"],
  "dns/promises": ["lookup", "resolve", "resolve4", "resolve6"],
  fs: [
    ...FILES.flatMap((name) => [name, `${name}Sync`]),
    "createReadStream",
    "createWriteStream",
    "existsSync",
  ],
  "fs/promises": FILES,
  http: ["createServer", "get", "request"],
  http2: ["connect"],
  https: ["get", "request"],
  net: ["connect", "createConnection", "createServer"],
  tls: ["connect"],
};

/** The methods of node:sqlite through which statements reach a database. */
const SQLITE: Readonly<Record<string, readonly string[]>> = {
  DatabaseSync: ["exec", "prepare"],
  StatementSync: ["all", "get", "iterate", "run"],
};

function guardIo(): readonly Restore[] {
  const refuseIn = (target: object, owner: string, names: readonly string[]): readonly Restore[] =>
    names.map((name) =>
      refuse(target, name, "io", { label: `${owner}.${name}`, instead: ACTIVITY_OR_STEP }),
    );
  const modules = Object.entries(IO).flatMap(([module, names]) =>
    refuseIn(builtin(`node:${module}`), module, names),
  );
  const sqlite = builtin("node:sqlite");
  const methods = Object.entries(SQLITE).flatMap(([type, names]) => {
    const { prototype } = Reflect.get(sqlite, type) as { readonly prototype: object };
    return refuseIn(prototype, `sqlite.${type}`, names);
  });
  return [...modules, ...methods];
}

// The guarded Date: in an orchestration `new Date()` and `Date()` return the time of the last delivered
// event.
//   - guarded-date.1: Apart from the missing argument it behaves like the host's Date. It has the same
//     prototype, so `instanceof`, the codec and existing dates work with it, and classes may extend it.

const guards = new WeakMap<object, DateConstructor>();
const originals = new WeakMap<object, DateConstructor>();

function guardDate(): Restore {
  const found = globalThis.Date;
  const Original = originals.get(found) ?? found;
  const restoreNow = derive(Original, "now", "date", (run) => run.eventTime);
  const Guarded = guards.get(Original) ?? guarded(Original);
  const { constructor } = Original.prototype;
  Original.prototype.constructor = Guarded;
  globalThis.Date = Guarded;
  return () => {
    restoreNow();
    Original.prototype.constructor = constructor;
    if (globalThis.Date === Guarded) globalThis.Date = Original; // otherwise other code replaced it meanwhile
  };
}

function guarded(Original: DateConstructor): DateConstructor {
  function Guarded(this: unknown, ...rest: unknown[]): unknown {
    const run = guardedRun("date");
    if (new.target === undefined) {
      return run === null ? Original() : new Original(run.eventTime).toString();
    }
    const target: unknown = new.target;
    const values = run !== null && rest.length === 0 ? [run.eventTime] : rest;
    return Reflect.construct(Original, values, target === Guarded ? Original : new.target);
  }
  Object.defineProperties(Guarded, Object.getOwnPropertyDescriptors(Original)); // guarded-date.1
  // TypeScript cannot type a function that may be both called and constructed, hence the cast.
  const made = Guarded as unknown as DateConstructor;
  guards.set(Original, made);
  originals.set(made, Original);
  return made;
}
