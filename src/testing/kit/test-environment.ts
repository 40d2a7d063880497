// Test environment: a runtime on an in-memory store, on virtual time that the test controls. Needs no test
// runner.
//   - Time passes only in `advance` and while a test awaits a result. Work that comes due on the way runs
//        at its due moment, and it settles before the next timer fires.
//   - The client outlives every process: handles stay valid across restarts, crashes and deploys.
//   - test-environment.1: The environment replaces a crashed process at once by another with the same code.

import type { AskOptions } from "../../client/calls/ask-item.ts";
import { Client } from "../../client/client.ts";
import type { StartOptions } from "../../client/start-item.ts";
import type { Handle } from "../../client/handle.ts";
import type { InstanceInfo, WaitingFor } from "../../client/inspect/instance-info.ts";
import { Committer } from "../../core/commit/committer.ts";
import type {
  AskArguments,
  InputArguments,
  RequestOutput,
  RequestSent,
} from "../../core/context/types.ts";
import type { Activity, EventDef, Orchestration } from "../../core/define/definitions.ts";
import type { AnyRequest } from "../../core/define/request.ts";
import { parseDuration, type Duration } from "../../core/time/duration.ts";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { definitionsOf, type Definition, type Registrable } from "../../core/define/registrable.ts";
import { defined } from "../../core/values/defined.ts";
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
import { askOf, raiseOf, scriptedAsk } from "./messages.ts";
import { LaterStarts } from "./later-starts.ts";
import { nextProgress, type NextProgress } from "./next-progress.ts";
import { Script } from "./script.ts";
import { skippingClient } from "./skipping.ts";
import { stepTelemetry } from "./step-telemetry.ts";
import { TestClock } from "./test-clock.ts";
import {
  clientOptions,
  checkTestOptions,
  keptLog,
  type LogLine,
  type TestEnvironmentOptions,
} from "./test-environment-options.ts";
import { throughTrouble } from "./through-trouble.ts";
import { TestProcess } from "./test-process.ts";

const PATIENCE_MS = 2_000;
/** How often the environment retries to start a process whose registration fails. */
const BOOTS_MAX = 20;

