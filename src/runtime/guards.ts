// Guards: what would make an orchestration diverge is derived or refused while its code runs.
//   GD1. A guard acts during a drain of an orchestration that has it switched on, and at no other time: steps,
//        activities and everybody else's code meet the originals.
//   GD2. Derived: Date, Date.now, performance.now, Math.random, crypto.randomUUID. Refused, with the name of the
//        right call: other random values, timers, fetch, and while developing Node's I/O modules.
//   GD3. The engine takes its originals at import; a guard goes on with the first runtime that wants it and off
//        with the last, and a runtime that wants none changes nothing.

import { createRequire, syncBuiltinESMExports } from "node:module";
import { GUARD_NAMES, type GuardName } from "../core/guard-names.ts";
import { guardDate } from "./guarded-date.ts";
import { derive, refuse, type Restore } from "./host-functions.ts";

const PUT_ON: Readonly<Record<GuardName, () => readonly Restore[]>> = {
  date: guardClocks,
  random: guardChance,
  timers: guardTimers,
  fetch: () => [refuse(globalThis, "fetch", "fetch", { instead: WORK })],
  io: guardIo,
};
const WORK = "an activity (ctx.run) or a step (ctx.step)";
const installed = new Map<GuardName, { users: number; readonly restores: readonly Restore[] }>();

/** Puts guards on; the returned function takes off those that nobody else needs. */
export function installGuards(names: ReadonlySet<GuardName>): Restore {
  const wanted = GUARD_NAMES.filter((name) => names.has(name));
  for (const name of wanted) {
    const guard = installed.get(name);
    if (guard === undefined) installed.set(name, { users: 1, restores: PUT_ON[name]() });
    else guard.users++;
  }
  // What is imported by name follows the module's properties only when it is told to.
  if (wanted.length > 0) syncBuiltinESMExports();
  let active = true;
  return () => {
    if (!active) return;
    active = false;
    for (const name of wanted) takeOff(name);
    if (wanted.length > 0) syncBuiltinESMExports();
  };
}

function takeOff(name: GuardName): void {
  const guard = installed.get(name);
  if (guard === undefined || --guard.users > 0) return;
  installed.delete(name);
  for (const restore of guard.restores) restore();
}

const load = createRequire(import.meta.url);
/** A module of Node's as CommonJS sees it: its properties can be replaced, and the named exports follow. */
function builtin(name: string): object {
  return load(name) as object;
}

function guardClocks(): readonly Restore[] {
  return [guardDate(), derive(performance, "now", "date", (run) => run.at - run.startedAt)];
}

function guardChance(): readonly Restore[] {
  const web = globalThis.crypto;
  const node = builtin("node:crypto");
  const refused = ["getRandomValues", "randomBytes", "randomFill", "randomFillSync", "randomInt"];
  return [
    derive(Math, "random", "random", (run) => run.random()),
    derive(web, "randomUUID", "random", (run) => run.uuid()),
    derive(node, "randomUUID", "random", (run) => run.uuid()),
    ...[web, node].flatMap((module) =>
      [...refused, "randomUUIDv7"].map((name) =>
        refuse(module, name, "random", {
          label: `crypto.${name}`,
          instead: "ctx.random() or ctx.uuid(), or a step (ctx.step)",
        }),
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
  const modules = Object.entries(IO).flatMap(([module, names]) =>
    names.map((name) =>
      refuse(builtin(`node:${module}`), name, "io", { label: `${module}.${name}`, instead: WORK }),
    ),
  );
  const sqlite = builtin("node:sqlite");
  const methods = Object.entries(SQLITE).flatMap(([type, names]) => {
    const { prototype } = Reflect.get(sqlite, type) as { readonly prototype: object };
    return names.map((name) =>
      refuse(prototype, name, "io", { label: `sqlite.${type}.${name}`, instead: WORK }),
    );
  });
  return [...modules, ...methods];
}
