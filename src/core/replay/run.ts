// A run: the running code of one execution, which receives one event at a time.
//   - Replay and first run use the same code: `replayNext` delivers recorded events, `deliver` delivers new
//       events. While there is history, each command is compared with it at the call. After that, commands
//       are appended (I5).
//   - Waiting code holds a promise that has not settled. No exception is thrown through user code to suspend
//       it (I9).
//   - core.run.1: After the run is blocked or has ended, every further call of the code never settles.
//   - core.run.2: All values of the context except `isReplaying` depend only on the history up to the last
//       delivered event (semantics 8).
//   Modes: replaying (history left) → live (events are appended) → ended | blocked.

import { asyncContext, drain } from "../context/async-context.ts";
import { foreignAwait, callSummary, nondeterminism, startMissing } from "../history/block.ts";
import type { BlockReason, CallSummary } from "../history/block.ts";
import type { Codec } from "../values/codec.ts";
import { deterministicRandom, deterministicUuid } from "./deterministic.ts";
import { PerdureError } from "../errors/errors.ts";
import {
  isCommand,
  isMark,
  isTerminal,
  type ActivityFailed,
  type CommandBody,
  type DeliveryBody,
  type EventBody,
  type HistoryEvent,
  type MarkBody,
  type OrchestrationStarted,
  type TerminalBody,
} from "../history/events.ts";
import { commandRefusal, DEFAULT_LIMITS, type Limits } from "../values/limits.ts";
import { LazyMap } from "../collections/lazy-map.ts";
import { Mailbox } from "./mailbox.ts";
import { changeService, renewServices, RequestBox } from "./requests/request-box.ts";
import { sameTerminal } from "../history/matching.ts";
import { OpenTasks, type OpenTask, type OpenWait } from "./open-task.ts";
import { cancelOpenTasks, stopIgnoredCancel } from "./cancel.ts";
import { DeadlineAlarm } from "./deadline-alarm.ts";
import { applyDelivery, isRecordedAs, type PendingCancel } from "./delivery.ts";
import { endContinued, type Continuation } from "./execution-end.ts";
import { rescheduleCopied } from "./fork.ts";
import type { BufferedLog, Command, RunOptions } from "./run-options.ts";
import { RunState } from "./run-state.ts";
import { Scope } from "./scope.ts";
import { callerOf, userCallerOf } from "../source-line.ts";
import { TurnEffects } from "./effects.ts";

export type { BufferedLog, Command, RunOptions } from "./run-options.ts";

/** How many calls an execution may make after a cancel before it counts as ignoring the cancel (19b). */
const IGNORED_CANCELS_MAX = 1_000;

export class Run {
  options: RunOptions;
  readonly codec: Codec;
  readonly limits: Limits;
  readonly root: Scope;
  readonly openTasks = new OpenTasks();
  readonly mailbox = new Mailbox<OpenWait>();
  /** Set by the start event. */
  started!: OrchestrationStarted;
  eventTime = 0;
  /** The time of the start event. */
  startedAt = 0;
  deliveredSequence = 0;
  historyBytes = 0;
  /** The number of calls of uuid() and random() since the last delivered event. */
  randomCalls = 0;
  cancelReason: string | null = null;
  /** The events of abandoned children and of the cancel request: `describe` still shows them (cancel.2). */
  readonly stillVisible: number[] = [];
  ended: TerminalBody | null = null;
  blocked: BlockReason | null = null;
  continuation: Continuation | null = null;
  readonly compensations: (() => unknown)[] = [];
  /** How many compensations a compensation may still register; null (no bound) before they run. */
  nestedCompensationsLeft: number | null = null;
  readonly state = new RunState();
  quietSends: Map<number, PerdureError | null> | null = null;
  readonly deadlineAlarm = new DeadlineAlarm();
  /** The tasks that `cancelTogether` has collected so far; null outside of it (cancel.1). */
  cancelling: Map<OpenTask, string> | null = null;

