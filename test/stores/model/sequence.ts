// Runs one sequence of commands on the model and on stores. Every answer must be equal, and every few steps the whole
// state must be equal.

import { isDeepStrictEqual } from "node:util";
import type { CommitItem, Provider } from "../../../src/core/provider/index.ts";
import { VirtualEnvironment } from "../../../src/testing/index.ts";
import { startedText, startItem } from "../../../src/testing/conformance/fixture.ts";
import { jobStart } from "../../../src/testing/conformance/jobs/job-items.ts";
import type { OpenedProvider, OpenProvider } from "../../../src/testing/conformance/index.ts";
import { Caller, OWNERS } from "./caller.ts";
import { answerOfModel, answerOfStore, type Call } from "./calls.ts";
import type { Command } from "./commands.ts";
import { concerned } from "./concerned.ts";
import { randomItem, REQUESTS, type ItemKind } from "./items.ts";
import { snapshot } from "./model-admin.ts";
import { ModelStore } from "./model-store.ts";
import { entriesOf } from "./model-streams.ts";
import { Numbers } from "./numbers.ts";
import { randomCall } from "./requests.ts";
import type { Tally } from "./tally.ts";

const COMPARE_EVERY = 8;
const ITEM_KINDS: readonly string[] =
  "start turn completion retry releaseTask stepOutcome send ask withdraw append trim pause resume unblock fork cancel terminate block releaseInstance".split(
    " ",
  );

interface Side {
  readonly name: string;
  readonly opened: OpenedProvider;
  provider: Provider;
  readonly numbers: Numbers;
}

export async function runSequence(
  sequence: readonly Command[],
  stores: Readonly<Record<string, OpenProvider>>,
  tally: Tally,
): Promise<void> {
  const environment = new VirtualEnvironment();
  const model = new ModelStore(() => Math.floor(environment.now()));
  const sides: Side[] = [];
  try {
    for (const [name, open] of Object.entries(stores)) {
      const opened = await open({ environment });
      sides.push({ name, opened, provider: opened.provider, numbers: new Numbers() });
    }
    await new Run(environment, model, sides, tally).all(sequence);
  } finally {
    for (const { opened, provider } of sides) {
      if (provider !== opened.provider) await provider.close();
      await opened.cleanup();
    }
  }
}

class Run {
  readonly #environment: VirtualEnvironment;
  readonly #model: ModelStore;
  readonly #sides: readonly Side[];
  readonly #tally: Tally;
  readonly #caller: Caller;
  readonly #steps: string[] = [];

  constructor(
    environment: VirtualEnvironment,
    model: ModelStore,
    sides: readonly Side[],
    tally: Tally,
  ) {
    this.#environment = environment;
    this.#model = model;
    this.#sides = sides;
    this.#tally = tally;
    this.#caller = new Caller(model);
  }

  async all(sequence: readonly Command[]): Promise<void> {
    for (const id of OWNERS.slice(0, 2)) {
      const registration = { id, nodeId: id, process: null, hostname: "host", registered: "{}" };
      await this.#step({ method: "registerRuntime", registration });
    }
    // Instances for the first commands.
    for (const [index, id] of ["a", "b", "c"].entries()) {
      const lease = { owner: OWNERS[index % 2] ?? "", token: index };
      const item = startItem({ id, runId: id, started: startedText({ runId: id }), lease });
      await this.#step({ method: "commit", items: [item] });
    }
    const task = { lease: { owner: OWNERS[0], token: 3 } };
    await this.#step({ method: "commit", items: [jobStart({ id: "d", runId: "d", task })] });
    let steps = 0;
    for (let at = 0; at < sequence.length; at += 1) {
      const command = sequence[at];
      if (command === undefined) break;
      if (isItemKind(command.kind)) {
        const items = this.#group(sequence.slice(at));
        at += items.length - 1;
        await this.#step({ method: "commit", items });
      } else {
        await this.#step(randomCall(command.kind, this.#caller.choose(command.picks)));
      }
      if ((steps += 1) % COMPARE_EVERY === 0) await this.#compareState();
    }
    await this.#compareState();
  }

