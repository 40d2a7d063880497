// perdure migrate: makes a store's tables, or brings them up to date; or says whether that is needed.

import { isPerdureError, type PerdureError } from "../../core/errors.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { CliError } from "../exit-codes.ts";
import { openProvider, type Migrate } from "../open-provider.ts";
import { green, yellow } from "../screen.ts";
import { configOf, sourceOf } from "../session.ts";
import { mustExist, showSource, type StoreSource } from "../store-address.ts";

export function addMigrate(program: Program): void {
  defineCommand<{ readonly verify?: true }>(
    program,
    {
      usage: "migrate [store]",
      summary: "make a store's tables, or bring them up to date",
      description:
        "Makes a store's tables, or brings them up to date. Workers do that too when they start; this is for those " +
        "who may not, and for a step of its own in a deploy. --verify changes nothing and exits with 8 if something " +
        "is missing.",
      examples: [
        ["perdure migrate", "the config's store"],
        ["perdure migrate sqlite:./orders.db", "makes the file if it is missing"],
        ["perdure migrate --verify", "for CI: exit code 8 if something is missing"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const source = sourceOf(call, await configOf(call), args[0]);
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
    },
  ).option("--verify", "change nothing; exit with 8 if something is missing");
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
  const provider = await openProvider(source, migrate);
  await provider.close();
}
