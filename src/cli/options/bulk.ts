// Commands that change one instance, several, or all that match a filter.
//   - The command first shows how many instances it will change, and the first of them. Then it asks the
//        user to confirm. Without confirmation it changes nothing.
//   - An action that cannot be undone, or that has a warning, always asks. Other actions ask only if a
//        filter selected the instances.
//   - Each instance succeeds or is refused separately. If the status of an instance changed since the
//        selection, it is skipped if a filter selected it, and reported as refused if the user named it.

import type { ListFilter } from "../../client/list-filter.ts";
import type { Command } from "commander";
import { isPerdureError, type PerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import type { Call, CommonOptions } from "../define-command.ts";
import { CliError, exitCodeOf, type ExitCode } from "../exit-codes.ts";
import { addFilterOptions } from "./filter-options.ts";
import { Interruption } from "../interrupt.ts";
import { wholeNumber } from "./numbers.ts";
import { plural } from "../text/plural.ts";
import { Progress } from "../text/progress.ts";
import { confirm } from "./question.ts";
import { bold, dim, green, red, yellow } from "../text/screen.ts";
import { select, type Selection, type SelectionOptions } from "./selection.ts";
import { Session } from "../store/session.ts";

/** How many writes run concurrently. Concurrent writes share commits. */
const CONCURRENT_MAX = 32;
const FAILURES_SHOWN = 20;

export interface BulkOptions extends SelectionOptions, CommonOptions {
  readonly yes?: true;
  readonly dryRun?: true;
}

export interface BulkAction {
  /** For example "pause". */
  readonly verb: string;
  /** The outcome, for example "paused". */
  readonly past: string;
  /** Whether it cannot be undone. */
  readonly isFinal: boolean;
  /** Filters that together match the instances that the action applies to. */
  readonly takes: readonly ListFilter[];
  act(session: Session, id: string): Promise<void>;
  /** A warning to show before the user confirms. Undefined: only the question. */
  readonly warning?: (session: Session, selection: Selection) => Promise<Warning | undefined>;
  /** Totals for the report. */
  readonly sums?: () => Readonly<Record<string, number>>;
}

export interface Warning {
  readonly text: string;
  /** Replaces the default question. */
  readonly question?: string;
}

interface Refused {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly exit: ExitCode;
}
interface Report {
  done: number;
  /** Instances whose status changed after a filter selected them. */
  skipped: number;
  readonly refused: Refused[];
}

export function addBulkOptions(command: Command): Command {
  command
    .option("--all", "all instances")
    .option("--limit <number>", "change at most this many instances", wholeNumber(1))
    .option("-y, --yes", "do not ask for confirmation")
    .option("--dry-run", "only show what would be changed");
  return addFilterOptions(command);
}

export async function runBulk(call: Call<BulkOptions>, action: BulkAction): Promise<ExitCode> {
  const { cli, options, args } = call;
  await using session = await Session.open(call);
  const selection = await select(session.client, args, options, action.takes);
  const isShown = options.dryRun === true || options.yes !== true;
  const warning = isShown ? await action.warning?.(session, selection) : undefined;
  if (options.dryRun === true) return showPlan(call, action, selection, warning);
  const isAsked = action.isFinal || !selection.isNamed || warning !== undefined;
  if (isAsked && selection.count > 0) {
    if (options.yes !== true && options.json !== true) printPlan(call, action, selection);
    const own = `${capital(action.verb)} ${plural(selection.count, "instance")}?`;
    const { text = "", question = own } = warning ?? {};
    await confirm(cli, `${text} ${question}`.trimStart(), { yes: options.yes === true });
  }
  using interruption = new Interruption();
  const report = await carryOut(call, session, action, selection, interruption.signal);
  printReport(call, action, selection, report);
  return interruption.code ?? exitOf(report, selection);
}

async function carryOut(
  { cli }: Call<BulkOptions>,
  session: Session,
  action: BulkAction,
  selection: Selection,
  signal: AbortSignal,
): Promise<Report> {
  const report: Report = { done: 0, skipped: 0, refused: [] };
  const progress = new Progress(cli.err, action.past, selection.count);
  const inFlight = new Set<Promise<void>>();
  let fatal: { readonly error: unknown } | undefined;
  const one = async (id: string): Promise<void> => {
    try {
      await action.act(session, id);
      report.done++;
    } catch (error) {
      if (!selection.isNamed && isStatusChange(error)) report.skipped++;
      else if (isAboutInstance(error)) report.refused.push(refusal(id, error));
      else fatal ??= { error };
    }
    progress.step();
  };
  for await (const id of selection.ids()) {
    if (signal.aborted || fatal !== undefined) break;
    if (inFlight.size >= CONCURRENT_MAX) await Promise.race(inFlight);
    const work = one(id).then(() => void inFlight.delete(work));
    inFlight.add(work);
  }
  await Promise.all(inFlight);
  progress.end();
  if (fatal !== undefined) throw fatal.error;
  return report;
}

/** Whether the error means that the instance's status changed after it was selected. */
function isStatusChange(error: unknown): boolean {
  return (
    isPerdureError(error, "INSTANCE_FINISHED") ||
    isPerdureError(error, "INSTANCE_NOT_FOUND") ||
    isPerdureError(error, "INSTANCE_RUNNING") ||
    (error instanceof CliError && error.code === "NOT_RETRYABLE")
  );
}

/** Any other error concerns the store or this program, and ends the command. */
function isAboutInstance(error: unknown): error is PerdureError | CliError {
  return (isPerdureError(error) || error instanceof CliError) && exitCodeOf(error) !== 5;
}

function refusal(id: string, error: PerdureError | CliError): Refused {
  return { id, code: error.code, message: error.message, exit: exitCodeOf(error) };
}

function showPlan(
  { cli, options }: Call<BulkOptions>,
  { verb }: BulkAction,
  selection: Selection,
  warning: Warning | undefined,
): ExitCode {
  const { count, first } = selection;
  if (options.json === true) {
    const warned = defined({ warning: warning?.text });
    cli.out.document({ action: verb, dryRun: true, count, first, ...warned });
  } else {
    cli.out.line("Would ", verb, " ", bold(plural(count, "instance")), count === 0 ? "." : ":");
    listFirst(cli.out, selection);
    if (warning !== undefined) cli.out.line(yellow(warning.text));
  }
  return 0;
}

function printPlan({ cli }: Call<BulkOptions>, { verb }: BulkAction, selection: Selection): void {
  cli.err.line("About to ", verb, " ", bold(plural(selection.count, "instance")), ":");
  listFirst(cli.err, selection);
}

function listFirst(screen: Call<unknown>["cli"]["out"], { first, count }: Selection): void {
  const shown = first.slice(0, 10);
  for (const id of shown) screen.line("  ", id);
  if (count > shown.length) screen.line(dim(`  … and ${count - shown.length} more`));
}

function printReport(
  { cli, options }: Call<BulkOptions>,
  action: BulkAction,
  selection: Selection,
  report: Report,
): void {
  const { done, skipped, refused } = report;
  const { verb, past } = action;
  const sums = action.sums?.() ?? {};
  if (options.json === true) {
    const refusals = refused.map(({ id, code, message }) => ({ id, code, message }));
    cli.out.document({
      action: verb,
      count: selection.count,
      done,
      skipped,
      refused: refusals,
      ...(action.sums === undefined ? {} : { removed: sums }),
    });
    return;
  }
  const [only] = selection.first;
  const what = selection.isNamed && selection.count === 1 ? (only ?? "") : plural(done, "instance");
  if (done > 0) {
    const figures = Object.entries(sums).map(([name, sum]) => `${sum} ${name}`);
    const added = figures.length === 0 ? "" : ` (${figures.join(", ")})`;
    cli.out.line(green("✓ "), `${what} ${past}${added}`);
  } else if (refused.length === 0) cli.out.line("Nothing to do.");
  if (skipped > 0) cli.out.line(dim(`  ${skipped} skipped: their status had changed`));
  for (const { id, message } of refused.slice(0, FAILURES_SHOWN)) {
    cli.err.line(red("✗ "), id, ": ", message);
  }
  const more = refused.length - FAILURES_SHOWN;
  if (more > 0) cli.err.line(dim(`  … and ${more} more were refused`));
}

function exitOf({ refused }: Report, selection: Selection): ExitCode {
  const [first] = refused;
  if (first === undefined) return 0;
  return selection.count === 1 ? first.exit : 10;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
