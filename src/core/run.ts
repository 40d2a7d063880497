// A run: one execution's code, alive, fed with its history one event at a time.
//   U1. Replay and first run are the same path: `replayNext` delivers what history holds, `deliver` what is new.
//       Commands are matched against history at the call while there is history, and appended after it (I5).
//   U2. Waiting is a promise that does not settle; nothing is thrown through user code to suspend it (I9).
//   U3. Once blocked or ended, every further call of the code is ignored: it waits for ever.
//   U4. All that the context tells, `isReplaying` excepted, follows from the history up to the event last
//       delivered (semantics 8).
//   Modes: replaying (history left) → live (events are appended) → ended | blocked.

import { asyncContext, drain } from "./async-context.ts";
import { foreignAwait, nondeterminism, startMissing, type BlockReason } from "./block.ts";
import type { Codec } from "./codec.ts";
import { deterministicRandom, deterministicUuid } from "./deterministic.ts";
import { PerdureError } from "./errors.ts";
import {
  isCommand,
  isTerminal,
  type ActivityFailed,
  type CommandBody,
  type DeliveryBody,
  type EventBody,
  type HistoryEvent,
  type OrchestrationStarted,
  type TerminalBody,
} from "./history-events.ts";
import { commandRefusal, DEFAULT_LIMITS, type Limits } from "./limits.ts";
import { Mailbox } from "./mailbox.ts";
import { sameTerminal } from "./match.ts";
import type { OpenTask, OpenWait } from "./open-task.ts";
import { cancelLeftovers, dropDeferred, endIgnorant } from "./run-cancel.ts";
import { applyDelivery, type PendingCancel } from "./run-delivery.ts";
import { scheduleAnew } from "./run-fork.ts";
import { isRecordedAs } from "./run-match.ts";
import type { BufferedLog, Command, RunOptions } from "./run-options.ts";
import { RunState } from "./run-state.ts";
import { Scope } from "./scope.ts";
import { callerOf } from "./source-line.ts";
import { TurnEffects } from "./turn-effects.ts";

export type { BufferedLog, Command, RunOptions } from "./run-options.ts";

/** How many calls after a cancel an execution may make before it counts as ignoring it (19b). */
const IGNORED_CANCELS_MAX = 1_000;

export class Run {
  options: RunOptions;
  readonly codec: Codec;
  readonly limits: Limits;
  readonly root: Scope;
  readonly open = new Map<number, OpenTask>();
  readonly mailbox = new Mailbox<OpenWait>();
  /** Set by the start event. */
  started!: OrchestrationStarted;
  at = 0;
  /** The start event's time. */
  startedAt = 0;
  delivered = 0;
  bytes = 0;
  /** Calls of uuid() and random() since the event last delivered. */
  chanceCalls = 0;
  cancelReason: string | null = null;
  ended: TerminalBody | null = null;
  blocked: BlockReason | null = null;
  continuation: { input: string; version: string | null; state?: string } | null = null;
  readonly deferred: (() => unknown)[] = [];
  /** How many compensations may still be deferred; null until the compensations run, when there is no bound. */
  defersLeft: number | null = null;
  readonly state = new RunState();
  /** Tasks to be cancelled together, while they are being named (Y1). */
  cancelling: Map<OpenTask, string> | null = null;

  /** What this turn appended, its effects and its log lines; replaced by `takeTurn`. */
  fresh: EventBody[] = [];
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
  /** Answers given, and marks that history holds. */
  readonly #patches = new Map<string, boolean>();

  constructor(options: RunOptions) {
    this.options = options;
    this.codec = options.codec;
    this.limits = options.limits ?? DEFAULT_LIMITS;
    this.root = new Scope({ run: this, parent: null });
    this.#history = options.history;
    // An execution that has only its start event has no past to replay (semantics 8).
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
  get hasMoreHistory(): boolean {
    return this.#next() !== undefined && !this.isOver;
  }
  get historyLeft(): number {
    return this.#history.length - this.#cursor;
  }
  get isOver(): boolean {
    return this.ended !== null || this.blocked !== null;
  }

  /** Delivers the next recorded event. Call inside a drain of this run. */
  replayNext(): void {
    const event = this.#next();
    if (event === undefined) throw new Error("There is no history left to replay.");
    const isStart = event.kind === "OrchestrationStarted";
    if (isStart !== (this.delivered === 0) || (isStart && event.sequence !== 1)) {
      const message = `Event ${event.sequence} of the history is ${event.kind}; OrchestrationStarted is the first, and only there.`;
      return this.block({ code: "HISTORY_CORRUPT", message });
    }
    if (event.kind === "PatchMarked" || isCommand(event) || isTerminal(event)) {
      this.block(nondeterminism({ sequence: event.sequence, recorded: event, requested: null }));
      return;
    }
    const next = this.#history[++this.#cursor];
    const cancel = isStart && next?.kind === "OrchestrationCancelRequested" ? next : null;
    if (cancel !== null) this.#cursor++;
    this.#apply(event, (cancel ?? event).sequence, event.at, cancel);
  }

  /** A copied past may be cut in the middle of a drain: the code may ask for more than it holds. */
  get #endsInCopy(): boolean {
    const { copiedUntil } = this.options;
    return copiedUntil !== undefined && this.#history.at(-1)?.sequence === copiedUntil;
  }

