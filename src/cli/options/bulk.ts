// Commands that change one instance, several, or all that match a filter.
//   - The command first shows how many instances it will change, and the first of them. Then it asks the
//        user to confirm. Without confirmation it changes nothing.
//   - An action that cannot be undone, or that has a warning, always asks. Other actions ask only if a
//        filter selected the instances.
//   - The instances change page by page. A command that was interrupted, or reached --limit, prints the cursor with which
//        it goes on.
//   - Each instance succeeds or is refused separately. If the status of an instance changed since the
//        selection, it is skipped if a filter selected it, and reported as refused if the user named it.

import type { ListFilter } from "../../client/list-filter.ts";
import { notFound, refusedWrite } from "../../client/store.ts";
import type { Command } from "commander";
import { isPerdureError, type ErrorCode, type PerdureError } from "../../core/errors/errors.ts";
import { defined } from "../../core/values/defined.ts";
import type { Call, CommonOptions } from "../define-command.ts";
import {
  CliError,
  exitCodeOf,
  exitCodeOfCode,
  type CliErrorCode,
  type ExitCode,
} from "../exit-codes.ts";
import { addFilterOptions, STATUSES } from "./filter-options.ts";
import { Interruption } from "../interrupt.ts";
import { wholeNumber } from "./numbers.ts";
import { plural } from "../text/plural.ts";
import { Progress } from "../text/progress.ts";
import { confirm } from "./question.ts";
import { inCommandWords } from "../text/command-words.ts";
import { bold, dim, green, red, yellow, type Screen } from "../text/screen.ts";
import { select, type Selection, type SelectionOptions } from "./selection.ts";
import { Session } from "../store/session.ts";

/** How many calls of a page run concurrently. Concurrent writes share commits. */
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
  /** What it changes. Default: instance. */
  readonly noun?: string;
  /** Whether it cannot be undone. */
  readonly isFinal: boolean;
  /** Filters that together match the instances that the action applies to. */
  readonly takes: readonly ListFilter[];
  /** Changes the instances and returns those that refused. */
  readonly act: (session: Session, ids: readonly string[]) => Promise<readonly Refused[]>;
  /** Makes the checks of the action, changes nothing, and returns those that would refuse. Default: the statuses only. */
  readonly check?: BulkAction["act"] | undefined;
  /** What to show before the user confirms. */
  readonly preview?: (session: Session, selection: Selection) => Promise<Preview>;
  /** Totals for the report. */
  readonly sums?: () => Readonly<Record<string, number>>;
}

export interface Warning {
  readonly text: string;
  /** Replaces the default question. */
  readonly question?: string;
}

/** What a command will do. */
export interface Preview {
  readonly lines?: readonly string[];
  /** With a warning the command asks. */
  readonly warning?: Warning | undefined;
  /** Members of the JSON document of --dry-run. */
  readonly facts?: object;
}

export interface Refused {
  readonly id: string;
  readonly code: CliErrorCode | ErrorCode;
  readonly message: string;
}
interface Report {
  done: number;
  /** Instances whose status changed after a filter selected them. */
  skipped: number;
  readonly refused: Refused[];
  /** For --cursor: the instances after those that were changed. Undefined: there are none. */
  cursor: string | undefined;
}

export function addBulkOptions(command: Command): Command {
  command
    .option("--all", "all instances")
    .option("--limit <number>", "change at most this many instances", wholeNumber(1))
    .option("--cursor <text>", "go on where an interrupted command with the same filters stopped")
    .option("-y, --yes", "do not ask for confirmation")
    .option("--dry-run", "only show what would be changed, and what would be refused");
  return addFilterOptions(command);
}

