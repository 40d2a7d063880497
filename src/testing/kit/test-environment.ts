// A test environment: a runtime on a store in memory, on time that the test owns. Needs no test runner.
//   TV1. Time passes in `advance` and while a result is awaited, and nowhere else; what comes due on the way happens
//        at its own moment, and has come to rest before the next thing.
//   TV2. The client outlives every process: handles stay good through restarts, crashes and deploys.
//   TV3. A process that died is replaced at once by another with the same code.

import { Client, type StartOptions } from "../../client/client.ts";
import type { Handle } from "../../client/handle.ts";
import type { InstanceInfo, WaitingFor } from "../../client/instance-info.ts";
import { Committer } from "../../core/committer.ts";
import type { InputArguments } from "../../core/context-types.ts";
import type { Activity, EventDef, Orchestration } from "../../core/definitions.ts";
import { parseDuration, type Duration } from "../../core/duration.ts";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import type { HistoryEvent } from "../../core/history-events.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { CancelledError } from "../../core/outcome-errors.ts";
import { definitionsOf, type Definition, type Registrable } from "../../core/registrable.ts";
import { SqliteProvider } from "../../sqlite/index.ts";
import { FaultInjectingProvider, type FaultObserver } from "../faults/fault-injecting-provider.ts";
import {
  ActivityMocks,
  inSequence,
  type ActivityCall,
  type ActivityReference,
  type MockFunction,
  type MockOf,
} from "./activity-mocks.ts";
import { nextChance, type Chance } from "./chances.ts";
import { Script } from "./script.ts";
import { skippingClient } from "./skipping.ts";
import { stepTelemetry } from "./step-telemetry.ts";
import { TestClock } from "./test-clock.ts";
import {
  checkTestOptions,
  type LogLine,
  type TestEnvironmentOptions,
} from "./test-environment-options.ts";
import { TestProcess } from "./test-process.ts";

const PATIENCE_MS = 2_000;
/** A process that cannot even register is started again, so often. */
const BOOTS_MAX = 20;

/** A whole runtime in memory, on time that the test owns. */
export class TestEnvironment implements AsyncDisposable {
  /** Starts, finds and steers instances. It outlives every process, and its handles skip time. */
  readonly client: Client;
  /** The store itself, past every fault. */
  readonly store: Provider;
  /** What was logged so far. */
  readonly logs: readonly LogLine[];
  readonly #logs: LogLine[] = [];
  readonly #options: TestEnvironmentOptions;
  readonly #clock: TestClock;
  readonly #mocks: ActivityMocks;
  readonly #script: Script;
  readonly #line: FaultInjectingProvider;
  readonly #plain: Client;
  readonly #processes: TestProcess[] = [];
  #register: readonly Definition[];
  #queue: Promise<unknown> = Promise.resolve();
  #starts = 0;
  #closed = false;