  /**
   * A command and those that join it. They concern unrelated instances, because the order within a group is not
   * defined. A start with its first turn is alone: in a group, a store may ignore the turn (commit.5).
   */
  #group(sequence: readonly Command[]): readonly CommitItem[] {
    const items: CommitItem[] = [];
    const used = new Set<string>();
    for (const { kind, joins, picks } of sequence) {
      if (!isItemKind(kind) || (items.length > 0 && !joins)) break;
      const item = randomItem(kind, this.#caller.choose(picks));
      const hasTurn = item.kind === "start" && item.firstTurn !== undefined;
      if (hasTurn && items.length > 0) break;
      if (hasTurn) return [item];
      const ids = concerned(this.#model, item);
      if (ids.some((id) => used.has(id))) break;
      for (const id of ids) used.add(id);
      items.push(item);
    }
    return items;
  }

  async #step(call: Call): Promise<void> {
    this.#steps.push(JSON.stringify(call));
    // Every step has a different time, so that times define the order.
    this.#environment.jumpWallClock(call.method === "advance" ? call.ms : 1);
    const before = JSON.parse(JSON.stringify(call)) as Call; // the model may keep references to the call
    const expected = plain(answerOfModel(this.#model, call));
    for (const side of this.#sides) {
      if (call.method === "reopen") await reopen(side);
      const answer = await answerOfStore(side.provider, side.numbers.toStore(before));
      this.#compare(side, expected, answer);
    }
    this.#remember(call, expected);
  }

  /** Compares the state of each store with the model, and the metrics of the stores with each other. */
  async #compareState(): Promise<void> {
    const expected = plain(snapshot(this.#model));
    const others: unknown[] = [];
    for (const side of this.#sides) {
      this.#compare(side, expected, await readState(side.provider));
      others.push(plain(await figures(side.provider)));
      if (!isDeepStrictEqual(others[0], others.at(-1))) {
        throw this.#difference(`figures of ${side.name}`, others[0], others.at(-1));
      }
    }
    this.#seeMessages(expected);
  }

  #compare(side: Side, expected: unknown, answer: unknown): void {
    const actual = side.numbers.toModel(expected, plain(answer));
    if (!isDeepStrictEqual(expected, actual)) throw this.#difference(side.name, expected, actual);
  }

  #difference(name: string, expected: unknown, actual: unknown): Error {
    const steps = this.#steps.join("\n");
    const [wanted, found] = [JSON.stringify(expected), JSON.stringify(actual)];
    return new Error(`${steps}\n-- expected: ${wanted}\n-- ${name}: ${found}`);
  }

  #remember(call: Call, answer: unknown): void {
    this.#tally.add(call, answer);
    if (call.method === "commit") this.#caller.pastItems.push(...call.items);
    this.#seeMessages(answer);
  }

  /** Callers may use the ids of messages that they have seen. */
  #seeMessages(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    if ("visibleAt" in value && "id" in value) this.#caller.seenMessages.add(Number(value.id));
    for (const member of Object.values(value)) this.#seeMessages(member);
  }
}

function isItemKind(kind: string): kind is ItemKind {
  return ITEM_KINDS.includes(kind);
}

/** The value as plain JSON: absent and undefined fields are equal. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as unknown);
}

async function reopen(side: Side): Promise<void> {
  if (side.opened.reopen === undefined) return; // a store in memory cannot be reopened
  const next = await side.opened.reopen();
  if (side.provider !== side.opened.provider) await side.provider.close();
  side.provider = next;
}

/** The state in the form of `snapshot`. */
async function readState(provider: Provider): Promise<unknown> {
  const { items } = await provider.findInstances({
    ...{ filter: {}, order: "oldest", limit: 1_000, cursor: null },
  });
  const runtimes = await provider.listRuntimes();
  return {
    runtimes: runtimes.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    instances: await Promise.all(items.map(({ id }) => readInstance(provider, id))),
  };
}

async function readInstance(provider: Provider, id: string): Promise<unknown> {
  const record = await provider.readInstance(id);
  if (record === null) return null;
  const { key, execution } = record;
  const [executions, history, inbox, tasks, keyValues, asked, streams] = await Promise.all([
    provider.readExecutions(key),
    provider.readHistory({ key, execution }),
    provider.readInbox(key),
    provider.readTasks({ key, execution }),
    provider.readKeyValues(id),
    provider.readAsks(id, REQUESTS),
    readStreams(provider, id),
  ]);
  const numbers = executions.map((each) => each.execution);
  const asks = asked?.asks.toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
  return { record, executions: numbers, history, inbox, tasks, keyValues, asks, streams };
}

/** Every stream of an instance in the form of `streamsOf`, read in small pages. */
async function readStreams(provider: Provider, id: string): Promise<unknown> {
  const list = (await provider.listStreams(id)) ?? [];
  return Promise.all(
    list.map(async (stream) => {
      const entries: unknown[] = [];
      for (let from = stream.first; ;) {
        const request = { id, name: stream.name, from, bytesMax: 30, settled: true };
        const page = await provider.readStream({ ...request, chunksMax: 2 });
        if (page === null) return null;
        entries.push(...entriesOf(page));
        from = stream.first + entries.length;
        if (from >= page.next) return { ...stream, isOver: page.isOver, entries };
      }
    }),
  );
}

async function figures(provider: Provider): Promise<unknown> {
  const waiting = (await provider.readWaiting()).map((each) => JSON.stringify(each));
  const queues = (await provider.readQueues()).map((each) => JSON.stringify(each));
  return {
    ...{ waiting: waiting.toSorted(), queues: queues.toSorted() },
    metrics: await provider.readMetrics(),
    loads: await provider.readLoads(),
  };
}
