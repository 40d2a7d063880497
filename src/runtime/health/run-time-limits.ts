// The limits of the run time: what Bun and Deno cannot do, as one warning per process. docs/runtimes.md has the whole table.

interface RunTimeLimits {
  readonly name: string;
  readonly version: string | undefined;
  readonly limits: readonly string[];
}

const NAMED_IMPORTS =
  'guards do not cover names imported from Node\'s modules (import { readFileSync } from "node:fs")';
const RUN_TIMES: readonly RunTimeLimits[] = [
  {
    name: "Bun",
    version: process.versions["bun"],
    limits: [NAMED_IMPORTS, "unhandled rejections in user code end the process"],
  },
  {
    name: "Deno",
    version: process.versions["deno"],
    limits: [NAMED_IMPORTS, "an await outside ctx may be found only at replay"],
  },
];
const MEMORY = "memoryMb of threads has no effect";
const warned = new Set<string>();

/** To be called when a runtime starts. */
export function warnOfRunTimeLimits(): void {
  for (const { name, version, limits } of RUN_TIMES) {
    if (version !== undefined) warnOnce(`on ${name} ${version}, ${limits.join(", and ")}`);
  }
}

/** To be called when a thread pool has a memory limit. */
export function warnOfMemoryLimit(): void {
  for (const { name, version } of RUN_TIMES) {
    if (version !== undefined) warnOnce(`on ${name} ${version}, ${MEMORY}`);
  }
}

function warnOnce(message: string): void {
  if (warned.has(message)) return;
  warned.add(message);
  process.emitWarning(`${message}; see docs/runtimes.md`, { code: "PERDURE_RUN_TIME" });
}
