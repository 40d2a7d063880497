// Time skipping: moves virtual time automatically while a test awaits the result of an instance, the answer
// to a request, or the next entry of a stream.
//   - Time stands still while work can proceed without it, and then moves to the next due moment only.
//   - If the result can never come, the call throws TIMEOUT at once and names what the instance waits for.
//   - A test may await several results at the same time; only one of the calls moves the clock at a time.

import { askWait, type AskOptions } from "../../client/calls/ask-item.ts";
import type { Client } from "../../client/client.ts";
import { Handle, type ResultOptions } from "../../client/handle.ts";
import type { StreamReader } from "../../client/streams/read-stream.ts";
import { GATHER_MS } from "../../runtime/streams/stream-appends.ts";
import type { InstanceInfo, WaitingFor } from "../../client/inspect/instance-info.ts";
import { timeoutError } from "../../client/waiting.ts";
import { formatDuration, parseDuration } from "../../core/time/duration.ts";
import { isPerdureError, PerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { progress, type NextProgress } from "./next-progress.ts";
import type { TestClock } from "./test-clock.ts";

/**
 * Steps in a row without progress while work is due. Polls and backoffs of an unavailable store need some.
 */
const STEPS_IN_VAIN_MAX = 100;

export interface SkippingOptions {
  readonly clock: TestClock;
  readonly store: Provider;
  /** A client whose handles do not move the clock. */
  readonly client: Client;
  /** Waits until no work is left that can proceed at the current virtual time. */
  readonly settle: () => Promise<void>;
  /** Settles, then advances the clock to the moment that `target` returns. Null: the clock does not move. */
  readonly step: (target: (settled: NextProgress) => number | null) => Promise<NextProgress>;
}

/** Wraps a client: its handles move virtual time while a test awaits their results. */
export function skippingClient(client: Client, options: SkippingOptions): Client {
  const seen = (value: unknown): unknown =>
    value instanceof Handle ? skippingHandle(value, options) : value;
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        if (name === "ask" && result instanceof Promise) {
          return skipUntilSettled(result, timeoutOf(args.slice(3)), options);
        }
        return result instanceof Promise ? result.then(seen) : seen(result);
      };
    },
  });
}

function skippingHandle(handle: Handle, options: SkippingOptions): Handle {
  const plain = (given: ResultOptions): Promise<unknown> =>
    Handle.prototype.result.call(handle, given);
  handle.result = (given = {}) => resultOf(handle, plain, given, options);
  const ask = handle.ask.bind(handle);
  handle.ask = (request, ...rest) =>
    skipUntilSettled(ask(request, ...rest), timeoutOf(rest), options);
  const stream = handle.stream.bind(handle);
  handle.stream = (...given) => skippingReader(stream(...given), handle.id, options);
  return handle;
}

/** A reader whose `next` and `ready` move the clock. If no entry can come, they throw TIMEOUT. */
function skippingReader<T>(
  reader: StreamReader<T>,
  id: string,
  options: SkippingOptions,
): StreamReader<T> {
  const skipping = async <Value>(waited: Promise<Value>): Promise<Value> => {
    let isSettled = false;
    const settled = (): void => void (isSettled = true);
    waited.then(settled, settled);
    const steps = new Steps(Infinity, options);
    for (;;) {
      await options.settle();
      if (isSettled) return waited;
      if (await steps.next()) continue;
      // What a running activity has written reaches its stream within this time.
      const { clock } = options;
      await options.step(() => clock.now() + GATHER_MS);
      await options.settle();
      if (isSettled) return waited;
      await reader.return();
      throw new PerdureError("TIMEOUT", await waitsForever(options.client, id));
    }
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => skipping(reader.next()),
    ready: () => skipping(reader.ready()),
    return: () => reader.return(),
  };
}

async function resultOf(
  handle: Handle,
  plain: (given: ResultOptions) => Promise<unknown>,
  given: ResultOptions,
  options: SkippingOptions,
): Promise<unknown> {
  const { clock, client } = options;
  const timeoutMs =
    given.timeout === undefined ? Infinity : parseDuration(given.timeout, "timeout");
  const until = clock.now() + timeoutMs;
  const steps = new Steps(until, options);
  for (;;) {
    given.signal?.throwIfAborted();
    await options.settle();
    try {
      return await plain({ ...given, timeout: 0 });
    } catch (error) {
      if (!isPerdureError(error, "TIMEOUT")) throw error;
      if (clock.now() >= until) throw await tooLate(client, handle.id, timeoutMs);
    }
    if (await steps.next()) continue;
    if (timeoutMs !== Infinity) await options.step(() => until);
    else throw new PerdureError("TIMEOUT", await waitsForever(client, handle.id));
  }
}

/** The timeout of an ask, from its arguments after the request. The ask itself has checked them. */
function timeoutOf([, options]: readonly unknown[]): number {
  const { timeoutMs } = askWait("request", (options ?? {}) as AskOptions);
  return timeoutMs;
}