export async function runBulk(call: Call<BulkOptions>, action: BulkAction): Promise<ExitCode> {
  const { cli, options, args } = call;
  await using session = await Session.open(call);
  const selection = await select(session.client, args, options, action.takes);
  const isShown = options.dryRun === true || options.yes !== true;
  const preview = (isShown ? await action.preview?.(session, selection) : undefined) ?? {};
  if (options.dryRun === true) {
    return showPlan(
      call,
      action,
      selection,
      preview,
      await checked(call, session, action, selection),
    );
  }
  const { warning, lines = [] } = preview;
  const isAsked = action.isFinal || !selection.isNamed || warning !== undefined;
  const isSilent = options.yes === true || options.json === true;
  if (isAsked && selection.count > 0) {
    if (!isSilent) printPlan(call, action, selection);
    if (!isSilent) for (const line of lines) cli.err.line(line);
    const own = `${capital(action.verb)} ${plural(selection.count, nounOf(action))}?`;
    const { text = "", question = own } = warning ?? {};
    await confirm(cli, `${text} ${question}`.trimStart(), { yes: options.yes === true });
  } else if (!isSilent) for (const line of lines) cli.err.line(line);
  using interruption = new Interruption();
  const report = await carryOut(call, session, action, selection, interruption.signal);
  printReport(call, action, selection, report);
  return interruption.code ?? exitOf(report, selection);
}

async function carryOut(
  { cli, options }: Call<BulkOptions>,
  session: Session,
  action: BulkAction,
  selection: Selection,
  signal: AbortSignal,
): Promise<Report> {
  const report: Report = { done: 0, skipped: 0, refused: [], cursor: undefined };
  let from = options.cursor;
  const progress = new Progress(cli.err, action.past, selection.count);
  try {
    for await (const { ids, cursor } of selection.pages()) {
      const refused = await action.act(session, ids);
      const skipped = refused.filter(({ code }) => !selection.isNamed && isStatusChange(code));
      report.done += ids.length - refused.length;
      report.skipped += skipped.length;
      report.refused.push(...refused.filter((one) => !skipped.includes(one)));
      report.cursor = from = cursor;
      progress.step(ids.length);
      if (signal.aborted) return report;
    }
  } catch (error) {
    progress.end();
    printCursor(cli.err, from);
    throw error;
  } finally {
    progress.end();
  }
  return report;
}

/** An action on one instance as an action on a page. */
export function toEach(act: (session: Session, id: string) => Promise<unknown>): BulkAction["act"] {
  return async (session, ids) => {
    const refused: Refused[] = [];
    const one = async (id: string): Promise<void> => {
      try {
        await act(session, id);
      } catch (error) {
        if (!isAboutInstance(error)) throw error;
        refused.push({ id, code: error.code, message: error.message });
      }
    };
    for (let at = 0; at < ids.length; at += CONCURRENT_MAX) {
      await Promise.all(ids.slice(at, at + CONCURRENT_MAX).map(one));
    }
    return refused;
  };
}

/** Whether the code means that the instance's status changed after it was selected. */
function isStatusChange(code: Refused["code"]): boolean {
  return STATUS_CHANGES.includes(code);
}
const STATUS_CHANGES: readonly Refused["code"][] = [
  "INSTANCE_FINISHED",
  "INSTANCE_NOT_FOUND",
  "INSTANCE_RUNNING",
  "NOT_RETRYABLE",
];

/** Any other error concerns the store or this program, and ends the command. */
function isAboutInstance(error: unknown): error is PerdureError | CliError {
  return (isPerdureError(error) || error instanceof CliError) && exitCodeOf(error) !== 5;
}

function showPlan(
  { cli, options }: Call<BulkOptions>,
  action: BulkAction,
  selection: Selection,
  { warning, lines = [], facts = {} }: Preview,
  refused: readonly Refused[],
): ExitCode {
  const { count, first } = selection;
  if (options.json === true) {
    const warned = defined({ warning: warning?.text });
    const plan = { action: action.verb, dryRun: true, count, first };
    cli.out.document({ ...plan, refused: refused.map(refusalOf), ...warned, ...facts });
  } else {
    const what = bold(plural(count, nounOf(action)));
    cli.out.line("Would ", action.verb, " ", what, count === 0 ? "." : ":");
    listFirst(cli.out, selection);
    for (const line of lines) cli.out.line(line);
    if (warning !== undefined) cli.out.line(yellow(warning.text));
    if (refused.length > 0)
      cli.out.line(`${plural(refused.length, nounOf(action))} would be refused:`);
    listRefused(cli.out, refused);
  }
  return 0;
}

