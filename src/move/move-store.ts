// Moving a store: copies everything in a store to another one, verifies the copy, and can undo the marks.
//   - The order: check both stores; mark the target, then the source, so that nothing else writes to
//     either; copy the rows; read both back and compare; mark the source as moved; only then release the
//     target. After an interruption at any point, the same call resumes.
//   - The source keeps every row. Only its mark and the leases of dead runtimes change.
//   - A target that differs from its source is never released. The next call empties it and begins again.

import { checkNumbers, checkTables, type TableCheck, type TableSum } from "./move-check.ts";
import { copyTables, type CopyPosition } from "./move-copy.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { checkFlag, checkMembers, type Members } from "../core/checks.ts";
import type { Provider } from "../core/provider/provider.ts";
import {
  TRANSFER_TABLES,
  type LastNumbers,
  type MoveMark,
  type TransferName,
  type TransferStore,
} from "../core/provider/transfer.ts";
import { expireDeadRuntimes, planMove, marksOf, transferOf } from "./move-plan.ts";

/** The progress of a move. */
export interface MoveProgress {
  readonly phase: "copy" | "check";
  readonly table: TransferName;
  /** Rows of all tables. */
  readonly done: number;
  readonly total: number;
}
/** Options of `moveStore`. */
export interface MoveOptions {
  /** Called after every batch. */
  readonly onProgress?: (progress: MoveProgress) => void;
  /** Stops between two batches with the signal's reason. The same call resumes later. */
  readonly signal?: AbortSignal;
  /** Moves the source even if an earlier move marked it as moved elsewhere. Default false. */
  readonly again?: boolean;
}
const MOVE_OPTIONS: Members<MoveOptions> = { onProgress: true, signal: true, again: true };

/** What was moved, with the checksums of the rows, which are equal in both stores. */
export interface MoveResult {
  readonly from: string;
  readonly to: string;
  /** Whether this call resumed an interrupted move. */
  readonly resumed: boolean;
  readonly tables: readonly TableSum[];
  /** The last numbers that the source had assigned. The target continues from them. */
  readonly numbers: LastNumbers;
}

/**
 * Moves a whole store to an empty one of any kind: running instances, timers, queues, inboxes, state,
 * sessions,
 * histories and requests. Throws `STORE_IN_USE` while a runtime is alive on either store. The source
 * keeps all rows
 * and is marked as moved: its writes by runtimes and clients then fail with `STORE_MOVED`.
 */
export async function moveStore(
  from: Provider,
  to: Provider,
  options: MoveOptions = {},
): Promise<MoveResult> {
  checkMembers(options, MOVE_OPTIONS, "moveStore");
  checkFlag(options.again, "again");
  const { signal, again = false } = options;
  const plan = await planMove(from, to, { again });
  signal?.throwIfAborted();
  const stores = { from: transferOf(from), to: transferOf(to) };
  await expireDeadRuntimes(from);
  await expireDeadRuntimes(to);
  const { move, standing } = await begin(stores, from, again);
  const total = plan.tables.reduce((sum, { rows }) => sum + rows, 0);
  const count = counter(total, options.onProgress);
  const onRows = count("copy", standing.table === null ? 0 : await rowsIn(stores.to));
  const { progress, numbers } = await copyTables({
    ...stores,
    move,
    position: standing,
    signal,
    onRows,
  });
  const checks = await checkTables({ ...stores, signal, onRows: count("check", 0) });
  const place = plan.to ?? (await stores.to.place());
  const wrong = [
    ...checks.filter(isWrong).map(showWrong),
    ...(await checkNumbers(stores.to, numbers)).map((name) => `the numbers of ${name}`),
  ];
  if (wrong.length > 0) {
    await takeOver(stores.to, { move, before: progress, after: progress });
    await stores.to.mark({ id: move, role: "target", state: "broken", other: plan.from });
    const message = `The copy differs from its source in ${wrong.join(", ")}. The source is unchanged; call moveStore again to start over.`;
    throw new PerdureError("COPY_MISMATCH", message);
  }
  await stores.from.mark({ id: move, role: "source", state: "moved", other: place });
  await stores.to.unmark(move, progress);
  const tables = checks.map(({ target }) => target);
  return { from: plan.from, to: place, resumed: plan.resumes, tables, numbers };
}

/**
 * Undoes a move: a store that was moved, or was about to be, can be used again; an unfinished copy is
 * emptied. Returns null if the store has no mark.
 */
export async function unmarkStore(provider: Provider): Promise<MoveMark | null> {
  const store = transferOf(provider);
  const mark = await store.readMark();
  if (mark === null) return null;
  if (mark.role === "target") await store.clear({ move: mark.id, after: null });
  await store.unmark(mark.id);
  return mark;
}

/** Marks both stores, or finds them marked. From here on they are frozen. */
async function begin(
  stores: { readonly from: TransferStore; readonly to: TransferStore },
  { environment }: Provider,
  again: boolean,
): Promise<{ readonly move: string; readonly standing: CopyPosition }> {
  const { from, to } = stores;
  const { source, target, stale } = await marksOf(from, to, again);
  const isOneMove = source !== null && source.id === target?.id;
  const move = target?.id ?? source?.id ?? environment.randomHex(16);
  const [fromPlace, toPlace] = [await from.place(), await to.place()];
  await to.mark({ id: move, role: "target", state: "moving", other: fromPlace });
  const state = isOneMove ? source.state : "moving";
  try {
    if (stale !== null) await from.unmark(stale.id);
    await from.mark({ id: move, role: "source", state, other: toPlace });
  } catch (error) {
    if (target === null) await to.unmark(move); // restores the previous state
    throw error;
  }
  const before = target?.progress ?? null;
  const run = environment.randomHex(8);
  if (isOneMove && target?.state === "moving" && before !== null) {
    const standing: CopyPosition = { ...(JSON.parse(before) as CopyPosition), run };
    await takeOver(to, { move, before, after: JSON.stringify(standing) });
    return { move, standing };
  }
  // Any rows in the target were copied before the source was frozen, or do not match the source.
  const standing: CopyPosition = { run, table: null, after: null };
  await to.clear({ move, before, after: JSON.stringify(standing) });
  return { move, standing };
}

/** From here on only this call writes to the target, until another call takes over. */
async function takeOver(
  to: TransferStore,
  {
    move,
    before,
    after,
  }: { readonly move: string; readonly before: string; readonly after: string },
): Promise<void> {
  const [table] = TRANSFER_TABLES;
  if (table !== undefined) await to.writeRows({ move, table, rows: [], before, after });
}

function isWrong({ source, target }: TableCheck): boolean {
  return source.rows !== target.rows || source.sha256 !== target.sha256;
}

function showWrong({ source, target }: TableCheck): string {
  const shown = ({ rows, sha256 }: TableSum): string => `${rows} rows ${sha256.slice(0, 12)}`;
  return `${source.table} (${shown(source)}, arrived ${shown(target)})`;
}

async function rowsIn(store: TransferStore): Promise<number> {
  let rows = 0;
  for (const table of TRANSFER_TABLES) rows += await store.count(table);
  return rows;
}

function counter(total: number, onProgress: MoveOptions["onProgress"]) {
  return (phase: MoveProgress["phase"], begun: number) => {
    let done = begun;
    return (table: TransferName, rows: number): void => {
      done = Math.min(done + rows, total);
      onProgress?.({ phase, table, done, total });
    };
  };
}
