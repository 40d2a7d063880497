// Stream checks: offsets are dense, each value is there once and in order, and settled readers get exactly what
// successful calls and the orchestration wrote (C18).

import type { StreamItem } from "../../../client/streams/entries.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { defaultCodec } from "../../../core/values/codec.ts";
import type { EndedInstance, EndOfRun } from "../world/workload.ts";
import type { Job } from "./jobs.ts";
import { partsOf, type Program, type StreamedNode, type WriteNode } from "./program.ts";
import { STREAMED, valuesOf, type StreamValue } from "./streams.ts";

type Item = StreamItem<StreamValue>;
/** The end of a call, by its history. "open": the instance ended first, so the outcome is not in the history. */
type Fate = "completed" | "failed" | "open" | "never called";

export async function checkStreams({ id, input }: Job, end: EndOfRun): Promise<void> {
  const writers = input.rounds.flatMap(writersIn);
  const instance = end.instances.get(id);
  if (instance === undefined || !isTerminalStatus(instance.record.status)) return; // reported elsewhere
  const closed = new Set<string>();
  for (const name of new Set(writers.map(({ stream }) => stream))) {
    const report = (what: string): void => end.report(`${id}: stream ${name}: ${what}`);
    const shown = await readShown(end, { id, name }, report);
    const settled: Item[] = [];
    for await (const entry of end.client.get(id).stream(valuesOf(name), { settled: true }))
      if (entry.kind === "item") settled.push(entry);
    for (const part of writers.filter(({ stream }) => stream === name)) {
      const of = (items: readonly Item[]): Part => numbersOf(items, part.key);
      if (part.op === "streamed") {
        const fate = fateOf(part.key, instance);
        checkCall(part, { fate, shown: of(shown), settled: of(settled) }, report);
      } else {
        const must = closed.has(name)
          ? "none"
          : instance.record.status === "completed"
            ? "all"
            : null;
        checkWrite(part, { must, shown: of(shown), settled: of(settled) }, report);
        if (part.closes) closed.add(name);
      }
    }
    for (const what of orderFaults(input.rounds, shown)) report(what);
    const known = new Map(shown.map((item) => [item.offset, item]));
    for (const { offset, value } of settled) {
      if (known.get(offset)?.value.key !== value.key) report(`settled offset ${offset} was reset`);
    }
  }
}

function writersIn(program: Program): (WriteNode | StreamedNode)[] {
  if (program.op === "write" || program.op === "streamed") return [program];
  return partsOf(program).flatMap(writersIn);
}

/** The items that are left after the resets, as a reader shows them. */
async function readShown(
  { client }: EndOfRun,
  { id, name }: { readonly id: string; readonly name: string },
  report: (what: string) => void,
): Promise<readonly Item[]> {
  let items: Item[] = [];
  let next = 0;
  for await (const entry of client.get(id).stream(valuesOf(name))) {
    if (entry.kind === "end") break;
    if (entry.offset !== next) report(`offset ${entry.offset} follows ${next - 1}`);
    next = entry.offset + 1;
    if (entry.kind === "item") items.push(entry);
    else items = items.filter(({ call, offset }) => call !== entry.call || offset < entry.from);
  }
  return items;
}

/** The numbers of a part's values, in the order of their offsets. */
type Part = readonly number[];

function numbersOf(items: readonly Item[], key: string): Part {
  return items.flatMap(({ value }) => (value.key === key ? value.n : []));
}

function fateOf(key: string, { executions }: EndedInstance): Fate {
  for (const events of executions.values()) {
    for (const event of events) {
      if (event.kind !== "ActivityScheduled" || event.name !== STREAMED) continue;
      const node = defaultCodec.decode(event.input) as StreamedNode; // written by the interpreter
      if (node.key !== key) continue;
      const outcome = events.find(
        (each) => "scheduled" in each && each.scheduled === event.sequence,
      );
      if (outcome?.kind === "ActivityCompleted") return "completed";
      return outcome?.kind === "ActivityFailed" ? "failed" : "open";
    }
  }
  return "never called";
}

interface Seen {
  readonly shown: Part;
  readonly settled: Part;
}

function checkCall(
  { key, count }: StreamedNode,
  { fate, shown, settled }: Seen & { readonly fate: Fate },
  report: (what: string) => void,
): void {
  const mayShow = fate === "never called" ? 0 : count;
  if (!isFirst(shown, mayShow)) report(`call ${key} (${fate}) shows ${shown.join()}`);
  if (fate === "completed" && shown.length < count)
    report(`call ${key} shows only ${shown.join()}`);
  const isAll = isFirst(settled, count) && settled.length === count;
  const isRight = fate === "completed" ? isAll : settled.length === 0 || (fate === "open" && isAll);
  if (!isRight) report(`call ${key} (${fate}) of ${count} values settled ${settled.join()}`);
}

function checkWrite(
  { key, count }: WriteNode,
  { must, shown, settled }: Seen & { readonly must: "all" | "none" | null },
  report: (what: string) => void,
): void {
  const isAll = isFirst(shown, count) && shown.length === count;
  const isNone = shown.length === 0;
  const isRight = must === "all" ? isAll : must === "none" ? isNone : isAll || isNone;
  if (!isRight) report(`the orchestration's part ${key} of ${count} values shows ${shown.join()}`);
  if (settled.join() !== shown.join()) report(`part ${key} settled ${settled.join()}`);
}

/** Whether the values are the first ones of a part with `count` values, each once and in order. */
function isFirst(numbers: Part, count: number): boolean {
  return numbers.length <= count && numbers.every((n, index) => n === index);
}

/** Values of a part that are before values of an earlier part of the same sequence. */
function orderFaults(rounds: readonly Program[], shown: readonly Item[]): readonly string[] {
  const offsets = (program: Program): readonly number[] => {
    const keys = new Set(writersIn(program).map(({ key }) => key));
    return shown.flatMap(({ offset, value }) => (keys.has(value.key) ? offset : []));
  };
  const steps = rounds.flatMap((round) => (round.op === "sequence" ? round.parts : [round]));
  let last = -1;
  return steps.flatMap((step) => {
    const own = offsets(step);
    const first = Math.min(...own);
    const before = last;
    last = Math.max(last, ...own);
    return first < before ? [`offset ${first} must be after ${before}`] : [];
  });
}
