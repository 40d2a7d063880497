// perdure backup: copies a SQLite store to a file while workers run, and checks the copy.
//   - The file gets its final name only after the copy is complete and checked.
//   - If pages of the copy are damaged, the command keeps no file. A damaged row affects one instance and is
//        damaged in the store too: the command keeps the file. Both cases exit with code 8.
//   - The command also copies a store with an older schema, so that users can back up before an upgrade.

import { statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import { backUpFile } from "../../sqlite/admin/backup.ts";
import { inspectFile } from "../../sqlite/read/inspection.ts";
import type { Cli } from "../cli.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { warning, type Finding } from "../doctor/finding.ts";
import { checkRows } from "../doctor/rows.ts";
import { checkDamage, megabytes } from "../doctor/sqlite.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import { openProvider } from "../store/open-provider.ts";
import { PartialFile } from "../store/partial-file.ts";
import { Progress } from "../text/progress.ts";
import { green, red, yellow } from "../text/screen.ts";
import { configOf, sourceOf } from "../store/session.ts";
import {
  looksLikeAddress,
  assertStoreExists,
  showSource,
  sqliteFile,
  type StoreSource,
} from "../store/store-address.ts";

const MIB = 1024 * 1024;
/** The time between two progress lines if standard error is not a terminal. */
const LINE_EVERY_MS = 5_000;

type BackupCall = Call<unknown>;

export function addBackup(program: Program): void {
  defineCommand(
    program,
    {
      usage: "backup [store] [file]",
      summary: "copy a SQLite store to a file while workers run, and check the copy",
      description:
        "Copies a consistent snapshot of a SQLite store to a new file while workers run. Then reads every page and " +
        "every row of the copy. The file gets its name only when it is complete; existing files are never " +
        "overwritten. Exits with 8 if the check finds damage. For PostgreSQL use pg_dump or base backups.",
      examples: [
        ["perdure backup ./orders-backup.db", "back up the config's store"],
        ["perdure backup sqlite:./orders.db ./orders-backup.db", "back up another store"],
        ["perdure doctor sqlite:./orders-backup.db", "check the backup"],
      ],
    },
    run,
  );
}

async function run(call: BackupCall): Promise<ExitCode> {
  const { cli } = call;
  const { store, file } = argumentsOf(call);
  const source = sourceOf(call, await configOf(call), store);
  const from = fileOf(source);
  const target = resolve(cli.cwd, file);
  const bytes = checkSource(from);
  checkSpace(target, bytes);
  using interruption = new Interruption();
  using partial = new PartialFile(target);
  const progress = new BackupProgress(call, bytes);
  try {
    const onProgress = (share: number): void => progress.show(share);
    await backUpFile(from, partial.path, { signal: interruption.signal, onProgress });
    progress.end();
    progress.line("checking the copy");
    const findings = await check(partial.path, interruption.signal);
    const isWhole = !findings.some(
      ({ check: name, level }) => name === "integrity" && level === "problem",
    );
    assertNoLog(partial.path);
    if (isWhole) partial.publish();
    return printOutcome(call, { source, target, isWhole, findings });
  } catch (error) {
    if (interruption.code === undefined || isPerdureError(error)) throw error;
    cli.err.line(yellow("! "), "interrupted; no backup was written");
    return interruption.code;
  } finally {
    progress.end();
  }
}

/** A single argument is the file, unless it looks like a store's address. */
function argumentsOf({ args }: BackupCall): { store: string | undefined; file: string } {
  const [first, second] = args;
  const store = second === undefined && !looksLikeAddress(first ?? "") ? undefined : first;
  const file = store === undefined ? first : second;
  if (file !== undefined && file !== "" && !looksLikeAddress(file)) return { store, file };
  const message = `The backup file must be the path of a new file, such as ./orders-backup.db${file === undefined ? "" : `; got "${file}"`}.`;
  throw new CliError("USAGE", message);
}

function fileOf(source: StoreSource): string {
  if (source.kind === "function") {
    const message =
      "The config opens its store with a function. Pass the address: perdure backup sqlite:./orders.db <file>";
    throw new CliError("USAGE", message);
  }
  const file = sqliteFile(source.address);
  if (file !== undefined) {
    assertStoreExists(source.address);
    return file;
  }
  const message = /^postgres(ql)?:/.test(source.address)
    ? "perdure backup copies SQLite files only. For PostgreSQL use pg_dump, or base backups and archived WAL for point-in-time recovery (docs/postgresql.md#backup)."
    : `Only a SQLite file can be backed up; got ${showSource(source)}.`;
  throw new CliError("USAGE", message);
}

/** Refuses a file without Perdure's tables, before anything is written. Returns the size of the store. */
function checkSource(file: string): number {
  const { schema, bytes } = inspectFile(file, { thorough: false });
  if (schema.found > 0) return bytes;
  throw new PerdureError(
    "STORE_INVALID",
    `${file} has no Perdure tables: there is nothing to back up.`,
  );
}

/** Refuses a backup that would fill the disk: a full disk would stop the workers too. */
function checkSpace(target: string, bytes: number): void {
  let free: number;
  try {
    const { bavail, bsize } = statfsSync(dirname(target));
    free = bavail * bsize;
  } catch {
    return; // the directory is missing; creating the file reports that
  }
  if (free > bytes) return;
  const message = `The backup needs ${megabytes(bytes)}; only ${megabytes(free)} are free in ${dirname(target)}.`;
  throw new CliError("FILE_UNWRITABLE", message);
}

async function check(file: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const { damage, schema } = inspectFile(file, { thorough: true });
  const findings = checkDamage(damage);
  signal.throwIfAborted();
  if (findings.some(({ level }) => level === "problem")) return findings;
  if (schema.found !== schema.known) {
    const message = `row checksums were not verified: the store has schema version ${schema.found}, this version of Perdure reads ${schema.known}`;
    return [...findings, warning("checksums", message)];
  }
  const provider = await openProvider({ kind: "address", address: `sqlite:${file}` }, "verify");
  try {
    return [...findings, ...(await checkRows(provider, signal))];
  } finally {
    await provider.close();
  }
}

/** Refuses a copy whose write-ahead log is not empty: only the database file becomes the backup. */
function assertNoLog(file: string): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) return;
  const message = `The write-ahead log of ${file} could not be written back to the file; no backup was written. Try again.`;
  throw new PerdureError("STORE_UNAVAILABLE", message);
}

