// Whether a store can move to another one: looked at before anything is written, and what a dry run tells.
//   MP1. Nobody may be alive on either store. Whoever is dead is buried as always: what it held becomes free.
//   MP2. A move that was cut off is known by the marks of both stores, and goes on.

import { PerdureError } from "./core/errors.ts";
import { checkMembers } from "./core/known-members.ts";
import type { Provider } from "./core/provider/provider.ts";
import type { RuntimeRecord } from "./core/provider/runtimes.ts";
import {
  toldByMark,
  TRANSFER_FORMAT,
  TRANSFER_TABLES,
  type MoveMark,
  type TransferName,
  type TransferStore,
} from "./core/provider/transfer.ts";
import { staleMsOf } from "./runtime/liveness.ts";
import { isCertainlyGone, ownIdentity } from "./runtime/process-identity.ts";

/** What a move would do. */
export interface MovePlan {
  readonly from: string;
  /** Null: there is none yet. */
  readonly to: string | null;
  /** Whether an earlier run was cut off, and this one goes on. */
  readonly resumes: boolean;
  readonly tables: readonly { readonly table: TransferName; readonly rows: number }[];
}

/** The marks that a move begins with. */
export interface Marks {
  /** Null: none, or one that does not count any more. */
  readonly source: MoveMark | null;
  readonly target: MoveMark | null;
  /** The source's, if it does not count any more. */
  readonly stale: MoveMark | null;
}

/** The part of a provider that moves. */
export function transferOf(provider: Provider): TransferStore {
  const { transfer, name } = provider;
  if (transfer?.format === TRANSFER_FORMAT) return transfer;
  const message = `A store of "${name}" cannot move: its provider does not know format ${TRANSFER_FORMAT}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Says what `moveStore` would do, and refuses what it would; writes nothing. Without a target: to a new one. */
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
    throw new PerdureError("INVALID_ARGUMENT", `${place} cannot move to itself.`);
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
  if (target !== null && target.other !== place) throw full(toldByMark(target));
  if (source === null || again) return { source: null, target, stale: source };
  const isCutOff = source.state === "moving" && source.other === (await to?.place());
  if (!isCutOff) throw moved(source);
  return target === null
    ? { source, target, stale: null }
    : { source: null, target, stale: source };
}

/** Frees what the dead hold, as the next runtime would. */
export async function buryDead(provider: Provider): Promise<void> {
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
  const message = `Alive on the ${name} store: ${names}. Stop all workers of both stores first; one that died counts as alive for some seconds.`;
  return new PerdureError("STORE_IN_USE", message);
}

function full(why: string): PerdureError {
  return new PerdureError("STORE_NOT_EMPTY", `The store to move to is not empty: ${why}`);
}

function moved(mark: MoveMark): PerdureError {
  return new PerdureError("STORE_MOVED", toldByMark(mark));
}
