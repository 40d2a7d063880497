// Checks a SQLite file: SQLite's version, schema, journal mode, size, file system, damage.

import type { Inspection } from "../../sqlite/read/inspection.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";
import { checkMetrics } from "./metrics.ts";

/** Older versions can damage a file that several processes write (the WAL-reset bug). */
const SQLITE_MIN = [3, 51, 3] as const;
const WAL_BYTES_MAX = 256 * 1024 * 1024;
const DISK_FREE_BYTES_MIN = 256 * 1024 * 1024;

export function checkSqlite(found: Inspection): readonly Finding[] {
  return [
    checkVersion(found.sqliteVersion),
    checkSchema(found),
    checkJournal(found),
    checkSize(found),
    checkFileSystem(found),
    ...checkDamage(found.damage),
    ...checkMetrics(found.miscounts),
  ];
}

function checkVersion(version: string): Finding {
  if (isAtLeast(version, SQLITE_MIN)) return ok("sqlite-version", `SQLite ${version}`);
  const message = `SQLite ${version} can damage a file that several processes write.`;
  return problem("sqlite-version", message, { hint: "Use a Node with SQLite 3.51.3 or later." });
}

function checkSchema({ schema: { found, known } }: Inspection): Finding {
  if (found === known) return ok("schema", `version ${found}, the version this Perdure needs`);
  const message = `version ${found}; this Perdure needs ${known}.`;
  return problem("schema", message, { hint: "Run: perdure migrate" });
}

function checkJournal({ journalMode }: Inspection): Finding {
  if (journalMode === "wal") return ok("journal", "write-ahead log (WAL)");
  const message = `journal_mode is ${journalMode}, not wal: another program changed it.`;
  return problem("journal", message, {
    hint: "The next worker that opens the file sets it to wal.",
  });
}

function checkSize({ bytes, freeBytes, walBytes, diskFreeBytes }: Inspection): Finding {
  if (diskFreeBytes !== undefined && diskFreeBytes < DISK_FREE_BYTES_MIN) {
    const message = `only ${megabytes(diskFreeBytes)} are free on the disk`;
    return problem("size", message, {
      hint: "Free disk space, or delete and prune old instances.",
    });
  }
  if (walBytes > WAL_BYTES_MAX) {
    const message = `the -wal file has ${megabytes(walBytes)}: a long read transaction prevents checkpoints.`;
    return warning("size", message, "Find the process that holds a long transaction.");
  }
  return ok("size", `${megabytes(bytes)}, of which ${megabytes(freeBytes)} are free pages`);
}

function checkFileSystem({ networkFileSystem }: Inspection): Finding {
  if (networkFileSystem === undefined) return ok("place", "not on a network file system");
  const message = `the file is on ${networkFileSystem}, a network file system; its locks are not reliable.`;
  return problem("place", message, { hint: "Use a local disk, or PostgreSQL." });
}

export function checkDamage(damage: Inspection["damage"]): readonly Finding[] {
  if (damage === undefined) return [];
  if (damage.length === 0) return [ok("integrity", "all pages are intact")];
  const hint = "Stop all workers and restore a backup; keep the damaged file.";
  return [problem("integrity", "the file is damaged", { details: damage, hint })];
}

function isAtLeast(version: string, least: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, wanted] of least.entries()) {
    const part = parts[index] ?? 0;
    if (part !== wanted) return part > wanted;
  }
  return true;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
