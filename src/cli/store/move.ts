// perdure migrate <store> <target>: moves a whole store. --unmark makes a moved store usable again.
//   - move.1: The command refuses an impossible move before it creates the target's tables.
//   - Ctrl+C stops between two batches. The same command then continues the move.

import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { maskAddress } from "../../core/values/secrets.ts";
import { planMove, type MovePlan } from "../../move/move-plan.ts";
import {
  moveStore,
  unmarkStore,
  type MoveProgress,
  type MoveResult,
} from "../../move/move-store.ts";
import type { Cli } from "../cli.ts";
import type { Call } from "../define-command.ts";
import { CliError, type ExitCode } from "../exit-codes.ts";
import { Interruption } from "../interrupt.ts";
import { openProvider } from "./open-provider.ts";
import { plural } from "../text/plural.ts";
import { Progress } from "../text/progress.ts";
import { dim, green, yellow } from "../text/screen.ts";
import { looksLikeAddress, assertStoreExists } from "./store-address.ts";
import { printTable } from "../text/table.ts";

export interface MoveCommandOptions {
  readonly dryRun?: true;
  readonly again?: true;
  readonly unmark?: true;
}
/** How many digits of a checksum the table shows. JSON output contains all of them. */
const SHOWN_DIGITS = 16;

type MoveCall = Call<MoveCommandOptions>;

export async function runMove(call: MoveCall, from: string, to: string): Promise<ExitCode> {
  const { cli, options } = call;
  for (const address of [from, to]) {
    if (!looksLikeAddress(address)) {
      throw new CliError(
        "USAGE",
        `"${maskAddress(address)}" is not the address of a store, such as sqlite:./app.db.`,
      );
    }
  }
  if (options.store !== undefined) {
    throw new CliError("USAGE", "A move takes both stores as arguments; --store cannot be used.");
  }
  assertStoreExists(from);
  await using stores = new AsyncDisposableStack();
  const source = stores.adopt(await open(from, "verify"), (provider) => provider.close());
  const again = options.again === true;
  const plan = await planned(source, to, again);
  const shown = { from: maskAddress(from), to: maskAddress(to) };
  if (options.dryRun === true) return printPlan(call, plan, shown);
  const target = stores.adopt(await open(to, "apply"), (provider) => provider.close());
  using interruption = new Interruption();
  const bar = new MoveBar(cli);
  let result: MoveResult;
  try {
    const onProgress = (progress: MoveProgress): void => bar.show(progress);
    result = await moveStore(source, target, { again, onProgress, signal: interruption.signal });
  } catch (error) {
    if (interruption.code === undefined || isPerdureError(error)) throw error;
    cli.err.line(yellow("! "), "interrupted; run the same command again to continue");
    return interruption.code;
  } finally {
    bar.end();
  }
  printResult(call, result, shown);
  return 0;
}

/** Makes a moved store usable again, or empties an unfinished target. */
export async function runUnmark(call: MoveCall, address: string): Promise<ExitCode> {
  const { cli, options } = call;
  assertStoreExists(address);
  await using stores = new AsyncDisposableStack();
  const store = stores.adopt(await open(address, "verify"), (provider) => provider.close());
  const mark = await unmarkStore(store);
  const shown = maskAddress(address);
  const result =
    mark === null ? "unmarked already" : mark.role === "target" ? "emptied" : "unmarked";
  if (options.json === true) {
    cli.out.document({ store: shown, result, ...(mark === null ? {} : { other: mark.other }) });
    return 0;
  }
  if (mark === null) cli.out.line(green("✓ "), `${shown} is not marked as moved`);
  else if (mark.role === "target") {
    cli.out.line(green("✓ "), `${shown} was an unfinished copy of ${mark.other}; it is now empty`);
  } else {
    cli.out.line(green("✓ "), `${shown} can be used again`);
    cli.out.line(
      yellow("! "),
      `Make sure that no worker runs on ${mark.other}: both stores contain the same instances.`,
    );
  }
  return 0;
}

/** move.1. A target without tables counts as missing. */
async function planned(source: Provider, to: string, again: boolean): Promise<MovePlan> {
  const target = await existing(to);
  try {
    return await planMove(source, target, { again });
  } finally {
    await target?.close();
  }
}

async function existing(address: string): Promise<Provider | null> {
  try {
    assertStoreExists(address);
    return await open(address, "verify");
  } catch (error) {
    if (error instanceof CliError && error.code === "STORE_MISSING") return null;
    if (isPerdureError(error, "STORE_INVALID") && error.message.includes("Missing: ")) return null;
    throw error;
  }
}

function open(address: string, migrate: "apply" | "verify"): Promise<Provider> {
  return openProvider({ kind: "address", address }, migrate);
}

interface Shown {
  readonly from: string;
  readonly to: string;
}

function printPlan({ cli, options }: MoveCall, plan: MovePlan, shown: Shown): ExitCode {
  const { tables, resumes } = plan;
  if (options.json === true) {
    cli.out.document({ ...shown, result: "planned", resumes, tables });
    return 0;
  }
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  printTable(
    cli.out,
    [
      { title: "table", cell: ({ table }) => table },
      { title: "rows", cell: (table) => table.rows },
    ],
    tables,
  );
  const how = resumes ? "would continue to move from" : "would move from";
  cli.out.line(dim(`${plural(rows, "row")} ${how} ${shown.from} to ${shown.to}`));
  return 0;
}

function printResult({ cli, options }: MoveCall, result: MoveResult, shown: Shown): void {
  const { tables, resumed, numbers } = result;
  if (options.json === true) {
    cli.out.document({ ...shown, result: "moved", resumed, tables, numbers });
    return;
  }
  printTable(
    cli.out,
    [
      { title: "table", cell: ({ table }) => table },
      { title: "rows", cell: (table) => table.rows },
      { title: "sha-256 of both", cell: ({ sha256 }) => sha256.slice(0, SHOWN_DIGITS) },
    ],
    tables,
  );
  cli.out.line(green("✓ "), `${shown.from} moved to ${shown.to}`);
  cli.out.line(dim(`${shown.from} keeps its rows but is closed for further use.`));
}

/** A progress bar for each phase. */
class MoveBar {
  readonly #cli: Cli;
  #phase: MoveProgress["phase"] | null = null;
  #bar: Progress | null = null;
  #done = 0;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  show({ phase, done, total }: MoveProgress): void {
    if (phase !== this.#phase) {
      this.end();
      const what = phase === "copy" ? "rows copied" : "rows checked";
      this.#bar = new Progress(this.#cli.err, what, total);
      this.#phase = phase;
      this.#done = 0;
    }
    this.#bar?.step(done - this.#done);
    this.#done = done;
  }

  end(): void {
    this.#bar?.end();
  }
}