/** A whole runtime in memory, on virtual time that the test controls. */
export class TestEnvironment implements AsyncDisposable {
  /** Starts, finds and controls instances. It outlives every process, and its handles skip time. */
  readonly client: Client;
  /** The store itself. Its calls bypass every fault. */
  readonly store: Provider;
  /** All log lines so far. */
  readonly logs: readonly LogLine[];
  readonly #logs: LogLine[] = [];
  readonly #options: TestEnvironmentOptions;
  readonly #clock: TestClock;
  readonly #mocks: ActivityMocks;
  readonly #script: Script;
  readonly #laterStarts: LaterStarts;
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
    this.#laterStarts = new LaterStarts(store);
    this.#line = new FaultInjectingProvider(store, this.#laterStarts.plan, this.#observer());
    this.#plain = new Client(this.#line.provider, clientOptions(options));
    this.client = options.autoSkip === false ? this.#plain : this.#skipping();
  }

  /** Opens a store and starts a runtime on it. */
  static async create(options: TestEnvironmentOptions): Promise<TestEnvironment> {
    checkTestOptions(options);
    const { seed, startAt, patienceMs = PATIENCE_MS } = options;
    const given = defined({ seed, startAt: startAt?.getTime() });
    const clock = new TestClock({ patienceMs, ...given });
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

  /** The current virtual time. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Advances virtual time by the duration. All work that comes due runs, in order. */
  async advance(duration: Duration): Promise<void> {
    const ms = parseDuration(duration);
    await this.#alone(() => this.#clock.advance(ms));
  }

  /** Waits until no work is left that can proceed at the current virtual time. Time stands still. */
  async settle(): Promise<void> {
    await this.#alone(() => this.#clock.settle());
  }

  /** For activities and scripted actions: waits in virtual time. */
  readonly sleep = (duration: Duration): Promise<void> =>
    this.#clock.sleep(parseDuration(duration));

  /**
   * Schedules an action after a duration, or at a date. Time stands still while the action runs. If the
   * action throws, the call that moved the clock throws the same error.
   */
  at(when: Duration | Date, action: (client: Client) => unknown): void {
    const at = when instanceof Date ? when.getTime() : this.#clock.now() + parseDuration(when);
    this.#script.add(at, () => action(this.#plain));
  }

  /** Raises an event after a duration, or at a date. */
  raiseAt<Raised>(
    handle: Handle | string,
    event: EventDef<unknown, Raised> | string,
    data: NoInfer<Raised>,
    when: Duration | Date,
  ): void {
    this.at(when, (client) => raiseOf(client, handle, event as EventDef<unknown> | string, data));
  }

  /** Asks an instance after a duration, or at a date. Await the answer after the call that moves the clock. */
  askAt<R extends AnyRequest | string>(
    handle: Handle | string,
    request: R,
    input: NoInfer<RequestSent<R>>,
    when: Duration | Date,
    options: AskOptions = {},
  ): Promise<RequestOutput<R>> {
    const { send, answer } = scriptedAsk(handle, request, input, options);
    this.at(when, send);
    return answer as Promise<RequestOutput<R>>; // The type comes from the definition of the request.
  }

  // ── instances ──────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Starts an instance from the process of the runtime, as a program does that also executes its instances.
   */
  async start<I, O, Nodes>(
    orchestration: Orchestration<I, O, Nodes>,
    ...rest: InputArguments<NoInfer<I>, StartOptions>
  ): Promise<Handle<O, Nodes>> {
    const [input, given = {}] = rest;
    const number = ++this.#starts;
    const id = given.id ?? `${orchestration.name}-${number}`;
    const requestId = given.requestId ?? `test-start-${number}`;
    const options: StartOptions = { ...given, id, requestId };
    // The signature above has checked the types. The request id makes a repeated start idempotent.
    const target = orchestration as Orchestration<unknown, O>;
    for (;;) {
      const { client, connection } = this.#process;
      const died = connection.crashed.then(() => null);
      this.#clock.expectStart(number);
      const started = Promise.race([client.start(target, input, options), died]);
      const handle = await this.#throughTrouble(started);
      if (handle !== null) return this.client.get(orchestration, id);
      await this.#clock.settle();
    }
  }

  /** Asks an instance and waits for its answer. Virtual time passes as for `handle.result()`. */
  async ask<R extends AnyRequest | string>(
    handle: Handle | string,
    request: R,
    ...rest: AskArguments<R, AskOptions>
  ): Promise<RequestOutput<R>> {
    const [input, options]: [input?: unknown, options?: AskOptions] = rest;
    const answer = await askOf(this.client, handle, request, input, options);
    return answer as RequestOutput<R>; // The type comes from the definition of the request.
  }

  /** All events of an instance's newest execution, or of the given one. */
  async history(handle: Handle | string, execution?: number): Promise<readonly HistoryEvent[]> {
    await this.settle();
    return this.#get(handle).history(defined({ execution }));
  }
  async describe(handle: Handle | string): Promise<InstanceInfo> {
    await this.settle();
    return this.#get(handle).describe();
  }
  /** What an instance waits for after `settle`. */
  async waitingFor(handle: Handle | string): Promise<readonly WaitingFor[]> {
    return (await this.describe(handle)).waitingFor;
  }
  /** The custom status of an instance. */
  async status(handle: Handle | string): Promise<unknown> {
    return (await this.describe(handle)).customStatus;
  }
  /** The key-values of an instance. */
  async keyValues(handle: Handle | string): Promise<Readonly<Record<string, unknown>>> {
    await this.settle();
    return Object.fromEntries(await this.#get(handle).kv.entries());
  }

  // ── activities ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Replaces an activity by a function, or by a sequence of outcomes, of which the last one repeats. */
  mock<A extends ActivityReference>(activity: A, outcome: MockOf<NoInfer<A>>): void {
    // The signature above has checked the types of the mock.
    const given = outcome as MockFunction<unknown, unknown> | readonly unknown[];
    this.#mocks.mock(activity, typeof given === "function" ? given : inSequence(given));
  }
  /** Removes the mock: the activity runs its own function again. */
  unmock(activity: ActivityReference): void {
    this.#mocks.unmock(activity);
  }
  /** The next run of the activity fails. Later runs are not affected. */
  failOnce(activity: ActivityReference, error: Error = new Error("failed by the test")): void {
    this.failTimes(activity, 1, error);
  }
  /** The next `times` runs of the activity fail. Later runs are not affected. */
  failTimes(
    activity: ActivityReference,
    times: number,
    error: Error = new Error("failed by the test"),
  ): void {
    this.#mocks.failTimes(activity, times, error);
  }
  /** The next run of the activity does not end until it is cancelled or times out. */
  hangOnce(activity: ActivityReference): void {
    this.#mocks.hangOnce(activity);
  }
  /** Every run of an activity so far, in the order in which the runs began. */
  calls<I, O>(activity: Activity<I, O>): readonly ActivityCall<I, O>[];
  calls(name: string): readonly ActivityCall[];
  calls(activity: ActivityReference): readonly ActivityCall[] {
    return this.#mocks.calls(activity);
  }
  /** The number of runs of each activity call, by idempotency key. */
  activityRuns(): ReadonlyMap<string, number> {
    return this.#mocks.runs();
  }

  // ── processes ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Shuts the runtime down and starts another one, which has nothing in memory. */
  async restartRuntime(): Promise<void> {
    await this.deploy(this.#register);
  }
  /** Shuts the runtime down and starts another one with other code. */
  async deploy(register: readonly Registrable[]): Promise<void> {
    const definitions = definitionsOf(register);
    await this.settle();
    this.#register = definitions;
    await this.#process.stop();
    await this.#boot({ movesClock: true });
    await this.settle();
  }
  /** The process crashes without a shutdown, as by kill -9. Another process replaces it. */
  async crash(): Promise<void> {
    this.#process.connection.crash();
    await this.settle();
  }

  /** Shuts the runtime down and closes the store. */
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
    if (newest === undefined) throw new Error("No process has started yet.");
    return newest;
  }

  #get(handle: Handle | string): Handle {
    return this.#plain.get(typeof handle === "string" ? handle : handle.id);
  }

  #observer(): FaultObserver {
    const { observer } = this.#options.faults ?? {};
    return { ...observer, carrying: (work) => this.#clock.busy.track(work) };
  }

  /** Starts a process. A caller that the clock waits for must pass `movesClock: false`. */
  async #boot({ movesClock }: { readonly movesClock: boolean }): Promise<void> {
    const { faults = {}, runtime = {}, callbacks, services, middleware } = this.#options;
    for (let left = BOOTS_MAX; ; left--) {
      const process = new TestProcess({
        store: this.#laterStarts.store,
        register: this.#mocks.wrap(this.#register),
        ...{ callbacks, services, middleware },
        runtime: {
          ...runtime,
          telemetry: stepTelemetry(this.#clock.busy, runtime.telemetry),
          log: keptLog(this.#logs, runtime.log),
        },
        plan: faults,
        observer: this.#observer(),
      });
      this.#processes.push(process);
      void process.connection.crashed.then(() => {
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

  #throughTrouble<T>(work: Promise<T>): Promise<T> {
    if (this.#options.faults === undefined) return work;
    return throughTrouble(work, this.#clock, (move) => this.#alone(move));
  }

  /** test-environment.1 */
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

  async #step(target: (upcoming: NextProgress) => number | null): Promise<NextProgress> {
    return this.#alone(async () => {
      await this.#clock.settle();
      const upcoming = await nextProgress({
        store: this.store,
        clock: this.#clock,
        mocks: this.#mocks,
        registered: () => this.#process.runtime.registered(),
        scriptedAt: () => this.#script.nextAt,
      });
      const until = target(upcoming);
      if (until !== null) await this.#clock.advance(Math.max(until - this.#clock.now(), 0));
      return upcoming;
    });
  }

  /** Lets one caller at a time move the clock, and throws the error of a scripted action (script.1). */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new PerdureError("SHUTTING_DOWN", "The test environment is closed.");
    const turn = this.#queue.then(() => this.#laterStarts.announce()).then(work);
    this.#queue = turn.catch(() => undefined);
    const result = await turn;
    await this.#clock.settle();
    this.#script.check();
    return result;
  }
}
