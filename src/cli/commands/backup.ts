// perdure backup: copies a SQLite store to a file while workers run, and checks the copy.
//   BU1. The file has its name only when it is complete and checked. Damaged pages: no file is kept. A damaged row
//        concerns one instance, and the store has it too: the file is kept, and the exit code is 8.
//   BU2. A store with an older schema is copied too: before an upgrade is when a backup is needed most.

import { statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import { backUpFile } from "../../sqlite/backup.ts";
import { inspectFile } from "../../sqlite/inspection.ts";
import type { Cli } from "../cli.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { warning, type Finding } from "../doctor/finding.ts";
import { checkRows } from "../doctor/rows.ts";
import { checkDamage, megabytes } from "../doctor/sqlite.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import { openProvider } from "../open-provider.ts";
import { PartialFile } from "../partial-file.ts";
import { Progress } from "../progress.ts";
import { green, red, yellow } from "../screen.ts";
import { configOf, sourceOf } from "../session.ts";
import {
  looksLikeAddress,
  mustExist,
  showSource,
  sqliteFile,
  type StoreSource,
} from "../store-address.ts";

const MIB = 1024 * 1024;
/** Between two lines about progress where there is no terminal. */
const LINE_EVERY_MS = 5_000;

type BackupCall = Call<unknown>;

export function addBackup(program: Program): void {
  defineCommand(
    program,
    {
      usage: "backup [store] [file]",
      summary: "copy a SQLite store to a file while workers run, and check the copy",
      description:
        "Copies a SQLite store to a new file, as it is at one moment, while workers run. Then reads every page and " +
        "every row of the copy. The file appears under its name when it is complete; an existing file is refused. " +
        "Exits with 8 if the check finds damage. PostgreSQL has its own tools: pg_dump, or base backups.",
      examples: [
        ["perdure backup ./orders-backup.db", "the config's store"],
        ["perdure backup sqlite:./orders.db ./orders-backup.db", "that store"],
        ["perdure doctor sqlite:./orders-backup.db", "looks into the backup"],
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
    return tell(call, { source, target, isWhole, findings });
  } catch (error) {
    if (interruption.code === undefined || isPerdureError(error)) throw error;
    cli.err.line(yellow("! "), "stopped; no backup was written");
    return interruption.code;
  } finally {
    progress.end();
  }
}

/** One word is the file, unless it is an address. */
function argumentsOf({ args }: BackupCall): { store: string | undefined; file: string } {
  const [first, second] = args;
  const store = second === undefined && !looksLikeAddress(first ?? "") ? undefined : first;
  const file = store === undefined ? first : second;
  if (file !== undefined && file !== "" && !looksLikeAddress(file)) return { store, file };
  const message = `The backup needs the path of a new file, such as ./orders-backup.db${file === undefined ? "" : `; got "${file}"`}.`;
  throw new CliError("USAGE", message);
}

function fileOf(source: StoreSource): string {
  if (source.kind === "function") {
    const message =
      "The config opens its store by a function. Give the address: perdure backup sqlite:./orders.db <file>";
    throw new CliError("USAGE", message);
  }
  const file = sqliteFile(source.address);
  if (file !== undefined) {
    mustExist(source.address);
    return file;
  }
  const message = /^postgres(ql)?:/.test(source.address)
    ? "PostgreSQL has its own backups: pg_dump for a copy of one moment, or base backups and archived WAL for any moment (docs/postgresql.md#backup)."
    : `Only a SQLite file can be backed up; got ${showSource(source)}.`;
  throw new CliError("USAGE", message);
}

/** Before anything is written. Returns the size of the store. */
function checkSource(file: string): number {
  const { schema, bytes } = inspectFile(file, { thorough: false });
  if (schema.found > 0) return bytes;
  throw new PerdureError(
    "STORE_INVALID",
    `${file} has no tables of Perdure: there is nothing to back up.`,
  );
}

/** A disk that a backup has filled up would stop the workers too. */
function checkSpace(target: string, bytes: number): void {
  let free: number;
  try {
    const { bavail, bsize } = statfsSync(dirname(target));
    free = bavail * bsize;
  } catch {
    return; // the directory is missing, which is reported when the file is made
  }
  if (free > bytes) return;
  const message = `The backup needs ${megabytes(bytes)}, and ${megabytes(free)} are free in ${dirname(target)}.`;
  throw new CliError("FILE_UNWRITABLE", message);
}

async function check(file: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const { damage, schema } = inspectFile(file, { thorough: true });
  const findings = checkDamage(damage);
  signal.throwIfAborted();
  if (findings.some(({ level }) => level === "problem")) return findings;
  if (schema.found !== schema.known) {
    const message = `rows were not compared with their checksums: the store has schema version ${schema.found}, and this Perdure reads ${schema.known}`;
    return [...findings, warning("checksums", message)];
  }
  const provider = await openProvider({ kind: "address", address: `sqlite:${file}` }, "verify");
  try {
    return [...findings, ...(await checkRows(provider, signal))];
  } finally {
    await provider.close();
  }
}

/** The file must hold everything by itself: its log is not published. */
function assertNoLog(file: string): void {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  if (log === undefined || log.size === 0) return;
  const message = `The log of ${file} could not be written back into it; no backup was written. Try again.`;
  throw new PerdureError("STORE_UNAVAILABLE", message);
}

interface Outcome {
  readonly source: StoreSource;
  readonly target: string;
  readonly isWhole: boolean;
  readonly findings: readonly Finding[];
}

function tell({ cli, options }: BackupCall, outcome: Outcome): ExitCode {
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

/** A bar on a terminal; elsewhere a line now and then. */
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
