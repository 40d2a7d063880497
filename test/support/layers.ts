// The layers of src/ and which imports they allow, with the check that test/project/architecture.test.ts uses.
// ARCHITECTURE.md shows the first table. Tests may import anything.

import { posix } from "node:path";
import { findImports, type Import, type SourceText } from "./source-scan.ts";

const LAYERS = [
  "core",
  "runtime",
  "client",
  "flow",
  "liveness",
  "sql",
  "sqlite",
  "postgres",
] as const;
const SHELLS = [
  "adapters",
  "batch",
  "callback",
  "encryption",
  "entity",
  "move",
  "stream",
  "limiter",
  "schedule",
  "telemetry",
  "testing",
  "server",
  "cli",
  "eslint-plugin",
  "index",
] as const;

export type Layer = (typeof LAYERS)[number] | (typeof SHELLS)[number];
type Table<Value> = Readonly<Record<Layer, Value>>;

/** A layer is a folder of src/; `index` is the files in src/ itself. */
export const MAY_IMPORT: Table<readonly Layer[]> = {
  core: [],
  runtime: ["core"],
  client: ["core"],
  flow: ["core"],
  liveness: ["core"],
  sql: ["core"],
  sqlite: ["core", "liveness", "sql"],
  postgres: ["core", "liveness", "sql"],
  batch: ["core", "client"],
  callback: ["core", "client"],
  encryption: ["core"],
  entity: ["core", "client"],
  move: ["core", "runtime", "client"],
  stream: ["core", "client"],
  limiter: ["core", "client"],
  schedule: ["core", "client"],
  telemetry: ["core"],
  testing: ["core", "runtime", "client", "sqlite"],
  server: ["core", "client", "callback"],
  adapters: ["core", "client", "server", "index"],
  "eslint-plugin": [],
  index: ["core", "runtime", "client", "move"],
  cli: [...LAYERS, ...SHELLS],
};

/** By `import()` only, so that a user of one provider does not load the other one. */
export const MAY_IMPORT_LAZILY: Partial<Table<readonly Layer[]>> = {
  index: ["sqlite", "postgres"],
};

/** Packages from the registry. Optional peers, except those of the server and the command line. */
export const MAY_IMPORT_PACKAGES: Partial<Table<readonly string[]>> = {
  adapters: ["@nestjs/common", "@nestjs/core"],
  postgres: ["pg"],
  telemetry: ["@opentelemetry/api"],
  schedule: ["croner"],
  testing: ["vitest"],
  "eslint-plugin": ["eslint"],
  callback: ["hono"],
  server: ["hono", "hono/*", "@hono/node-server", "valibot", "@valibot/to-json-schema"],
  cli: ["commander", "@hono/node-server"],
};

const EVERYDAY = [
  "node:async_hooks",
  "node:buffer",
  "node:crypto",
  "node:events",
  "node:fs",
  "node:fs/promises",
  "node:os",
  "node:path",
  "node:process",
  "node:url",
  "node:util",
  "node:worker_threads",
];

/** Built-in modules of Node. Core and runtime have no timers, because time comes from the environment. */
export const MAY_IMPORT_BUILTINS: Table<readonly string[]> = {
  core: ["node:async_hooks", "node:crypto", "node:zlib"],
  runtime: [...EVERYDAY, "node:diagnostics_channel", "node:module", "node:v8", "node:vm"],
  client: EVERYDAY,
  flow: ["node:crypto"],
  liveness: ["node:worker_threads"],
  sql: [],
  adapters: ["node:async_hooks", "node:http", "node:timers/promises"],
  sqlite: [...EVERYDAY, "node:child_process", "node:sqlite", "node:timers/promises"],
  postgres: [...EVERYDAY, "node:child_process", "node:timers/promises"],
  batch: [],
  callback: ["node:buffer", "node:crypto"],
  encryption: ["node:buffer", "node:crypto"],
  entity: ["node:buffer"],
  move: EVERYDAY,
  stream: [],
  limiter: ["node:buffer"],
  schedule: ["node:buffer"],
  telemetry: [...EVERYDAY, "node:diagnostics_channel", "node:module", "node:perf_hooks"],
  testing: [...EVERYDAY, "node:child_process", "node:sqlite", "node:timers/promises"],
  server: [...EVERYDAY, "node:http", "node:stream", "node:stream/promises", "node:zlib"],
  "eslint-plugin": [],
  index: EVERYDAY,
  cli: [
    ...EVERYDAY,
    ...["node:child_process", "node:http", "node:module", "node:readline", "node:tty"],
    "node:timers/promises",
  ],
};

/** The allowed names of partly allowed built-in modules: core may hash, but must not draw random numbers. */
const MAY_TAKE_NAMES: Readonly<Record<string, readonly string[]>> = {
  "core node:crypto": ["createHash", "hash", "Hash"],
  "core node:zlib": ["crc32"],
};

/** The one file that wraps the machine's clock, timers and randomness. */
export const SYSTEM_ENVIRONMENT = "src/core/time/system-environment.ts";

export function isTestFile(path: string): boolean {
  return path.endsWith(".test.ts");
}

export function layerOf(path: string): Layer | undefined {
  const name = /^src\/[^/]+\.ts$/.test(path) ? "index" : /^src\/([^/]+)\//.exec(path)?.[1];
  return name !== undefined && Object.hasOwn(MAY_IMPORT, name) ? (name as Layer) : undefined;
}

/** The imports of a file that the tables above do not allow, as `file:line sentence`. */
export function forbiddenImports(source: SourceText): string[] {
  const layer = layerOf(source.path);
  if (layer === undefined) return [`${source.path}:1 belongs to no layer`];
  return findImports(source).flatMap((found) => {
    const violation = found.specifier.startsWith(".")
      ? checkRelative(source.path, layer, found)
      : checkBare(source.path, layer, found);
    return violation === undefined ? [] : [`${source.path}:${found.line} ${violation}`];
  });
}

function checkRelative(path: string, from: Layer, found: Import): string | undefined {
  const target = posix.join(posix.dirname(path), found.specifier);
  const to = layerOf(target);
  if (to === undefined) return `imports ${target}, which is outside the layers`;
  if (isTestFile(target)) return `imports the test ${target}`;
  if (to === from || MAY_IMPORT[from].includes(to)) return undefined;
  if (MAY_IMPORT_LAZILY[from]?.includes(to)) {
    return found.lazy ? undefined : `imports ${to} (${target}) other than by import()`;
  }
  return `imports ${to} (${target}), which ${from} may not`;
}

function checkBare(path: string, from: Layer, found: Import): string | undefined {
  const { specifier } = found;
  const allowed = specifier.startsWith("node:") ? MAY_IMPORT_BUILTINS : MAY_IMPORT_PACKAGES;
  const family = specifier.replace(/^([^@/][^/]*)\/.*$/, "$1/*");
  if (!allowed[from]?.some((name) => name === specifier || name === family))
    return `imports ${specifier}, which ${from} may not`;
  const names = MAY_TAKE_NAMES[`${from} ${specifier}`];
  if (names === undefined || path === SYSTEM_ENVIRONMENT) return undefined;
  const excess = found.names.filter((name) => !names.includes(name));
  return excess.length === 0
    ? undefined
    : `takes ${excess.join(", ")} from ${specifier}; ${from} may take ${names.join(", ")}`;
}