interface Outcome {
  readonly source: StoreSource;
  readonly target: string;
  readonly isWhole: boolean;
  readonly findings: readonly Finding[];
}

function printOutcome({ cli, options }: BackupCall, outcome: Outcome): ExitCode {
  const { source, target, isWhole, findings } = outcome;
  const bytes = isWhole ? statSync(target).size : 0;
  const ok = !findings.some(({ level }) => level === "problem");
  if (options.json === true) {
    const file = isWhole ? { file: target, bytes } : {};
    cli.out.document({ store: showSource(source), ok, ...file, findings });
    return ok ? 0 : 8;
  }
  for (const { level, message, hint, details = [] } of findings) {
    if (level !== "ok") cli.out.line(level === "problem" ? red("✗ ") : yellow("! "), message);
    for (const detail of details) cli.out.line("    ", detail);
    if (hint !== undefined) cli.out.line("    ", hint);
  }
  if (isWhole) cli.out.line(green("✓ "), `${target} (${megabytes(bytes)})`);
  else cli.out.line(red("✗ "), "no backup was written");
  return ok ? 0 : 8;
}

/** Shows a progress bar on a terminal, or a line every few seconds elsewhere. */
class BackupProgress {
  readonly #cli: Cli;
  readonly #isQuiet: boolean;
  readonly #total: number;
  readonly #bar: Progress;
  #done = 0;
  #lineAt = performance.now();

  constructor({ cli, options }: BackupCall, bytes: number) {
    this.#cli = cli;
    this.#isQuiet = options.json === true || cli.err.isTerminal;
    this.#total = Math.ceil(bytes / MIB);
    this.#bar = new Progress(cli.err, "MiB copied", this.#total);
    this.line(`copying ${megabytes(bytes)}`);
  }

  show(share: number): void {
    const done = Math.floor(share * this.#total);
    this.#bar.step(done - this.#done);
    this.#done = done;
    if (performance.now() - this.#lineAt < LINE_EVERY_MS) return;
    this.#lineAt = performance.now();
    this.line(`${done} of ${this.#total} MiB copied`);
  }

  line(text: string): void {
    if (!this.#isQuiet) this.#cli.err.line(text);
  }

  end(): void {
    this.#bar.end();
  }
}
