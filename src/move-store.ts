// Moving a store: everything it holds, into another one, checked; and the way back.
//   MV1. In this order: both stores are looked at; the target is marked, then the source, and from here on nothing
//        else writes to either; rows are copied; both are read back and compared; the source is marked as moved;
//        only then the target is let go. Cut off anywhere, the same call goes on.
//   MV2. The source keeps every row. Its mark is all that changes in it, besides what the dead held.
//   MV3. A target that differs from its source is never let go; the next call empties it and begins again.

import { checkNumbers, checkTables, type TableCheck, type TableSum } from "./client/move-check.ts";
import { copyTables, type Standing } from "./client/move-copy.ts";
import { PerdureError } from "./core/errors.ts";
import { checkFlag, checkMembers, type Members } from "./core/known-members.ts";
import type { Provider } from "./core/provider/provider.ts";
import {
  TRANSFER_TABLES,
  type LastNumbers,
  type MoveMark,
  type TransferName,
  type TransferStore,
} from "./core/provider/transfer.ts";
import { buryDead, planMove, marksOf, transferOf } from "./move-plan.ts";

/** How far a move has come. */
export interface MoveProgress {
  readonly phase: "copy" | "check";
  readonly table: TransferName;
  /** Of all tables, in rows. */
  readonly done: number;
  readonly total: number;
}
/** What `moveStore` may be told. */
export interface MoveOptions {
  /** Called after every batch. */
  readonly onProgress?: (progress: MoveProgress) => void;
  /** Stops between two batches, with its reason; the same call goes on later. */
  readonly signal?: AbortSignal;
  /** Moves though an earlier move has marked the source as moved elsewhere. Default false. */
  readonly again?: boolean;
}
const MOVE_OPTIONS: Members<MoveOptions> = { onProgress: true, signal: true, again: true };

/** What was moved, and the checksums of both stores' rows, which are equal. */
export interface MoveResult {
  readonly from: string;
  readonly to: string;
  /** Whether an earlier run was cut off, and this one went on. */
  readonly resumed: boolean;
  readonly tables: readonly TableSum[];
  /** The last numbers that the source had given; the target counts on from them. */
  readonly numbers: LastNumbers;
}

/**
 * Moves a whole store into an empty one, of whatever kind: running instances, timers, queues, inboxes, state,
 * sessions, histories and requests. Both must be at rest: `STORE_IN_USE` while a runtime is alive on either. The
 * source keeps everything, marked as moved: runtimes and clients that write to it are refused with `STORE_MOVED`.
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
  await buryDead(from);
  await buryDead(to);
  const { move, standing } = await begin(stores, from, again);
  const total = plan.tables.reduce((sum, { rows }) => sum + rows, 0);
  const count = counter(total, options.onProgress);
  const onRows = count("copy", standing.table === null ? 0 : await rowsIn(stores.to));
  const { progress, numbers } = await copyTables({ ...stores, move, standing, signal, onRows });
  const checks = await checkTables({ ...stores, signal, onRows: count("check", 0) });
  const place = plan.to ?? (await stores.to.place());
  const wrong = [
    ...checks.filter(isWrong).map(showWrong),
    ...(await checkNumbers(stores.to, numbers)).map((name) => `the numbers of ${name}`),
  ];
  if (wrong.length > 0) {
    await takeOver(stores.to, { move, before: progress, after: progress });
    await stores.to.mark({ id: move, role: "target", state: "broken", other: plan.from });
    const message = `The copy differs from its source in ${wrong.join(", ")}. The source is as it was; the same call begins again.`;
    throw new PerdureError("COPY_MISMATCH", message);
  }
  await stores.from.mark({ id: move, role: "source", state: "moved", other: place });
  await stores.to.unmark(move, progress);
  const tables = checks.map(({ target }) => target);
  return { from: plan.from, to: place, resumed: plan.resumes, tables, numbers };
}

/**
 * The way back: a store that was moved, or was about to be, can be used again; an unfinished copy is emptied. Null:
 * the store has no mark.
 */
export async function unmarkStore(provider: Provider): Promise<MoveMark | null> {
  const store = transferOf(provider);
  const mark = await store.readMark();
  if (mark === null) return null;
  if (mark.role === "target") await store.clear({ move: mark.id, after: null });
  await store.unmark(mark.id);
  return mark;
}

/** Marks both stores, or finds them marked; from here on they are frozen. */
async function begin(
  stores: { readonly from: TransferStore; readonly to: TransferStore },
  { environment }: Provider,
  again: boolean,
): Promise<{ readonly move: string; readonly standing: Standing }> {
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
    if (target === null) await to.unmark(move); // as it was
    throw error;
  }
  const before = target?.progress ?? null;
  const run = environment.randomHex(8);
  if (isOneMove && target?.state === "moving" && before !== null) {
    const standing: Standing = { ...(JSON.parse(before) as Standing), run };
    await takeOver(to, { move, before, after: JSON.stringify(standing) });
    return { move, standing };
  }
  // Whatever is there was copied before the source was frozen, or is not what was sent.
  const standing: Standing = { run, table: null, after: null };
  await to.clear({ move, before, after: JSON.stringify(standing) });
  return { move, standing };
}

/** From here on only this run writes to the target, until another takes over. */
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
