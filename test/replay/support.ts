// The driver of the replay tests: runs an orchestration function turn by turn on the real Pump and TurnJob, without a
// store. Each delivery has its own macrotask. A turn is "hot" in the live run, and "cold" in a new run that replays.
//   - The events of a turn are kept as the text of a history row and decoded from it, as with a store.
//   - test-replay.support.1: Every turn is also run cold: a new run replays the history and gets the same inputs. Both must
//        have the same events, effects, log lines and open tasks (I5).
//   - test-replay.support.2: After every turn a new run replays the whole history. It must not block or append, and must have
//        the same open tasks, unread messages and end as the live run.
//   - test-replay.support.3: Values that a handler passes to `note` must be equal in the live run and in each replay, so that
//        everything a test observes inside an orchestration is replayable (semantics 8).

import { expect } from "vitest";
import type { BlockReason } from "../../src/core/history/block.ts";
import { type Codec, defaultCodec } from "../../src/core/values/codec.ts";
import type { OrchestrationContext } from "../../src/core/context/types.ts";
import { orchestration } from "../../src/core/define/definitions.ts";
import type {
  EventBody,
  OrchestrationStarted,
  TerminalBody,
} from "../../src/core/history/events.ts";
import { isCommand, isTerminal } from "../../src/core/history/events.ts";
import { bodyOf, decodeHistory, encodeRow, type HistoryRow } from "../../src/core/history/rows.ts";
import { inInboxOrder } from "../../src/core/replay/inbox-delivery.ts";
import type { TurnItem } from "../../src/core/provider/commit.ts";
import type { Message } from "../../src/core/provider/messages.ts";
import type { Run } from "../../src/core/replay/run.ts";
import type { StandardSchema } from "../../src/core/values/standard-schema.ts";
import { systemEnvironment } from "../../src/core/time/system-environment.ts";
import type { TurnEffects } from "../../src/core/replay/effects.ts";
import type { HeldInstance } from "../../src/runtime/instances/held-instance.ts";
import { makeRun } from "../../src/runtime/replay/make-run.ts";
import { Pump } from "../../src/runtime/replay/pump.ts";
import { turnItem } from "../../src/runtime/replay/turn-commit.ts";
import { type FinishedTurn, TurnJob } from "../../src/runtime/replay/turn-job.ts";
import { type Draft, type Given, isLocal, RUN_ID, started } from "./bodies.ts";

export type Note = (value: unknown) => void;
export type Handler<I> = (
  ctx: OrchestrationContext<I>,
  input: I,
  note: Note,
) => Promise<unknown> | unknown;

export interface PlayOptions<I> {
  readonly input?: I;
  readonly id?: string;
  readonly execution?: number;
  readonly priority?: number;
  readonly start?: Partial<OrchestrationStarted>;
  readonly codec?: Codec;
  /** The schema of the definition's input. */
  readonly inputSchema?: StandardSchema;
  readonly captureSources?: boolean;
  /** "each" (default): every turn is also run cold and replayed; "end": only when `verify` is called. */
  readonly checks?: "each" | "end";
  /** The last event that a fork or a rewind copied. */
  readonly copiedUntil?: number;
  /** The time of the first turn; each later turn is one second later. */
  readonly at?: number;
}

/** The result of one turn. */
export interface Turn {
  readonly events: readonly EventBody[];
  /** The events, in short: `ActivityScheduled a`, `TimerFired #3`. */
  readonly brief: readonly string[];
  readonly item: TurnItem;
  readonly effects: TurnEffects;
  /** `level message`. */
  readonly logs: readonly string[];
  readonly consumed: readonly number[];
  /** `sequence kind name`. */
  readonly open: readonly string[];
  readonly unread: readonly unknown[];
  readonly ended: TerminalBody | null;
  readonly blocked: BlockReason | null;
}

export const START_AT = 1_000_000;
const TURN_MS = 1_000;

/** Starts an orchestration: its first turn takes the start and the given inputs. */
export async function begin<I = undefined>(
  handler: Handler<I>,
  options: PlayOptions<I> = {},
  ...given: Given[]
): Promise<Play<I>> {
  const play = new Play(handler, options, []);
  const start: Draft = {
    kind: "start",
    data: JSON.stringify(started(options.input, options.start)),
  };
  await play.turn(start, ...given);
  return play;
}

