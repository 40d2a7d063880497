// perdure migrate: creates a store's tables or updates them; with --verify, only reports whether that is
// needed. With a second store, moves the first store there (store/move.ts).

import { isPerdureError, type PerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import { defineCommand, type Call, type Program } from "../define-command.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { runMove, runUnmark, type MoveCommandOptions } from "../store/move.ts";
import { openProvider, type Migrate } from "../store/open-provider.ts";
import { green, yellow } from "../text/screen.ts";
import { configOf, sourceOf } from "../store/session.ts";
import { assertStoreExists, showSource, type StoreSource } from "../store/store-address.ts";

interface MigrateOptions extends MoveCommandOptions {
  readonly verify?: true;
}

export function addMigrate(program: Program): void {
  defineCommand<MigrateOptions>(
    program,
    {
      usage: "migrate [store] [target]",
      summary: "update a store's tables, or move it to another store",
      description:
        "Creates a store's tables, or updates them to the current schema. Workers do this when they start; use this " +
        "command if workers lack the permission, or for a separate step of a deploy. --verify changes nothing and " +
        "exits with 8 if a migration is missing.\n\nWith a target, moves everything in the store there, including " +
        "running instances, and checks every row. No worker may run on either store, and the target must be empty. " +
        "Repeat the command to continue an interrupted move.",
      examples: [
        ["perdure migrate", "update the config's store"],
        ["perdure migrate sqlite:./orders.db", "create the file if it is missing"],
        ["perdure migrate --verify", "for CI: exit code 8 if a migration is missing"],
        ["perdure migrate sqlite:./orders.db postgres://db/orders", "move the store"],
        ["perdure migrate --unmark sqlite:./orders.db", "use the old store again after a move"],
      ],
    },
    run,
  )
    .option("--verify", "change nothing; exit with 8 if a migration is missing")
    .option("--dry-run", "with a target: only show what would be moved")
    .option("--again", "with a target: move a store that was moved before")
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
    throw new CliError("USAGE", `--${name} cannot be used ${where} a target store.`);
  }
  if (given.length > 1 && target === undefined) {
    throw new CliError("USAGE", "--verify and --unmark cannot be used together.");
  }
  if (store !== undefined && target !== undefined) return runMove(call, store, target);
  const source = sourceOf(call, await configOf(call), store);
  if (options.unmark !== true) return bringUpToDate(call, source);
  if (source.kind === "address") return runUnmark(call, source.address);
  throw new CliError(
    "USAGE",
    "--unmark needs the address of a store; the config opens its store with a function.",
  );
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
    const found = defined({ message: missing?.message });
    cli.out.document({ store: shown, result, ...found });
  } else if (result === "pending") cli.out.line(yellow("! "), missing?.message ?? "");
  else {
    const what = result === "current" ? "is up to date" : "was updated";
    cli.out.line(green("✓ "), `${shown} ${what}`);
  }
  return result === "pending" ? 8 : 0;
}

/** The error that reports missing tables or a missing file. Undefined: the store opens as it is. */
async function findMissing(source: StoreSource): Promise<PerdureError | CliError | undefined> {
  try {
    if (source.kind === "address") assertStoreExists(source.address);
    await open(source, "verify");
    return undefined;
  } catch (error) {
    if (error instanceof CliError && error.code === "STORE_MISSING") return error;
    // Both providers list missing migrations after "Missing: ". Any other STORE_INVALID error has another
    // cause.
    if (isPerdureError(error, "STORE_INVALID") && error.message.includes("Missing: ")) return error;
    throw error;
  }
}

async function open(source: StoreSource, migrate: Migrate): Promise<void> {
  const provider = await openProvider(source, migrate, migrate === "verify" ? "read" : "write");
  await provider.close();
}
