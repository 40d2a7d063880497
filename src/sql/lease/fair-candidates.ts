// Fair candidates: the next tasks of a part of a queue in fair order (core/provider/shared/fair-order.ts).
//   - If not all due tasks were read, the first task of each key shows how many tasks each key gets. Only these are read.

import { queueRank } from "../../core/provider/shared/ageing.ts";
import { pickFairly, type Lane } from "../../core/provider/shared/fair-order.ts";
import { keyAllowance } from "../../core/provider/shared/queue-admission.ts";
import { integer, text } from "../columns.ts";
import { together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import {
  candidate,
  distinct,
  headsOf,
  otherKeys,
  partId,
  rowsOf,
  type FoundRow,
  type Front,
  type Part,
  type QueuedCandidate,
  type QueueSearch,
} from "./queue-parts.ts";

const SELECT_CLOCK = new Statement(`
  SELECT c.virtual_time FROM @queue_clocks AS c WHERE c.name = $1 AND c.part = $2`);
const SELECT_LANES = new Statement(`
  SELECT l.queue_key, l.next_start FROM @queue_lanes AS l
  WHERE l.name = $1 AND l.part = $2 AND l.queue_key = ANY ($3::text[])`);

/** The stored state of fair order in a part. */
interface Order {
  readonly virtualTime: number;
  readonly starts: ReadonlyMap<string, number>;
}

export function* inFairOrder(
  search: QueueSearch,
  part: Part,
  { rows, isAll, wanted }: Front,
): Script<QueuedCandidate[]> {
  if (rows.length === 0) return [];
  const keys = isAll
    ? [...new Set(rows.map(({ key }) => key))]
    : yield* otherKeys(search, part, rows);
  const order = yield* readOrder(part, keys);
  const known = isAll
    ? rows
    : distinct([...(yield* sharesOf(search, part, keys, order, wanted)), ...rows]);
  const byKey = Map.groupBy(
    known.toSorted((a, b) => a.availableAt - b.availableAt),
    ({ key }) => key,
  );
  const lanes = [...byKey].map(([key, tasks]) => {
    const weights = tasks.map(({ weight }) => weight);
    return laneOf(part, order, wanted, { key, weights, headAt: tasks[0]?.availableAt ?? 0 });
  });
  const picks = pickFairly(lanes, order.virtualTime, wanted).flatMap((pick) => {
    const row = byKey.get(pick.lane.key)?.[pick.index];
    return row === undefined ? [] : [{ ...pick, row }];
  });
  const rank = queueRank(oldestOf(known), part.priority, search.request);
  const found = picks.map(({ row, lane, start, nextStart }, position): QueuedCandidate => ({
    ...candidate(search, part, row),
    rank,
    position,
    fair: { name: part.load.name, part: partId(part), key: lane.key, start, nextStart },
  }));
  if (found.length === wanted) return found;
  // One task that is held back shows that the request must come again.
  const picked = new Set(picks.map(({ row }) => row));
  const rest = known.find((row) => !picked.has(row));
  if (rest === undefined) return found;
  return [...found, { ...candidate(search, part, rest), rank, position: found.length }];
}

function* readOrder(part: Part, keys: readonly string[]): Script<Order> {
  const { name } = part.load;
  const [clock, lanes] = yield* together(
    call(SELECT_CLOCK, name, partId(part)),
    call(SELECT_LANES, name, partId(part), keys),
  );
  const [row] = clock.rows;
  return {
    virtualTime: row === undefined ? 0 : integer(row, "virtual_time"),
    starts: new Map(
      lanes.rows.map((lane) => [text(lane, "queue_key"), integer(lane, "next_start")]),
    ),
  };
}

/** The tasks that each key gets, as if all its tasks had the weight of the first one. */
function* sharesOf(
  search: QueueSearch,
  part: Part,
  keys: readonly string[],
  order: Order,
  wanted: number,
): Script<readonly FoundRow[]> {
  const heads = yield* headsOf(search, part, keys);
  const lanes = heads.map(({ key, headAt, weight }) => {
    const weights = Array.from<number>({ length: wanted }).fill(weight);
    return laneOf(part, order, wanted, { key, weights, headAt });
  });
  const counts = new Map<string, number>();
  for (const { lane } of pickFairly(lanes, order.virtualTime, wanted)) {
    counts.set(lane.key, (counts.get(lane.key) ?? 0) + 1);
  }
  return yield* rowsOf(search, part, counts);
}

/** A lane without the tasks that the limit per key holds back. */
function laneOf(
  { load }: Part,
  { starts }: Order,
  wanted: number,
  { key, weights, headAt }: Omit<Lane, "nextStart">,
): Lane {
  const open = weights.slice(0, Math.min(wanted, keyAllowance(load, key)));
  return { key, weights: open, headAt, nextStart: starts.get(key) };
}

function oldestOf(rows: readonly FoundRow[]): number {
  return rows.reduce((oldest, { availableAt }) => Math.min(oldest, availableAt), Infinity);
}