  /** Ends the replay: from here on events are appended. */
  goLive(): void {
    if (this.#endsInCopy) scheduleAnew(this);
    this.#live = true;
    if (this.#history.length === 0) return;
    // A live run needs its past no more, and must not hold it in memory.
    this.options = { ...this.options, history: [], rowBytes: [] };
    this.#history = [];
    this.#cursor = 0;
  }

  /** Appends and delivers something new; `cancel`: was pending when the execution began (G4). Call inside a drain. */
  deliver(body: DeliveryBody, at: number, cancel: PendingCancel = null): void {
    if (this.lastSequence === 0 && body.kind !== "OrchestrationStarted") {
      return this.block(startMissing());
    }
    this.fresh.push(body, ...(cancel === null ? [] : [cancel]));
    this.lastSequence += cancel === null ? 1 : 2;
    this.#apply(body, this.lastSequence, at, cancel);
  }

  /** Records an outcome that ends the execution without running its code (semantics 13, `poison: "fail"`). */
  failBy(body: ActivityFailed, at: number): void {
    this.fresh.push(body);
    this.delivered = ++this.lastSequence;
    this.at = Math.max(this.at, at);
    this.open.delete(body.scheduled);
    cancelLeftovers(this, "poison");
    this.end({ kind: "OrchestrationFailed", outcome: "failed", failure: body.failure });
  }

  #apply(body: DeliveryBody, sequence: number, at: number, cancel: PendingCancel): void {
    if (at > this.at) this.at = at;
    this.delivered = sequence;
    if (sequence > this.lastSequence) this.lastSequence = sequence;
    this.chanceCalls = 0;
    this.#commandsInDrain = 0;
    this.#countBytes(sequence);
    applyDelivery(this, body, cancel);
  }

  #countBytes(sequence: number): void {
    const rows = this.options.rowBytes;
    if (rows === undefined || this.#live) return;
    for (let row = rows[this.#rowIndex]; row !== undefined && row[0] <= sequence;) {
      this.bytes = row[1];
      row = rows[++this.#rowIndex];
    }
  }

  /**
   * After the microtasks of a delivery have run dry. "again": call `lateRejection` in a drain of its own
   * before anything else is delivered.
   */
  endDrain(): "again" | "settled" {
    if (this.isOver) return "settled";
    if (this.continuation !== null) {
      this.#finishContinuation();
      return "settled";
    }
    if (this.#lateRejections.length > 0) return "again";
    const next = this.#next();
    if (next !== undefined && (isCommand(next) || isTerminal(next))) {
      this.block(nondeterminism({ sequence: next.sequence, recorded: next, requested: null }));
    } else if (this.open.size === 0) {
      this.block(foreignAwait());
    }
    return "settled";
  }

  lateRejection(): void {
    this.#lateRejections.shift()?.();
  }

  /**
   * Records a command, or matches it with the recorded one. Null: the run is over and the call waits for ever.
   */
  command<Body extends CommandBody>(body: Body): Command<Body> | null {
    if (this.isOver) return null;
    const recorded = this.#next();
    if (recorded !== undefined) {
      if (!isRecordedAs(this, recorded, body)) {
        this.#refuse(body); // it was refused then, and left no trace
        this.#diverge(recorded.sequence, recorded, body);
        return null;
      }
      this.#cursor++;
      this.lastSequence = recorded.sequence;
      // Same kind: isRecordedAs compared it.
      return { sequence: recorded.sequence, body: recorded as unknown as Body, isNew: false };
    }
    this.#refuse(body);
    if (!this.#live && !this.#endsInCopy) {
      this.#diverge(this.lastSequence + 1, null, body);
      return null;
    }
    if (++this.#commandsInDrain > this.limits.historyEventsMax) {
      this.block({
        code: "LIMIT_EXCEEDED",
        message: `The code asked for more than ${this.#commandsInDrain - 1} things without waiting for any.`,
      });
      return null;
    }
    const sequence = ++this.lastSequence;
    this.fresh.push(body);
    this.effects.add(sequence, body, this);
    return { sequence, body, isNew: true };
  }

  /** Throws to the caller what is over a limit (LM1, LM2). */
  #refuse(body: CommandBody): void {
    const refusal = commandRefusal(body, this.limits);
    if (refusal !== null) throw refusal;
  }

  /** Whether the next recorded command is this one. */
  isRecorded(body: CommandBody): boolean {
    const recorded = this.#next();
    return recorded !== undefined && isRecordedAs(this, recorded, body);
  }

  get instanceId(): string {
    return this.options.instanceId;
  }
  get runId(): string {
    return this.started.runId;
  }
  get traceParent(): string | undefined {
    return this.started.traceParent;
  }
  get execution(): number {
    return this.options.execution;
  }
  get priority(): number {
    return this.options.priority;
  }

  random(): number {
    return deterministicRandom(this.started.seed, this.delivered, this.chanceCalls++);
  }
  uuid(): string {
    return deterministicUuid(this.started.seed, this.delivered, this.chanceCalls++);
  }

  /** The last event of the execution. */
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
      this.fresh.push(body);
    } else {
      this.#diverge(this.lastSequence + 1, null, body);
    }
    if (this.blocked === null) this.ended = body;
  }

  block(reason: BlockReason): void {
    this.blocked ??= reason;
  }

  /** The next recorded event that has a place of its own: marks are passed over. */
  #next(): HistoryEvent | undefined {
    let event = this.#history[this.#cursor];
    while (event?.kind === "PatchMarked") {
      this.lastSequence = event.sequence;
      event = this.#history[++this.#cursor];
    }
    return event;
  }

