// perdure migrate <store> <target>: a whole store moves; and --unmark, the way back.
//   MO1. What would be refused is refused before the target is made.
//   MO2. Ctrl+C stops between two batches; the same command goes on.

import { isPerdureError } from "../core/errors.ts";
import type { Provider } from "../core/provider/provider.ts";
import { maskAddress } from "../core/secrets.ts";
import { planMove, type MovePlan } from "../move-plan.ts";
import { moveStore, unmarkStore, type MoveProgress, type MoveResult } from "../move-store.ts";
import type { Cli } from "./cli.ts";
import type { Call } from "./define-command.ts";
import { CliError, type ExitCode } from "./exit-codes.ts";
import { Interruption } from "./interrupt.ts";
import { openProvider } from "./open-provider.ts";
import { plural } from "./plural.ts";
import { Progress } from "./progress.ts";
import { dim, green, yellow } from "./screen.ts";
import { looksLikeAddress, mustExist } from "./store-address.ts";
import { printTable } from "./table.ts";

export interface MoveCommandOptions {
  readonly dryRun?: true;
  readonly again?: true;
  readonly unmark?: true;
}
/** Of a checksum, on a screen; JSON has all of it. */
const SHOWN_DIGITS = 16;

type MoveCall = Call<MoveCommandOptions>;

export async function runMove(call: MoveCall, from: string, to: string): Promise<ExitCode> {
  const { cli, options } = call;
  for (const address of [from, to]) {
    if (!looksLikeAddress(address)) {
      throw new CliError(
        "USAGE",
        `"${maskAddress(address)}" is not a store's address, such as sqlite:./app.db.`,
      );
    }
  }
  if (options.store !== undefined) {
    throw new CliError("USAGE", "Both stores of a move are arguments; --store is one too many.");
  }
  mustExist(from);
  await using stores = new AsyncDisposableStack();
  const source = stores.adopt(await open(from, "verify"), (provider) => provider.close());
  const again = options.again === true;
  const plan = await planned(source, to, again);
  const shown = { from: maskAddress(from), to: maskAddress(to) };
  if (options.dryRun === true) return tellPlan(call, plan, shown);
  const target = stores.adopt(await open(to, "apply"), (provider) => provider.close());
  using interruption = new Interruption();
  const bar = new MoveBar(cli);
  let result: MoveResult;
  try {
    const onProgress = (progress: MoveProgress): void => bar.show(progress);
    result = await moveStore(source, target, { again, onProgress, signal: interruption.signal });
  } catch (error) {
    if (interruption.code === undefined || isPerdureError(error)) throw error;
    cli.err.line(yellow("! "), "stopped; the same command goes on where it was");
    return interruption.code;
  } finally {
    bar.end();
  }
  tellResult(call, result, shown);
  return 0;
}

/** The way back for one store. */
export async function runUnmark(call: MoveCall, address: string): Promise<ExitCode> {
  const { cli, options } = call;
  mustExist(address);
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
  if (mark === null) cli.out.line(green("✓ "), `${shown} has no mark of a move`);
  else if (mark.role === "target") {
    cli.out.line(green("✓ "), `${shown} was the unfinished copy of ${mark.other}; it is empty now`);
  } else {
    cli.out.line(green("✓ "), `${shown} can be used again`);
    cli.out.line(
      yellow("! "),
      `Make sure that nothing runs on ${mark.other}: both hold the same work.`,
    );
  }
  return 0;
}

/** MO1. A target that has no tables yet is none. */
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
    mustExist(address);
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

function tellPlan({ cli, options }: MoveCall, plan: MovePlan, shown: Shown): ExitCode {
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
  const how = resumes ? "would go on from" : "would move from";
  cli.out.line(dim(`${plural(rows, "row")} ${how} ${shown.from} to ${shown.to}`));
  return 0;
}

function tellResult({ cli, options }: MoveCall, result: MoveResult, shown: Shown): void {
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
  cli.out.line(dim(`${shown.from} keeps its rows, and takes no more.`));
}

/** A bar for each phase. */
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
