// The audit of a tale: what its readers saw, compared with the runs that succeeded.

import type { StreamEntry, StreamItem } from "../../../src/stream/index.ts";
import { BEGIN, END, type Tale, type Told, type Word } from "./tales.ts";

type Entry = StreamEntry<Word>;
type Item = StreamItem<Word>;

/** What the readers of one tale received. */
export interface Seen {
  /** While the tale was told. */
  readonly live: readonly Entry[];
  readonly liveSettled: readonly Entry[];
  /** After its end. */
  readonly again: readonly Entry[];
  readonly settled: readonly Entry[];
}

/** Descriptions of values that are lost, doubled, out of order or wrongly settled. */
export function taleFaults(tale: Tale, told: readonly Told[], seen: Seen): readonly string[] {
  const shown = shownOf(seen.again);
  const settled = itemsOf(seen.settled);
  const found = [
    ...[seen.live, seen.again].flatMap(gaps),
    ...differences("the entries of a live reader", seen.live, seen.again),
    ...differences("the settled entries of a live reader", seen.liveSettled, seen.settled),
  ];
  const offsets = settled.map(({ offset }) => offset);
  if (offsets.some((offset, index) => index > 0 && offset <= (offsets[index - 1] ?? 0)))
    found.push(`the settled offsets are ${offsets.join()}`);
  const parts = tale.rounds.flat();
  for (const { name, count } of parts) {
    const run = told.find(({ part }) => part === name)?.run;
    if (run === undefined) found.push(`part ${name} has no result`);
    else if (run === null) found.push(...failedFaults(name, shown, settled));
    else {
      const expected = Array.from({ length: count }, (_, n) => `${name} ${run} ${n}`);
      found.push(...differences(`part ${name}`, textsOf(shown, name), expected));
      found.push(...differences(`settled part ${name}`, textsOf(settled, name), expected));
    }
  }
  for (const left of tale.rounds.map((_, index) => tale.rounds.length - index)) {
    for (const part of [`${BEGIN} ${left}`, `${END} ${left}`]) {
      for (const items of [shown, settled])
        found.push(...differences(`part ${part}`, textsOf(items, part), [`${part}  0`]));
    }
  }
  return found;
}

/** A failed activity may have left the first values of its last run, and none of them is settled. */
function failedFaults(
  name: string,
  shown: readonly Item[],
  settled: readonly Item[],
): readonly string[] {
  const left = shown.filter(({ value }) => value.part === name);
  const isFirst = left.every(({ value }, n) => value.n === n && value.run === left[0]?.value.run);
  return [
    ...(isFirst ? [] : [`failed part ${name} shows ${textsOf(shown, name).join()}`]),
    ...differences(`settled values of failed part ${name}`, textsOf(settled, name), []),
  ];
}

/** The items that are left after the resets. */
export function shownOf(entries: readonly Entry[]): readonly Item[] {
  let items: Item[] = [];
  for (const entry of entries) {
    if (entry.kind === "item") items.push(entry);
    if (entry.kind === "reset")
      items = items.filter(({ call, offset }) => call !== entry.call || offset < entry.from);
  }
  return items;
}

function itemsOf(entries: readonly Entry[]): readonly Item[] {
  return entries.filter((entry) => entry.kind === "item");
}

function gaps(entries: readonly Entry[]): readonly string[] {
  const offsets = entries.flatMap((entry) => (entry.kind === "end" ? [] : [entry.offset]));
  const isDense = offsets.every((offset, index) => offset === index);
  return isDense ? [] : [`the offsets are ${offsets.join()}`];
}

function textsOf(items: readonly Item[], name: string): readonly string[] {
  return items.flatMap(({ value: { part, run, n } }) =>
    part === name ? `${part} ${run} ${n}` : [],
  );
}

function differences(
  what: string,
  found: readonly unknown[],
  expected: readonly unknown[],
): readonly string[] {
  const [left, right] = [found, expected].map((values) => JSON.stringify(values, withoutFiller));
  return left === right ? [] : [`${what} are ${left}; expected ${right}`];
}

function withoutFiller(name: string, value: unknown): unknown {
  return name === "filler" ? undefined : value;
}