  /** The events, effects and log lines of the current turn. `takeTurn` replaces them. */
  newEvents: EventBody[] = [];
  effects = new TurnEffects();
  logs: BufferedLog[] = [];

  lastSequence = 0;
  #history: readonly HistoryEvent[];
  #cursor = 0;
  #rowIndex = 0;
  #live: boolean;
  #commandsInDrain = 0;
  #lateRejections: (() => void)[] = [];
  #ignoredCancels = 0;
  #lastCall: CallSummary | null = null;
  /** The results of `patched` by change: earlier results of this run, and marks in the history. */
  readonly #patches = new LazyMap<string, boolean>();
  #requests: RequestBox | null = null;

  constructor(options: RunOptions) {
    this.options = options;
    this.codec = options.codec;
    this.limits = options.limits ?? DEFAULT_LIMITS;
    this.root = new Scope({ run: this, parent: null });
    this.#history = options.history;
    // An execution with only a start event has nothing to replay (semantics 8).
    const [first, second] = options.history;
    this.#live =
      first === undefined || (first.kind === "OrchestrationStarted" && second === undefined);
    for (const event of options.history) {
      if (event.kind === "PatchMarked") this.#patches.set(event.change, true);
    }
  }

  get isReplaying(): boolean {
    return !this.#live;
  }
  /** The requests of the execution. Most executions have none. */
  get requests(): RequestBox {
    return (this.#requests ??= new RequestBox());
  }
  get hasRequests(): boolean {
    return this.#requests !== null;
  }
  get hasMoreHistory(): boolean {
    return this.#next() !== undefined && !this.isOver;
  }
  get historyLeft(): number {
    return this.#history.length - this.#cursor;
  }
  get isOver(): boolean {
    return this.ended !== null || this.blocked !== null;
  }

  /** Delivers the next recorded event. Call it inside a drain of this run. */
  replayNext(): void {
    const event = this.#next();
    if (event === undefined) throw new Error("There is no history left to replay.");
    const isStart = event.kind === "OrchestrationStarted";
    if (isStart !== (this.deliveredSequence === 0) || (isStart && event.sequence !== 1)) {
      const message = `Event ${event.sequence} of the history is ${event.kind}; OrchestrationStarted must be event 1 and no other.`;
      return this.block({ code: "HISTORY_CORRUPT", message });
    }
    if (isMark(event) || isCommand(event) || isTerminal(event)) {
      this.block(nondeterminism({ sequence: event.sequence, recorded: event, requested: null }));
      return;
    }
    const next = this.#history[++this.#cursor];
    const cancel = isStart && next?.kind === "OrchestrationCancelRequested" ? next : null;
    if (cancel !== null) this.#cursor++;
    this.#apply(event, (cancel ?? event).sequence, event.at, cancel);
  }

  /** Whether the history ends in the copy of a fork, which may end in the middle of a drain. */
  get #endsInCopy(): boolean {
    const { copiedUntil } = this.options;
    return copiedUntil !== undefined && this.#history.at(-1)?.sequence === copiedUntil;
  }

