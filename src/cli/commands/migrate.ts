// perdure migrate: makes a store's tables, or brings them up to date; or says whether that is needed. With a second
// store it moves the first one there (move.ts).

import { isPerdureError, type PerdureError } from "../../core/errors.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { runMove, runUnmark, type MoveCommandOptions } from "../move.ts";
import { openProvider, type Migrate } from "../open-provider.ts";
import { green, yellow } from "../screen.ts";
import { configOf, sourceOf } from "../session.ts";
import { mustExist, showSource, type StoreSource } from "../store-address.ts";

interface MigrateOptions extends MoveCommandOptions {
  readonly verify?: true;
}

export function addMigrate(program: Program): void {
  defineCommand<MigrateOptions>(
    program,
    {
      usage: "migrate [store] [target]",
      summary: "bring a store's tables up to date, or move it to another store",
      description:
        "Makes a store's tables, or brings them up to date. Workers do that too when they start; this is for those " +
        "who may not, and for a step of its own in a deploy. --verify changes nothing and exits with 8 if something " +
        "is missing.\n\nWith a target, everything in the store moves there, running instances included, checked row " +
        "by row. Both stores must be at rest and the target empty; a move that was cut off goes on.",
      examples: [
        ["perdure migrate", "the config's store"],
        ["perdure migrate sqlite:./orders.db", "makes the file if it is missing"],
        ["perdure migrate --verify", "for CI: exit code 8 if something is missing"],
        ["perdure migrate sqlite:./orders.db postgres://db/orders", "moves the store"],
        ["perdure migrate --unmark sqlite:./orders.db", "the way back after a move"],
      ],
    },
    run,
  )
    .option("--verify", "change nothing; exit with 8 if something is missing")
    .option("--dry-run", "with a target: only show what would be moved")
    .option("--again", "with a target: although the store was moved before")
    .option("--unmark", "make a moved store usable again; empty an unfinished copy");
}

async function run(call: Call<MigrateOptions>): Promise<ExitCode> {
  const { options, args } = call;
  const [store, target] = args;
  const given = (["verify", "dryRun", "again", "unmark"] as const).filter((name) => options[name]);
  const allowed = target === undefined ? ["verify", "unmark"] : ["dryRun", "again"];
  const excess = given.find((name) => !allowed.includes(name));
  if (excess !== undefined) {
    const name = excess === "dryRun" ? "dry-run" : excess;
    const where = target === undefined ? "without" : "with";
    throw new CliError("USAGE", `--${name} has no meaning ${where} a store to move to.`);
  }
  if (given.length > 1 && target === undefined) {
    throw new CliError("USAGE", "--verify and --unmark are two questions: ask one.");
  }
  if (store !== undefined && target !== undefined) return runMove(call, store, target);
  const source = sourceOf(call, await configOf(call), store);
  if (options.unmark !== true) return bringUpToDate(call, source);
  if (source.kind === "address") return runUnmark(call, source.address);
  throw new CliError("USAGE", "--unmark needs a store's address.");
}

async function bringUpToDate(
  { cli, options }: Call<MigrateOptions>,
  source: StoreSource,
): Promise<ExitCode> {
  const shown = showSource(source);
  const missing = await findMissing(source);
  const result =
    missing === undefined ? "current" : options.verify === true ? "pending" : "applied";
  if (result === "applied") await open(source, "apply");
  if (options.json === true) {
    const found = missing === undefined ? {} : { message: missing.message };
    cli.out.document({ store: shown, result, ...found });
  } else if (result === "pending") cli.out.line(yellow("! "), missing?.message ?? "");
  else {
    const what = result === "current" ? "is up to date" : "has been brought up to date";
    cli.out.line(green("✓ "), `${shown} ${what}`);
  }
  return result === "pending" ? 8 : 0;
}

/** What keeps the store from being opened as it is; undefined: nothing. */
async function findMissing(source: StoreSource): Promise<PerdureError | CliError | undefined> {
  try {
    if (source.kind === "address") mustExist(source.address);
    await open(source, "verify");
    return undefined;
  } catch (error) {
    if (error instanceof CliError && error.code === "STORE_MISSING") return error;
    // Both providers name the files that are missing; any other complaint is no matter of migrations.
    if (isPerdureError(error, "STORE_INVALID") && error.message.includes("Missing: ")) return error;
    throw error;
  }
}

async function open(source: StoreSource, migrate: Migrate): Promise<void> {
  const provider = await openProvider(source, migrate, migrate === "verify" ? "read" : "write");
  await provider.close();
}