/** The instances that would be refused. */
async function checked(
  { cli }: Call<BulkOptions>,
  session: Session,
  { takes, check }: BulkAction,
  selection: Selection,
): Promise<readonly Refused[]> {
  if (check === undefined && !selection.isNamed) return []; // the filter checks the statuses
  const refused: Refused[] = [];
  const progress = new Progress(cli.err, "checked", selection.count);
  try {
    for await (const { ids } of selection.pages()) {
      const found = selection.isNamed ? await inOtherStates(session, ids, takes) : [];
      const left = ids.filter((id) => !found.some((one) => one.id === id));
      refused.push(...found, ...((await check?.(session, left)) ?? []));
      progress.step(ids.length);
    }
  } finally {
    progress.end();
  }
  return refused;
}

/** Those of the named instances that do not exist, or have ended although the action applies to live ones only. */
async function inOtherStates(
  { client }: Session,
  ids: readonly string[],
  takes: readonly ListFilter[],
): Promise<readonly Refused[]> {
  const { items } = await client.list({ ids }, { limit: ids.length });
  const statuses = new Map(items.map(({ id, status }) => [id, status]));
  const isForLive = takes.every(({ status }) => isLiveOnly(status));
  return ids.flatMap((id) => {
    const status = statuses.get(id);
    if (status === undefined) return [refusalOf({ id, ...pick(notFound(id)) })];
    const isRefused = isForLive && STATUSES.ended.includes(status);
    return isRefused ? [refusalOf({ id, ...pick(refusedWrite("INSTANCE_FINISHED", id)) })] : [];
  });
}

function isLiveOnly(status: ListFilter["status"]): boolean {
  const wanted = typeof status === "string" ? [status] : (status ?? []);
  return wanted.length > 0 && wanted.every((one) => STATUSES.live.includes(one));
}

function pick({ code, message }: PerdureError): Pick<Refused, "code" | "message"> {
  return { code, message };
}

function refusalOf({ id, code, message }: Refused): Refused {
  return { id, code, message };
}

function listRefused(screen: Screen, refused: readonly Refused[]): void {
  for (const { id, message } of refused.slice(0, FAILURES_SHOWN)) {
    screen.line(red("✗ "), id, ": ", inCommandWords(message));
  }
  const more = refused.length - FAILURES_SHOWN;
  if (more > 0) screen.line(dim(`  … and ${more} more`));
}

function printPlan({ cli }: Call<BulkOptions>, action: BulkAction, selection: Selection): void {
  const what = bold(plural(selection.count, nounOf(action)));
  cli.err.line("About to ", action.verb, " ", what, ":");
  listFirst(cli.err, selection);
}

function listFirst(screen: Screen, { first, count }: Selection): void {
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
    cli.out.document({
      action: verb,
      count: selection.count,
      done,
      skipped,
      refused: refused.map(refusalOf),
      ...(action.sums === undefined ? {} : { removed: sums }),
      ...defined({ cursor: report.cursor }),
    });
    return;
  }
  const [only] = selection.first;
  const isOne = selection.isNamed && selection.count === 1;
  const what = isOne ? (only ?? "") : plural(done, nounOf(action));
  if (done > 0) {
    const figures = Object.entries(sums).map(([name, sum]) => `${sum} ${name}`);
    const added = figures.length === 0 ? "" : ` (${figures.join(", ")})`;
    cli.out.line(green("✓ "), `${what} ${past}${added}`);
  } else if (refused.length === 0) cli.out.line("Nothing to do.");
  if (skipped > 0) cli.out.line(dim(`  ${skipped} skipped: their status had changed`));
  listRefused(cli.err, refused);
  printCursor(cli.err, report.cursor);
}

function printCursor(screen: Screen, cursor: string | undefined): void {
  if (cursor === undefined) return;
  screen.line(
    dim(`  There may be more instances. Go on with the same filters and --cursor ${cursor}`),
  );
}

function exitOf({ refused }: Report, selection: Selection): ExitCode {
  const [first] = refused;
  if (first === undefined) return 0;
  return selection.count === 1 ? exitCodeOfCode(first.code) : 10;
}

function nounOf({ noun = "instance" }: BulkAction): string {
  return noun;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
