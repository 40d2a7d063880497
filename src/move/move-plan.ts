// The plan of a move: checks whether a store can move to another one before anything is written. A dry
// run returns it.
//   - No runtime may be alive on either store. Dead runtimes are expired as usual, which frees their
//     leases.
//   - An interrupted move is recognised by the marks of both stores, and is resumed.

import { PerdureError } from "../core/errors/errors.ts";
import { checkMembers } from "../core/checks.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RuntimeRecord } from "../core/provider/runtimes.ts";
import {
  moveMarkMessage,
  TRANSFER_FORMAT,
  TRANSFER_TABLES,
  type MoveMark,
  type TransferName,
  type TransferStore,
} from "../core/provider/transfer.ts";
import { staleMsOf } from "../runtime/health/liveness.ts";
import { isCertainlyGone, ownIdentity } from "../runtime/health/process-identity.ts";

/** What a move would do. */
export interface MovePlan {
  readonly from: string;
  /** Null: the target does not exist yet. */
  readonly to: string | null;
  /** Whether an earlier move was interrupted and would be resumed. */
  readonly resumes: boolean;
  readonly tables: readonly { readonly table: TransferName; readonly rows: number }[];
}

/** The marks of both stores when a move begins. */
export interface Marks {
  /** Null: there is no mark, or it is stale. */
  readonly source: MoveMark | null;
  readonly target: MoveMark | null;
  /** The mark of the source, if it is stale. */
  readonly stale: MoveMark | null;
}

/** The transfer part of a provider. */
export function transferOf(provider: Provider): TransferStore {
  const { transfer, name } = provider;
  if (transfer?.format === TRANSFER_FORMAT) return transfer;
  const message = `The ${name} store cannot be moved: its provider does not support transfer format ${TRANSFER_FORMAT}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/**
 * Returns what `moveStore` would do, and throws the errors that it would throw. Writes nothing. Without a
 * target: a move to a new store.
 */
export async function planMove(
  from: Provider,
  to: Provider | null,
  options: { readonly again?: boolean } = {},
): Promise<MovePlan> {
  checkMembers(options, { again: true }, "planMove");
  const source = transferOf(from);
  const target = to === null ? null : transferOf(to);
  const place = await source.place();
  const other = (await target?.place()) ?? null;
  if (from === to || (place === other && !place.endsWith(":memory:"))) {
    throw new PerdureError("INVALID_ARGUMENT", `A store cannot move to itself: ${place}.`);
  }
  const marks = await marksOf(source, target, options.again === true);
  for (const provider of to === null ? [from] : [from, to]) await refuseLive(provider);
  const tables = [];
  for (const table of TRANSFER_TABLES) {
    tables.push({ table: table.name, rows: await source.count(table) });
    if (target === null || marks.target !== null) continue;
    const rows = await target.count(table);
    if (rows > 0) throw full(`it has ${rows} rows in ${table.name}`);
  }
  return { from: place, to: other, resumes: marks.source !== null, tables };
}

export async function marksOf(
  from: TransferStore,
  to: TransferStore | null,
  again: boolean,
): Promise<Marks> {
  const source = await from.readMark();
  const target = (await to?.readMark()) ?? null;
  if (source?.role === "target") throw moved(source);
  if (target?.role === "source") throw moved(target);
  if (source !== null && source.id === target?.id) return { source, target, stale: null };
  const place = await from.place();
  if (target !== null && target.other !== place) throw full(moveMarkMessage(target));
  if (source === null || again) return { source: null, target, stale: source };
  const isCutOff = source.state === "moving" && source.other === (await to?.place());
  if (!isCutOff) throw moved(source);
  return target === null
    ? { source, target, stale: null }
    : { source: null, target, stale: source };
}

/** Expires dead runtimes and frees their leases, as the next runtime would. */
export async function expireDeadRuntimes(provider: Provider): Promise<void> {
  const own = ownIdentity();
  for (const runtime of await provider.listRuntimes()) {
    const { id, beatAt } = runtime;
    const { expired } = await provider.expireRuntime(
      isCertainlyGone(runtime.process, own)
        ? { id, staleMs: null, beatAt }
        : { id, staleMs: staleMsOf(runtime) },
    );
    if (!expired) throw alive([runtime], provider);
  }
}

async function refuseLive(provider: Provider): Promise<void> {
  const own = ownIdentity();
  const now = provider.now();
  const living = (await provider.listRuntimes()).filter(
    (runtime) =>
      !isCertainlyGone(runtime.process, own) && now - runtime.beatAt < staleMsOf(runtime),
  );
  if (living.length > 0) throw alive(living, provider);
}

function alive(living: readonly RuntimeRecord[], { name }: Provider): PerdureError {
  const names = living.map(({ id, hostname }) => `${id} on ${hostname}`).join(", ");
  const message = `Workers are still alive on the ${name} store: ${names}. Stop all workers of both stores first; a dead worker counts as alive for some seconds.`;
  return new PerdureError("STORE_IN_USE", message);
}

function full(why: string): PerdureError {
  return new PerdureError("STORE_NOT_EMPTY", `The target store must be empty: ${why}`);
}

function moved(mark: MoveMark): PerdureError {
  return new PerdureError("STORE_MOVED", moveMarkMessage(mark));
}