/** Moves the clock until the ask is settled. At its timeout the ask rejects by itself. */
async function skipUntilSettled<T>(
  asked: Promise<T>,
  timeoutMs: number,
  options: SkippingOptions,
): Promise<T> {
  let isSettled = false;
  const settled = (): void => void (isSettled = true);
  asked.then(settled, settled);
  const until = options.clock.now() + timeoutMs;
  const steps = new Steps(until, options);
  for (;;) {
    await options.settle();
    if (isSettled || options.clock.now() >= until) return asked;
    if (!(await steps.next())) await options.step(() => until);
  }
}

/** Steps of the clock from one due moment to the next, at most to `until`. */
class Steps {
  readonly #until: number;
  readonly #options: SkippingOptions;
  #inVain = 0;
  #hopeless = 0;
  #before = "";

  constructor(until: number, options: SkippingOptions) {
    this.#until = until;
    this.#options = options;
  }

  /** Makes one step. False: no instance can make progress. */
  async next(): Promise<boolean> {
    const { clock, client, store, step } = this.#options;
    const target = (upcoming: NextProgress): number | null => {
      const next = upcoming.soon === "no" ? upcoming.at : (clock.nextTimerAt() ?? upcoming.at);
      return next === null ? null : Math.min(next, this.#until);
    };
    const upcoming = await step(target);
    const isVague = upcoming.at === null && upcoming.soon === "maybe";
    if (isVague) {
      const now = await progress(client, store);
      this.#inVain = now === this.#before ? this.#inVain + 1 : 0;
      this.#before = now;
    }
    this.#hopeless = upcoming.soon === "no" && upcoming.at === null ? this.#hopeless + 1 : 0;
    // Two times in a row: before the first one, a step of a concurrent wait may have ended the instance.
    return this.#hopeless < 2 && this.#inVain < STEPS_IN_VAIN_MAX;
  }
}

async function tooLate(client: Client, id: string, timeoutMs: number): Promise<PerdureError> {
  const { text } = await whyNot(client, await client.get(id).describe());
  return timeoutError(`Instance "${id}" did not end within ${formatDuration(timeoutMs)}`, text);
}

async function waitsForever(client: Client, id: string): Promise<string> {
  const info = await client.get(id).describe();
  const what = `Instance "${id}" of ${info.name}${info.version === undefined ? "" : ` ${info.version}`}`;
  if (info.blocked !== undefined) return `${what} ${blockText(info.blocked)}.`;
  const { text, canScript } = await whyNot(client, info);
  const advice =
    " Script it with kit.at(…), kit.raiseAt(…) or kit.askAt(…), send it before you await the result, or pass a timeout to result().";
  return `${what} would wait forever: ${text}.${canScript ? advice : ""}`;
}

/** Why an instance does not end. */
interface WhyNot {
  /** A clause without a full stop. */
  readonly text: string;
  /** Whether an event or a request that the test can script would help. */
  readonly canScript: boolean;
}

function blockText({ code, message }: NonNullable<InstanceInfo["blocked"]>): string {
  return `is blocked by ${code}: ${message.replace(/\.$/, "")}`;
}

async function whyNot(client: Client, info: InstanceInfo): Promise<WhyNot> {
  if (info.blocked !== undefined) return unscripted(`it ${blockText(info.blocked)}`);
  if (info.paused !== undefined) return unscripted(`it is paused (${info.paused.reason})`);
  if (info.unclaimed !== undefined) return unscripted(info.unclaimed);
  const waits = await Promise.all(info.waitingFor.map((wait) => whyNotDone(client, wait)));
  if (waits.length === 0) return unscripted("its history shows no pending wait");
  return {
    text: waits.map(({ text }) => text).join("; "),
    canScript: waits.some(({ canScript }) => canScript),
  };
}

function unscripted(text: string): WhyNot {
  return { text, canScript: false };
}

async function whyNotDone(client: Client, wait: WaitingFor): Promise<WhyNot> {
  switch (wait.kind) {
    case "event": {
      const text = `it waits for event "${wait.name}": nothing scripted will raise it`;
      return { text, canScript: true };
    }
    case "callback": {
      const text = `it waits for callback "${wait.name}": nothing scripted will complete it`;
      return { text, canScript: true };
    }
    case "activity":
      if (wait.completesLater === true) {
        const text = `it waits for activity "${wait.name}": nothing scripted will complete it`;
        return { text, canScript: true };
      }
      return unscripted(
        wait.unclaimed === undefined
          ? `it waits for activity "${wait.name}", whose function does not end and has no timeout`
          : `it waits for activity "${wait.name}": ${wait.unclaimed}`,
      );
    case "step":
      return unscripted(`it waits for step "${wait.name}", whose function does not end`);
    case "timer":
      return unscripted(`it waits for ${wait.due.toISOString()}`);
    case "requests":
      return {
        text: `it waits for requests "${wait.names.join('", "')}": nothing scripted will ask it`,
        canScript: true,
      };
    case "ask":
      return whyNotThere(client, wait.id, `it waits for an answer of instance "${wait.id}"`);
    case "child":
      return whyNotThere(client, wait.id, `it waits for child "${wait.id}"`);
  }
}

async function whyNotThere(client: Client, id: string, what: string): Promise<WhyNot> {
  const other = client.get(id);
  if (!(await other.exists())) return unscripted(`${what}, which does not exist`);
  const { text, canScript } = await whyNot(client, await other.describe());
  return { text: `${what}, and there ${text}`, canScript };
}
