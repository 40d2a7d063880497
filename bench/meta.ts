// What a figure depends on: the code, the machine, the store and its durability.

import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { PostgresProvider } from "../src/postgres/index.ts";
import { SqliteProvider } from "../src/sqlite/index.ts";
import type { Postgres } from "./postgres.ts";
import { median } from "./statistics.ts";

const SYNCS = 50;
const PAGE_BYTES = 4_096;

export interface Meta {
  /** Without the names of files and directories. */
  readonly command: string;
  readonly commit: string;
  readonly node: string;
  readonly nodeEnv: string;
  readonly platform: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  /** The machine's load when the run began; other processes make every figure worse. */
  readonly load: number;
  readonly sqlite: string;
  /** Null if no workload runs on it. */
  readonly postgres: string | null;
  readonly postgresSettings: Readonly<Record<string, string>> | null;
  /** As each store reports it after reading back its settings. */
  readonly durability: string;
  /** The time to write one page and sync it to disk. */
  readonly fdatasyncMs: number;
  readonly directory: string;
  readonly quick: boolean;
  readonly repetitions: number;
  readonly startedAt: string;
  /** How long the run took; absent while it runs. */
  readonly seconds?: number;
  /** The versions of the other engines that ran, by name. */
  readonly peers?: Readonly<Record<string, string>>;
}

/** Options whose values are paths of this machine. */
const PATHS = ["--json", "--into", "--dir"];

/** The command as one types it: `npm run bench -- --quick`. */
export function commandOf(script: string, words: readonly string[]): string {
  const said = words.filter((word, index) => {
    const isPath = (one = ""): boolean => PATHS.includes(one.split("=", 1)[0] ?? "");
    return !isPath(word) && !PATHS.includes(words[index - 1] ?? "");
  });
  return [`npm run ${script}`, ...(said.length === 0 ? [] : ["--", ...said])].join(" ");
}

export async function readMeta(
  run: Pick<Meta, "command" | "directory" | "quick" | "repetitions">,
  server: Postgres | null,
): Promise<Meta> {
  return {
    commit: commit(),
    node: process.version,
    nodeEnv: process.env["NODE_ENV"] ?? "",
    platform: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? "unknown",
    memoryGb: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? 0,
    sqlite: process.versions.sqlite ?? "unknown",
    postgres: server && `${server.version}, ${server.own ? "started for this run" : "as found"}`,
    postgresSettings: server && server.settings,
    durability: [
      `sqlite ${await sqliteDurability(run.directory)}`,
      ...(server === null ? [] : [`postgres ${await postgresDurability(server)}`]),
    ].join("; "),
    fdatasyncMs: fdatasyncMs(run.directory),
    ...run,
    startedAt: new Date().toISOString(),
  };
}

/** With a plus if the work tree has uncommitted changes. */
function commit(): string {
  const git = (...words: string[]): string =>
    execFileSync("git", words, {
      cwd: import.meta.dirname,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    const dirty = git("status", "--porcelain", "--", "../src") === "" ? "" : "+";
    return git("rev-parse", "--short=12", "HEAD") + dirty;
  } catch {
    return "unknown";
  }
}

async function postgresDurability(server: Postgres): Promise<string> {
  const { url, drop } = await server.freshDatabase();
  try {
    const provider = await PostgresProvider.open(url);
    await provider.close();
    return provider.durability;
  } finally {
    await drop();
  }
}

async function sqliteDurability(directory: string): Promise<string> {
  const own = mkdtempSync(join(directory, "perdure-bench-"));
  try {
    const provider = await SqliteProvider.open(join(own, "bench.db"));
    await provider.close();
    return provider.durability;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function fdatasyncMs(directory: string): number {
  const path = join(directory, `perdure-bench-sync-${process.pid}`);
  const file = openSync(path, "w");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times = Array.from({ length: SYNCS }, () => {
    const begun = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - begun;
  });
  closeSync(file);
  rmSync(path);
  return Math.round(median(times) * 1_000) / 1_000;
}