  private constructor(store: Provider, clock: TestClock, options: TestEnvironmentOptions) {
    this.store = store;
    this.logs = this.#logs;
    this.#options = options;
    this.#clock = clock;
    this.#register = definitionsOf(options.register);
    this.#mocks = new ActivityMocks(clock.busy, () => clock.now());
    this.#script = new Script(clock);
    this.#line = new FaultInjectingProvider(store, {}, this.#observer());
    const { codec, limits } = options.runtime ?? {};
    this.#plain = new Client(this.#line.provider, {
      ...(codec === undefined ? {} : { codec }),
      ...(limits === undefined ? {} : { limits }),
    });
    this.client = options.autoSkip === false ? this.#plain : this.#skipping();
  }

  /** Opens a store and starts a runtime on it. */
  static async create(options: TestEnvironmentOptions): Promise<TestEnvironment> {
    checkTestOptions(options);
    const { seed, startAt, patienceMs = PATIENCE_MS } = options;
    const clock = new TestClock({
      patienceMs,
      ...(seed === undefined ? {} : { seed }),
      ...(startAt === undefined ? {} : { startAt: startAt.getTime() }),
    });
    const open =
      options.store ?? ((environment) => SqliteProvider.open(":memory:", { environment }));
    const store = await open(clock);
    const test = new TestEnvironment(store, clock, options);
    try {
      await test.#boot({ movesClock: true });
    } catch (error) {
      await store.close();
      throw error;
    }
    return test;
  }

  // ── time ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** The test's clock. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Lets that much time pass; everything that comes due happens, in order. */
  async advance(duration: Duration): Promise<void> {
    const ms = parseDuration(duration);
    await this.#alone(() => this.#clock.advance(ms));
  }

  /** Lets everything happen that can happen now; time stands still. */
  async settle(): Promise<void> {
    await this.#alone(() => this.#clock.settle());
  }

  /** For activities and scripted actions: waits in virtual time. */
  readonly sleep = (duration: Duration): Promise<void> =>
    this.#clock.sleep(parseDuration(duration));

  /** Does something that long from now, or at a moment. Time waits for it; what it throws fails the test. */
  at(when: Duration | Date, action: (client: Client) => unknown): void {
    const at = when instanceof Date ? when.getTime() : this.#clock.now() + parseDuration(when);
    this.#script.add(at, () => action(this.#plain));
  }

  /** Raises an event that long from now, or at a moment. */
  raiseAt<Raised>(
    handle: Handle | string,
    event: EventDef<unknown, Raised> | string,
    data: NoInfer<Raised>,
    when: Duration | Date,
  ): void {
    const id = typeof handle === "string" ? handle : handle.id;
    // As a definition it checks what is raised; its types were compared above.
    const untyped = event as EventDef<unknown> | string;
    this.at(when, (client) => {
      const to = client.get(id);
      return typeof untyped === "string" ? to.raise(untyped, data) : to.raise(untyped, data);
    });
  }

  // ── instances ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Starts an instance in the runtime's own process, as a program does that runs what it starts. */
  async start<I, O, Nodes>(
    orchestration: Orchestration<I, O, Nodes>,
    ...rest: InputArguments<NoInfer<I>, StartOptions>
  ): Promise<Handle<O, Nodes>> {
    const [input, given = {}] = rest;
    const number = ++this.#starts;
    const id = given.id ?? `${orchestration.name}-${number}`;
    const requestId = given.requestId ?? `test-start-${number}`;
    const options: StartOptions = { ...given, id, requestId };
    // The caller's types were compared above. The request id makes a repeated start harmless.
    const target = orchestration as Orchestration<unknown, O>;
    for (;;) {
      const { client, line } = this.#process;
      const died = line.crashed.then(() => null);
      this.#clock.expectStart(number);
      const started = Promise.race([client.start(target, input, options), died]);
      const handle = await this.#throughTrouble(started);
      if (handle !== null) return this.client.get(orchestration, id);
      await this.#clock.settle();
    }
  }

  /** All events of an instance's newest execution, or of the one that is named. */
  async history(handle: Handle | string, execution?: number): Promise<readonly HistoryEvent[]> {
    await this.settle();
    return this.#get(handle).history(execution === undefined ? {} : { execution });
  }
  async describe(handle: Handle | string): Promise<InstanceInfo> {
    await this.settle();
    return this.#get(handle).describe();
  }
  /** What an instance waits for when everything has come to rest. */
  async waitingFor(handle: Handle | string): Promise<readonly WaitingFor[]> {
    return (await this.describe(handle)).waitingFor;
  }
  /** Its custom status. */
  async status(handle: Handle | string): Promise<unknown> {
    return (await this.describe(handle)).customStatus;
  }
  /** Its key-values. */
  async keyValues(handle: Handle | string): Promise<Readonly<Record<string, unknown>>> {
    await this.settle();
    return Object.fromEntries(await this.#get(handle).kv.entries());
  }

  // ── activities ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Stands in for an activity: a function, or outcomes one after the other, of which the last one stays. */
  mock<A extends ActivityReference>(activity: A, outcome: MockOf<NoInfer<A>>): void {
    // Typed by the reference above; here it is any function.
    const given = outcome as MockFunction<unknown, unknown> | readonly unknown[];
    this.#mocks.mock(activity, typeof given === "function" ? given : inSequence(given));
  }
  /** The activity's own function again. */
  unmock(activity: ActivityReference): void {
    this.#mocks.unmock(activity);
  }
  /** The next run of the activity fails; what follows is as before. */
  failOnce(activity: ActivityReference, error: Error = new Error("failed by the test")): void {
    this.failTimes(activity, 1, error);
  }
  /** So many runs of the activity fail; what follows is as before. */
  failTimes(
    activity: ActivityReference,
    times: number,
    error: Error = new Error("failed by the test"),
  ): void {
    const fail = (): never => {
      throw error;
    };
    for (let i = 0; i < times; i++) this.#mocks.once(activity, fail);
  }
  /** The next run of the activity does not end until it is cancelled or its time is over. */
  hangOnce(activity: ActivityReference): void {
    this.#mocks.once(activity, (_, { signal }) =>
      this.#clock.busy.idleForEver(
        new Promise<never>((_resolve, reject) => {
          const stop = (): void => reject(new CancelledError("the activity was ended"));
          if (signal.aborted) stop();
          else signal.addEventListener("abort", stop, { once: true });
        }),
      ),
    );
  }
  /** Every run of an activity so far, in the order they were entered. */
  calls<I, O>(activity: Activity<I, O>): readonly ActivityCall<I, O>[];
  calls(name: string): readonly ActivityCall[];
  calls(activity: ActivityReference): readonly ActivityCall[] {
    return this.#mocks.calls(activity);
  }
  /** How often each activity call was entered, by its idempotency key. */
  activityRuns(): ReadonlyMap<string, number> {
    return this.#mocks.runs();
  }

  // ── processes ──────────────────────────────────────────────────────────────────────────────────────────────

  /** The runtime ends in good order and another one takes its place: nothing is left in memory. */
  async restartRuntime(): Promise<void> {
    await this.deploy(this.#register);
  }
  /** The same, with other code. */
  async deploy(register: readonly Registrable[]): Promise<void> {
    const definitions = definitionsOf(register);
    await this.settle();
    this.#register = definitions;
    await this.#process.stop();
    await this.#boot({ movesClock: true });
    await this.settle();
  }
  /** The process dies without a word, as by kill -9; another one takes its place. */
  async crash(): Promise<void> {
    this.#process.line.crash();
    await this.settle();
  }

  /** Ends the runtime and closes the store. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const process of this.#processes) {
      if (process.isAlive) await process.stop();
      await process.bury();
    }
    Committer.of(this.#line.provider).close();
    await this.store.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // ── inside ─────────────────────────────────────────────────────────────────────────────────────────────────

  get #process(): TestProcess {
    const newest = this.#processes.at(-1);
    if (newest === undefined) throw new Error("no process was started yet");
    return newest;
  }

  #get(handle: Handle | string): Handle {
    return this.#plain.get(typeof handle === "string" ? handle : handle.id);
  }

  #observer(): FaultObserver {
    const { observer } = this.#options.faults ?? {};
    return { ...observer, carrying: (work) => this.#clock.busy.track(work) };
  }

  /** Whoever holds the clock up must not move it. */
  async #boot({ movesClock }: { readonly movesClock: boolean }): Promise<void> {
    const { faults = {}, runtime = {} } = this.#options;
    for (let left = BOOTS_MAX; ; left--) {
      const process = new TestProcess({
        store: this.store,
        register: this.#mocks.wrap(this.#register),
        runtime: {
          ...runtime,
          telemetry: stepTelemetry(this.#clock.busy, runtime.telemetry),
          log: (level, message, fields) => {
            this.#logs.push({ level, message, fields });
            runtime.log?.(level, message, fields);
          },
        },
        plan: faults,
        observer: this.#observer(),
      });
      this.#processes.push(process);
      void process.line.crashed.then(() => {
        this.#clock.busy.crashed();
        this.#clock.busy.track(this.#replace(process));
      });
      try {
        const started = process.start();
        return await (movesClock ? this.#throughTrouble(started) : started);
      } catch (error) {
        if (!isPerdureError(error, "STORE_UNAVAILABLE") || left === 0) throw error;
      }
    }
  }

  /** A store in trouble is waited for by the clock, which has to move for that. */
  async #throughTrouble<T>(work: Promise<T>): Promise<T> {
    if (this.#options.faults === undefined) return work;
    let isOver = false;
    const over = (): void => void (isOver = true);
    work.then(over, over);
    for (;;) {
      await this.#clock.settle();
      const next = this.#clock.nextTimerAt();
      if (isOver || next === null) return work;
      await this.#alone(() => this.#clock.advance(Math.max(next - this.#clock.now(), 0)));
    }
  }

  /** TV3 */
  async #replace(dead: TestProcess): Promise<void> {
    if (this.#closed) return;
    await dead.expire();
    if (dead === this.#process) await this.#boot({ movesClock: false });
  }

  #skipping(): Client {
    return skippingClient(this.#plain, {
      clock: this.#clock,
      store: this.store,
      client: this.#plain,
      settle: () => this.settle(),
      step: (target) => this.#step(target),
    });
  }

  async #step(target: (chance: Chance) => number | null): Promise<Chance> {
    return this.#alone(async () => {
      await this.#clock.settle();
      const chance = await nextChance({
        store: this.store,
        clock: this.#clock,
        mocks: this.#mocks,
        registered: () => this.#process.runtime.registered(),
        scriptedAt: () => this.#script.nextAt,
      });
      const until = target(chance);
      if (until !== null) await this.#clock.advance(Math.max(until - this.#clock.now(), 0));
      return chance;
    });
  }

  /** One caller moves the clock at a time; what a scripted action threw is thrown here (SC2). */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new PerdureError("SHUTTING_DOWN", "The test environment is closed.");
    const turn = this.#queue.then(work);
    this.#queue = turn.catch(() => undefined);
    const result = await turn;
    await this.#clock.settle();
    this.#script.check();
    return result;
  }
}