/** Resumes an orchestration at the end of a handwritten history, which must replay without a block. */
export async function resume<I = undefined>(
  handler: Handler<I>,
  history: readonly EventBody[],
  options: PlayOptions<I> = {},
): Promise<Play<I>> {
  const play = new Play(handler, options, rowsOf(history, options.at ?? START_AT));
  await play.verify();
  return play;
}

/** Replays a handwritten history twice. Both replays must have the same result. */
export async function replay<I = undefined>(
  handler: Handler<I>,
  history: readonly EventBody[] | { readonly rows: readonly HistoryRow[] },
  options: PlayOptions<I> = {},
): Promise<Turn & { readonly trace: readonly unknown[]; readonly run: Run }> {
  const rows = "rows" in history ? history.rows : rowsOf(history, options.at ?? START_AT);
  const play = new Play(handler, options, rows);
  const first = await play.cold();
  const second = await play.cold();
  expect(picture(second), "a second replay has the result of the first").toEqual(picture(first));
  expect(first.brief, "a replay appends nothing").toEqual([]);
  return first;
}

/** An instance without a store: its rows, and the live run over them. */
export class Play<I> {
  readonly #handler: Handler<I>;
  readonly #options: PlayOptions<I>;
  readonly turns: Turn[] = [];
  #rows: readonly HistoryRow[];
  #hot: Driven<I> | null = null;
  #nextMessage = 1;
  /** The time of the next turn. */
  clock: number;

  constructor(handler: Handler<I>, options: PlayOptions<I>, rows: readonly HistoryRow[]) {
    this.#handler = handler;
    this.#options = options;
    this.#rows = rows;
    this.clock = options.at ?? START_AT;
  }