  /** Whether the code takes the new path of a change: one answer an execution (semantics 9b). */
  patched(change: string, retired: boolean): boolean {
    if (retired) return true;
    const known = this.#patches.get(change);
    if (known !== undefined) return known;
    const answer = this.#live;
    this.#patches.set(change, answer);
    if (answer) this.mark(change);
    return answer;
  }

  /** Writes a mark with this turn. */
  mark(change: string): void {
    if (this.isOver) return;
    this.lastSequence++;
    this.fresh.push({ kind: "PatchMarked", change });
  }

  /** Refuses a call after a cancel, in a drain of its own, so that a loop of them cannot starve the process. */
  rejectLater(reject: () => void): void {
    if (++this.#ignoredCancels > IGNORED_CANCELS_MAX) {
      if (this.cancelReason === null) {
        const message = `A cancelled branch made more than ${IGNORED_CANCELS_MAX} calls after its cancel.`;
        return this.block({ code: "LIMIT_EXCEEDED", message });
      }
      return endIgnorant(this, IGNORED_CANCELS_MAX);
    }
    this.#lateRejections.push(reject);
  }

  /** The scope of the calling code; refuses a call from outside a turn of this run (A1). */
  enter(): Scope {
    const frame = asyncContext.getStore();
    if (frame !== undefined && frame.kind !== "scope") {
      const message = `ctx was used inside the ${frame.kind} "${frame.name}"; pass it values instead.`;
      throw new PerdureError("GUARD_VIOLATION", message);
    }
    if (!this.isInTurn()) throw new PerdureError("FOREIGN_AWAIT", foreignAwait().message);
    return frame !== undefined && frame.run === this ? frame : this.root;
  }

  /** False: the code goes on outside a turn of this run, because of something foreign, and is blocked. */
  isInTurn(): boolean {
    if (drain.run === this) return true;
    if (!this.isOver) {
      this.block(foreignAwait());
      this.options.onMisuse?.(this);
    }
    return false;
  }

  /** Everything this turn appended; the run goes on from there. */
  takeTurn(): { events: EventBody[]; effects: TurnEffects; logs: BufferedLog[] } {
    const turn = { events: this.fresh, effects: this.effects, logs: this.logs };
    this.fresh = [];
    this.effects = new TurnEffects();
    this.logs = [];
    return turn;
  }

  #diverge(sequence: number, recorded: EventBody | null, requested: EventBody): void {
    const source = this.options.captureSources === true ? callerOf(new Error().stack) : undefined;
    this.block(nondeterminism({ sequence, recorded, requested, source }));
  }

  #finishContinuation(): void {
    const continuation = this.continuation;
    if (continuation === null) return;
    cancelLeftovers(this, "continued as new");
    dropDeferred(this);
    this.end({
      kind: "OrchestrationContinuedAsNew",
      input: continuation.input,
      ...(continuation.version === null ? {} : { orchestrationVersion: continuation.version }),
      ...(continuation.state === undefined ? {} : { state: continuation.state }),
    });
  }
}