  /** Begins a turn and ends the replay. After that, events are appended. */
  goLive(): void {
    if (this.#endsInCopy) rescheduleCopied(this);
    this.#live = true;
    this.deadlineAlarm.beginTurn(this);
    if (this.#history.length === 0) return;
    if (this.hasRequests) renewServices(this);
    // A live run does not need its history any more, and must not keep it in memory.
    this.options = { ...this.options, history: [], rowBytes: [] };
    this.#history = [];
    this.#cursor = 0;
  }

  /** Appends and delivers a new event. Call it inside a drain. `cancel`: see core.delivery.1. */
  deliver(body: DeliveryBody, at: number, cancel: PendingCancel = null): void {
    if (this.lastSequence === 0 && body.kind !== "OrchestrationStarted") {
      return this.block(startMissing());
    }
    this.newEvents.push(body, ...(cancel === null ? [] : [cancel]));
    this.lastSequence += cancel === null ? 1 : 2;
    this.#apply(body, this.lastSequence, at, cancel);
  }

  /** Ends the execution with an activity's failure, without running its code (semantics 13). */
  endWithFailure(body: ActivityFailed, at: number): void {
    this.newEvents.push(body);
    this.deliveredSequence = ++this.lastSequence;
    this.eventTime = Math.max(this.eventTime, at);
    this.openTasks.delete(body.scheduled);
    cancelOpenTasks(this, "poison");
    this.end({ kind: "OrchestrationFailed", outcome: "failed", failure: body.failure });
  }

  #apply(body: DeliveryBody, sequence: number, at: number, cancel: PendingCancel): void {
    if (at > this.eventTime) this.eventTime = at;
    this.deliveredSequence = sequence;
    if (sequence > this.lastSequence) this.lastSequence = sequence;
    this.randomCalls = 0;
    this.#commandsInDrain = 0;
    this.#countBytes(sequence);
    applyDelivery(this, body, cancel);
  }

  #countBytes(sequence: number): void {
    const rows = this.options.rowBytes;
    if (rows === undefined || this.#live) return;
    for (let row = rows[this.#rowIndex]; row !== undefined && row[0] <= sequence;) {
      this.historyBytes = row[1];
      row = rows[++this.#rowIndex];
    }
  }

  /** Call it when the microtasks of a delivery have run. "again": call `lateRejection` in a new drain. */
  endDrain(): "again" | "settled" {
    if (this.isOver) return "settled";
    if (this.continuation !== null) {
      endContinued(this, this.continuation);
      return "settled";
    }
    if (this.#lateRejections.length > 0) return "again";
    const next = this.#next();
    if (next !== undefined && (isCommand(next) || isTerminal(next))) {
      this.block(nondeterminism({ sequence: next.sequence, recorded: next, requested: null }));
    } else if (this.openTasks.size === 0) {
      this.block(foreignAwait({ after: this.#lastCall }));
    }
    return "settled";
  }

  lateRejection(): void {
    this.#lateRejections.shift()?.();
  }

  /** Records a command, or compares it with the recorded one. Null: the call never settles (core.run.1). */
  command<Body extends CommandBody>(body: Body): Command<Body> | null {
    if (this.isOver) return null;
    const recorded = this.#next();
    if (recorded !== undefined) {
      if (!isRecordedAs(this, recorded, body)) {
        this.#checkLimits(body); // if this throws, the call threw before too, and recorded nothing
        this.#diverge(recorded.sequence, recorded, body);
        return null;
      }
      this.#cursor++;
      this.lastSequence = recorded.sequence;
      this.#lastCall = callSummary(recorded.sequence, body);
      // The cast is safe: isRecordedAs compared the kinds.
      return { sequence: recorded.sequence, body: recorded as unknown as Body, isNew: false };
    }
    this.#checkLimits(body);
    if (!this.#live && !this.#endsInCopy) {
      this.#diverge(this.lastSequence + 1, null, body);
      return null;
    }
    if (++this.#commandsInDrain > this.limits.historyEventsMax) {
      this.block({
        code: "LIMIT_EXCEEDED",
        message: `The code made more than ${this.#commandsInDrain - 1} calls without awaiting any.`,
      });
      return null;
    }
    const sequence = ++this.lastSequence;
    this.newEvents.push(body);
    this.effects.add(sequence, body, this);
    this.#lastCall = callSummary(sequence, body);
    return { sequence, body, isNew: true };
  }

  /** Throws if the command exceeds a limit (limits.1, limits.2). */
  #checkLimits(body: CommandBody): void {
    const refusal = commandRefusal(body, this.limits);
    if (refusal !== null) throw refusal;
  }

  /** Whether the next recorded event matches this command. */
  isRecorded(body: CommandBody): boolean {
    const recorded = this.#next();
    return recorded !== undefined && isRecordedAs(this, recorded, body);
  }

  get nextRecorded(): HistoryEvent | undefined {
    return this.#next();
  }
  get instanceId(): string {
    return this.options.instanceId;
  }
  get runId(): string {
    return this.started.runId;
  }
  get execution(): number {
    return this.options.execution;
  }
  get priority(): number {
    return this.options.priority;
  }

  random(): number {
    return deterministicRandom(this.started.seed, this.deliveredSequence, this.randomCalls++);
  }
  uuid(): string {
    return deterministicUuid(this.started.seed, this.deliveredSequence, this.randomCalls++);
  }

  /** Records the last event of the execution. */
  end(body: TerminalBody): void {
    if (this.isOver) return;
    const recorded = this.#next();
    if (recorded !== undefined) {
      if (sameTerminal(recorded, body)) {
        this.#cursor++;
        this.lastSequence = recorded.sequence;
      } else this.#diverge(recorded.sequence, recorded, body);
    } else if (this.#live || this.#endsInCopy) {
      this.lastSequence++;
      this.newEvents.push(body);
    } else {
      this.#diverge(this.lastSequence + 1, null, body);
    }
    if (this.blocked === null) this.ended = body;
  }

  block(reason: BlockReason): void {
    this.blocked ??= reason;
  }

  /** The next recorded event. Skips marks, whose position is not compared. */
  #next(): HistoryEvent | undefined {
    let event = this.#history[this.#cursor];
    while (event !== undefined && isMark(event)) {
      if (event.kind === "RequestsChanged") changeService(this, event, event.sequence);
      this.lastSequence = event.sequence;
      event = this.#history[++this.#cursor];
    }
    return event;
  }

  /** Whether the code takes the new path of a change. The result is fixed per execution (semantics 9b). */
  patched(change: string, retired: boolean): boolean {
    if (retired) return true;
    const known = this.#patches.get(change);
    if (known !== undefined) return known;
    this.#patches.set(change, this.#live);
    if (this.#live) this.mark({ kind: "PatchMarked", change });
    return this.#live;
  }

  /** Appends a mark to the events of this turn. */
  mark(body: MarkBody): void {
    if (this.isOver) return;
    this.lastSequence++;
    this.newEvents.push(body);
  }

  /** Rejects a call after a cancel, in a separate drain, so that a loop cannot starve the process. */
  rejectLater(reject: () => void): void {
    if (++this.#ignoredCancels > IGNORED_CANCELS_MAX) stopIgnoredCancel(this, IGNORED_CANCELS_MAX);
    else this.#lateRejections.push(reject);
  }

  /** The scope of the calling code. Throws outside of a turn of this run (async-context.1). */
  currentScope(): Scope {
    const frame = asyncContext.getStore();
    if (frame !== undefined && frame.kind !== "scope") {
      const message = `ctx must not be used inside the ${frame.kind} "${frame.name}"; pass values to it instead.`;
      throw new PerdureError("GUARD_VIOLATION", message);
    }
    if (!this.isInTurn()) throw new PerdureError("FOREIGN_AWAIT", foreignAwait().message);
    return frame !== undefined && frame.run === this ? frame : this.root;
  }

  /** False: the code continued after a foreign await, outside a turn of this run, and is blocked. */
  isInTurn(): boolean {
    if (drain.run === this) return true;
    if (!this.isOver) {
      this.block(foreignAwait({ source: userCallerOf(new Error().stack) }));
      this.options.onMisuse?.(this);
    }
    return false;
  }

  /** Removes and returns everything that the current turn appended. */
  takeTurn(): { events: EventBody[]; effects: TurnEffects; logs: BufferedLog[] } {
    this.deadlineAlarm.settle(this);
    this.effects.settle(this);
    const turn = { events: this.newEvents, effects: this.effects, logs: this.logs };
    this.newEvents = [];
    this.effects = new TurnEffects();
    this.logs = [];
    return turn;
  }

  #diverge(sequence: number, recorded: EventBody | null, requested: EventBody): void {
    const source = this.options.captureSources === true ? callerOf(new Error().stack) : undefined;
    this.block(nondeterminism({ sequence, recorded, requested, source }));
  }
}