  get last(): Turn {
    const turn = this.turns.at(-1);
    if (turn === undefined) throw new Error("No turn has been played.");
    return turn;
  }
  get rows(): readonly HistoryRow[] {
    return this.#rows;
  }
  get history(): EventBody[] {
    return decodeHistory(this.#rows).map(bodyOf);
  }
  /** The values that the live run noted. */
  get trace(): readonly unknown[] {
    return this.#hot?.trace ?? [];
  }
  get run(): Run {
    if (this.#hot === null) throw new Error("No turn has been played.");
    return this.#hot.run;
  }

  /** One turn that takes all given inputs, one delivery at a time. */
  async turn(...given: Given[]): Promise<Turn> {
    const messages = given.flatMap((one) => (isLocal(one) ? [] : [this.#message(one)]));
    const outcomes = given.filter(isLocal);
    const at = this.clock;
    this.clock += TURN_MS;
    this.#hot ??= this.#drivenOver(this.#rows);
    const hot = await this.#hot.turn({ messages, outcomes, at });
    if (this.#checks === "each") {
      const cold = this.#drivenOver(this.#rows);
      const again = await cold.turn({ messages, outcomes, at });
      expect(picture(again), "a cold turn commits the same as the hot turn (I5)").toEqual(
        picture(hot),
      );
      expect(cold.trace, "the code sees the same values in a cold turn as in the hot turn").toEqual(
        this.trace,
      );
    }
    if (hot.blocked === null && hot.item.row !== null) this.#rows = [...this.#rows, hot.item.row];
    this.turns.push(hot);
    if (this.#checks === "each" && hot.blocked === null) await this.verify();
    return hot;
  }

  /** Replays the whole history and compares it with the live run (test-replay.support.2, test-replay.support.3). */
  async verify(): Promise<void> {
    const cold = await this.cold();
    expect(cold.blocked, "the history replays without a block").toBeNull();
    expect(cold.brief, "a replay appends nothing").toEqual([]);
    expect(listed(cold.effects), "a replay has no effects").toEqual(NO_EFFECTS);
    expect(cold.logs, "a replay logs nothing").toEqual([]);
    if (this.#hot === null) return;
    expect(summary(cold.run), "a replay ends in the same state as the live run").toEqual(
      summary(this.#hot.run),
    );
    expect(cold.trace, "the code sees the same values in a replay as in the live run").toEqual(
      this.trace,
    );
  }

  /** A replay of the history by a new run. */
  async cold(): Promise<Turn & { trace: readonly unknown[]; run: Run }> {
    const driven = this.#drivenOver(this.#rows);
    const turn = await driven.turn({ messages: [], outcomes: [], at: this.clock });
    return { ...turn, trace: driven.trace, run: driven.run };
  }

  get #checks(): "each" | "end" {
    return this.#options.checks ?? "each";
  }

  #drivenOver(rows: readonly HistoryRow[]): Driven<I> {
    return new Driven(this.#handler, this.#options, rows);
  }

  #message(draft: Draft): Message {
    return {
      id: this.#nextMessage++,
      execution: this.#options.execution ?? 1,
      sequence: null,
      name: null,
      key: null,
      visibleAt: this.clock,
      ...draft,
    };
  }
}

const pump = new Pump({
  environment: systemEnvironment,
  onIdle: () => undefined,
  entering: () => undefined,
});

/** A run with the held instance in which a runtime keeps it. */
class Driven<I> {
  readonly run: Run;
  readonly trace: unknown[] = [];
  readonly #held: HeldInstance;

  constructor(handler: Handler<I>, options: PlayOptions<I>, rows: readonly HistoryRow[]) {
    const note: Note = (value) => this.trace.push(structuredClone(value));
    const main = orchestration("main", async (ctx: OrchestrationContext<I>, input: I) =>
      handler(ctx, input, note),
    );
    const { inputSchema } = options;
    const definition =
      inputSchema === undefined ? main : { ...main, options: { input: inputSchema } };
    this.#held = {
      key: 1,
      id: options.id ?? "i",
      runId: RUN_ID,
      name: "main",
      definition,
      priority: options.priority ?? 3,
      token: 1,
      copiedUntil: options.copiedUntil ?? 0,
      execution: options.execution ?? 1,
      lastEvent: rows.at(-1)?.last ?? 0,
      version: null,
      run: null,
      rows,
      bytes: rows.reduce((sum, row) => sum + row.data.length, 0),
      state: "cold",
      messages: [],
      outcomes: [],
      hasUnseenMessages: false,
      shadowMismatch: null,
      commitCount: 0,
      lastCommit: null,
      usedAt: 0,
      suspect: false,
      leasedAt: 0,
    };
    const { captureSources } = options;
    this.run = makeRun(this.#held, {
      codec: options.codec ?? defaultCodec,
      ...(captureSources === undefined ? {} : { captureSources }),
    });
  }

  async turn(given: {
    messages: readonly Message[];
    outcomes: HeldInstance["outcomes"];
    at: number;
  }): Promise<Turn> {
    const held = this.#held;
    held.messages = inInboxOrder(given.messages);
    held.outcomes = [...given.outcomes];
    const now = (): number => given.at;
    const finished = await new Promise<FinishedTurn>((finish) =>
      pump.add(new TurnJob({ held, run: this.run, now, finish, poison: "throw" })),
    );
    if (finished.bug !== undefined) throw finished.bug;
    return this.#result(finished);
  }

  #result(finished: FinishedTurn): Turn {
    const { run } = this;
    const { events, effects, logs } = run.takeTurn();
    const item = turnItem(finished, events, effects, {
      commitId: 1,
      cancelTimeoutMs: 3_600_000,
      leaseFor: () => null,
      weightOf: () => undefined,
      release: false,
    });
    if (run.blocked === null) {
      this.#held.lastEvent += events.length;
      this.#held.bytes += item.row?.data.length ?? 0;
    }
    return {
      events,
      brief: events.map(brief),
      item,
      effects,
      logs: logs.map(({ level, message }) => `${level} ${message}`),
      consumed: finished.consumed,
      open: openOf(run),
      unread: run.mailbox.unread().map(({ data }) => readable(run, data)),
      ended: run.ended,
      blocked: run.blocked,
    };
  }
}

/** Rows as turns write them: one delivery and the commands that it leads to. */
export function rowsOf(history: readonly EventBody[], at = START_AT): HistoryRow[] {
  const groups: EventBody[][] = [];
  for (const body of history) {
    const group = groups.at(-1);
    if (group === undefined || !(isCommand(body) || isTerminal(body))) groups.push([body]);
    else group.push(body);
  }
  let first = 1;
  return groups.map((bodies, index) => {
    const row = {
      first,
      last: first + bodies.length - 1,
      data: encodeRow(at + index * TURN_MS, bodies),
    };
    first = row.last + 1;
    return row;
  });
}

export function brief(body: EventBody): string {
  const name = "name" in body ? ` ${body.name}` : "";
  const of = "scheduled" in body ? ` #${body.scheduled}` : "";
  return `${body.kind}${name}${of}`;
}

/** The output of a completed execution. */
export function outputOf(turn: Turn): unknown {
  if (turn.ended?.kind !== "OrchestrationCompleted") {
    throw new Error(
      `the instance has not completed: ${JSON.stringify(turn.ended ?? turn.blocked)}`,
    );
  }
  return defaultCodec.decode(turn.ended.output);
}

/** The end of a failed execution. */
export function failureOf(turn: Turn) {
  if (turn.ended?.kind !== "OrchestrationFailed") {
    throw new Error(`the instance has not failed: ${JSON.stringify(turn.ended ?? turn.blocked)}`);
  }
  return turn.ended;
}

function readable(run: Run, text: string): unknown {
  try {
    return run.codec.decode(text);
  } catch {
    return { unreadable: text };
  }
}

function openOf(run: Run): string[] {
  return [...run.openTasks.values()].map((task) => `${task.sequence} ${task.kind} ${task.name}`);
}

/** The state that must be equal after the same history. */
function summary(run: Run): unknown {
  const steps = [...run.openTasks.values()].flatMap((task) =>
    task.kind === "step" ? [{ failures: task.failures }] : [],
  );
  return {
    open: openOf(run),
    steps,
    unread: run.mailbox.unread(),
    ended: withoutStacks(run.ended),
    blocked: run.blocked,
    at: run.eventTime,
    delivered: run.deliveredSequence,
    lastSequence: run.lastSequence,
    cancelReason: run.cancelReason,
    status: run.state.status,
    keyValues: run.state.entries(),
    attributes: run.state.attributes,
    compensations: run.compensations.length,
  };
}

/** A stack also contains frames of the engine, which differ between a delivery and a replay. */
function withoutStacks(value: unknown): unknown {
  if (typeof value === "string") return stackless(value);
  if (Array.isArray(value)) return value.map(withoutStacks);
  if (value instanceof Map) return new Map([...value].map(([key, v]) => [key, withoutStacks(v)]));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([key]) => key !== "stack");
  return Object.fromEntries(members.map(([key, member]) => [key, withoutStacks(member)]));
}

/** The same for a text that is an encoded value or event. */
function stackless(text: string): unknown {
  if (!text.includes("stack")) return text;
  try {
    return withoutStacks(JSON.parse(text.replace(/^~/, "")));
  } catch {
    return text;
  }
}

/** The part of a turn that must be equal for a hot and a cold turn. */
function picture(turn: Turn): unknown {
  const { brief: _brief, effects, ...rest } = turn;
  const compared = { ...rest, effects: listed(effects) };
  return withoutStacks("trace" in rest ? { ...compared, run: null } : compared);
}

/** The maps of the effects have private members, which `toEqual` does not compare. */
function listed(effects: TurnEffects): object {
  const { activities, timers, starts } = effects;
  return {
    ...effects,
    activities: [...activities.values()],
    timers: [...timers.values()],
    starts: [...starts.values()],
  };
}

const NO_EFFECTS = {
  activities: [],
  cancelledTasks: [],
  timers: [],
  cancelledTimers: [],
  starts: [],
  sends: [],
  answers: null,
  callbacks: null,
  streams: null,
  dispatched: null,
  published: null,
};

/** A turn over a history with only the start event, without a message. */
export async function replayStartOnly(handler: Handler<undefined>): Promise<Turn> {
  return new Driven(handler, {}, rowsOf([started()])).turn({
    messages: [],
    outcomes: [],
    at: START_AT,
  });
}
