// Batch: everyday items of a group, written together by few statements.
//   BA1. Kind by kind, in an order in which nobody waits for somebody who waits for him: starts, which may wait for
//        an id, while nothing is locked; then all instances that are written to, in the order of their keys; then
//        tasks, in the order of theirs.
//   BA2. Written at once, a batch is refused where something has to be done first: what has arrived for a receiver is
//        brought to it, a fence is judged, a cancel ends its receiver. Stepwise, somebody has seen to that.
//   BA3. What an item cannot be answered in this way is left over: it has written nothing, and is done by itself.

import type { CommitResult, SendItem, StartItem, TurnItem } from "../core/provider/commit.ts";
import type { Arrivals } from "./arrivals.ts";
import type { Instances } from "./instances.ts";
import type { InstanceLeases } from "./leases.ts";
import type { NewsDraft } from "./news.ts";
import type { Pipeline } from "./pipeline.ts";
import type { EverydayItem } from "./segments.ts";
import type { Sends } from "./send.ts";
import type { Starts } from "./start.ts";
import type { StepOutcomes } from "./step-outcomes.ts";
import type { Tasks } from "./tasks.ts";
import type { Turns } from "./turn.ts";

export interface BatchWriters {
  readonly arrivals: Arrivals;
  readonly instances: Instances;
  readonly starts: Starts;
  readonly turns: Turns;
  readonly tasks: Tasks;
  readonly sends: Sends;
  readonly stepOutcomes: StepOutcomes;
  readonly leases: InstanceLeases;
}
/** Null: it is left over. */
export type BatchResults = ReadonlyMap<EverydayItem, CommitResult | null>;

type Kind = EverydayItem["kind"];
type OfKind<K extends Kind> = Extract<EverydayItem, { readonly kind: K }>;
type Writer<Item> = (items: readonly Item[]) => () => readonly (CommitResult | null)[];

/** What is returned reads the results, when the answer is there. */
export function writeBatch(
  pipeline: Pipeline,
  items: readonly EverydayItem[],
  news: NewsDraft,
  { writers, stepwise }: { readonly writers: BatchWriters; readonly stepwise: boolean },
): () => BatchResults {
  const { instances, starts, turns, tasks, sends, stepOutcomes, leases, arrivals } = writers;
  const readers: (() => (readonly [EverydayItem, CommitResult | null])[])[] = [];
  const of = <K extends Kind>(kind: K): OfKind<K>[] =>
    items.filter((item): item is OfKind<K> => item.kind === kind);
  const write = <Item extends EverydayItem>(list: readonly Item[], writer: Writer<Item>): void => {
    if (list.length === 0) return;
    const read = writer(list);
    readers.push(() => {
      const results = read();
      return list.map((item, index) => [item, results[index] ?? null] as const);
    });
  };
  const turnItems = of("turn");
  write(of("start"), (list: readonly StartItem[]) => starts.start(pipeline, list, news));
  instances.lock(pipeline, touchedBy(items, turnItems));
  if (!stepwise) arrivals.refuse(pipeline, receiversIn(items));
  const tellTurns =
    turnItems.length === 0
      ? null
      : turns.write(pipeline, turnItems, news, { cancelsApart: stepwise });
  write(of("completion"), (list) => tasks.complete(pipeline, list, news));
  write(of("retry"), (list) => tasks.retry(pipeline, list, news));
  write(of("releaseTask"), (list) => tasks.release(pipeline, list, news));
  write(of("stepOutcome"), (list) => stepOutcomes.record(pipeline, list, news));
  write(of("send"), (list: readonly SendItem[]) => sends.send(pipeline, list, news));
  write(of("releaseInstance"), (list) => leases.release(pipeline, list, news));
  write(turnItems, (list: readonly TurnItem[]) => turns.due(pipeline, list, news));
  return () => {
    tellTurns?.();
    return new Map(readers.flatMap((read) => read()));
  };
}

/** Whom something may have arrived for: it comes before what they are sent now, or start with (AR3). */
export function receiversIn(items: readonly EverydayItem[]): string[] {
  const ids = items.flatMap((item) => {
    if (item.kind === "start" || item.kind === "send") return [item.id];
    if (item.kind !== "turn") return [];
    return item.sends.flatMap(({ kind, to }) => (kind === "event" ? [to.id] : []));
  });
  return [...new Set(ids)];
}

/** Whose rows have to be locked at once. Turns alone lock their own by what they write, in the same order. */
function touchedBy(
  items: readonly EverydayItem[],
  turns: readonly TurnItem[],
): { readonly keys: number[]; readonly ids: string[] } {
  const keys = items.flatMap((item) =>
    item.kind === "stepOutcome" || item.kind === "releaseInstance" ? [item.key] : [],
  );
  const ids = [
    ...items.flatMap((item) => (item.kind === "send" ? [item.id] : [])),
    ...turns.flatMap(({ sends }) => sends.map(({ to }) => to.id)),
  ];
  if (keys.length + ids.length > 0) keys.push(...turns.map(({ key }) => key));
  return { keys, ids: [...new Set(ids)] };
}
