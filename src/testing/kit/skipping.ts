// Waiting for a result on virtual time: the clock moves by itself when nothing else can happen.
//   SK1. Time stands still while anything can happen without it, and moves no further than to the next thing.
//   SK2. A result that will never come is told at once, with what the instance waits for; nothing hangs.
//   SK3. One step at a time, whoever waits: several results may be awaited together.

import type { Client } from "../../client/client.ts";
import { Handle, type ResultOptions } from "../../client/handle.ts";
import type { InstanceInfo, WaitingFor } from "../../client/instance-info.ts";
import { timeoutError } from "../../client/waiting.ts";
import { formatDuration, parseDuration } from "../../core/duration.ts";
import { isPerdureError, PerdureError } from "../../core/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { progress, type Chance } from "./chances.ts";
import type { TestClock } from "./test-clock.ts";

/** Steps in a row that may change nothing while something is due: polls and back-offs of a store in trouble. */
const STEPS_IN_VAIN_MAX = 100;

export interface SkippingOptions {
  readonly clock: TestClock;
  readonly store: Provider;
  /** Whose handles do not skip. */
  readonly client: Client;
  /** Lets everything happen that can happen now. */
  readonly settle: () => Promise<void>;
  /** The same; then time passes until the moment that is chosen by what can still happen. Null: it does not. */
  readonly step: (target: (settled: Chance) => number | null) => Promise<Chance>;
}

/** The client whose handles skip time while their results are awaited. */
export function skippingClient(client: Client, options: SkippingOptions): Client {
  const seen = (value: unknown): unknown =>
    value instanceof Handle ? skippingHandle(value, options) : value;
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        return result instanceof Promise ? result.then(seen) : seen(result);
      };
    },
  });
}

function skippingHandle(handle: Handle, options: SkippingOptions): Handle {
  const plain = (given: ResultOptions): Promise<unknown> =>
    Handle.prototype.result.call(handle, given);
  handle.result = (given = {}) => resultOf(handle, plain, given, options);
  return handle;
}

async function resultOf(
  handle: Handle,
  plain: (given: ResultOptions) => Promise<unknown>,
  given: ResultOptions,
  options: SkippingOptions,
): Promise<unknown> {
  const { clock, client, store } = options;
  const timeoutMs =
    given.timeout === undefined ? Infinity : parseDuration(given.timeout, "timeout");
  const until = clock.now() + timeoutMs;
  let inVain = 0;
  let hopeless = 0;
  let before = "";
  for (;;) {
    given.signal?.throwIfAborted();
    await options.settle();
    try {
      return await plain({ ...given, timeout: 0 });
    } catch (error) {
      if (!isPerdureError(error, "TIMEOUT")) throw error;
      if (clock.now() >= until) throw await tooLate(client, handle.id, timeoutMs);
    }
    const target = (chance: Chance): number | null => {
      const next = chance.soon === "no" ? chance.at : (clock.nextTimerAt() ?? chance.at);
      return next === null ? null : Math.min(next, until);
    };
    const chance = await options.step(target);
    const isVague = chance.at === null && chance.soon === "maybe";
    if (isVague) {
      const now = await progress(client, store);
      inVain = now === before ? inVain + 1 : 0;
      before = now;
    }
    hopeless = chance.soon === "no" && chance.at === null ? hopeless + 1 : 0;
    // Twice: before the first time somebody else's step may have brought the end.
    if (hopeless < 2 && inVain < STEPS_IN_VAIN_MAX) continue;
    if (timeoutMs !== Infinity) await options.step(() => until);
    else throw new PerdureError("TIMEOUT", await waitsForever(client, handle.id));
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
    " Script it with kit.at(…) or kit.raiseAt(…), raise it before you await the result, or give result() a timeout.";
  return `${what} would wait forever: ${text}.${canScript ? advice : ""}`;
}

/** Why an instance does not end. */
interface WhyNot {
  /** A clause without a full stop. */
  readonly text: string;
  /** Whether an event that the test can script would help. */
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
  if (waits.length === 0) return unscripted("it waits for nothing that is known");
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
    case "activity":
      return unscripted(
        wait.unclaimed === undefined
          ? `it waits for activity "${wait.name}", whose function does not end and has no time-out`
          : `it waits for activity "${wait.name}": ${wait.unclaimed}`,
      );
    case "step":
      return unscripted(`it waits for step "${wait.name}", whose function does not end`);
    case "timer":
      return unscripted(`it waits for ${wait.due.toISOString()}`);
    case "child": {
      const child = client.get(wait.id);
      const what = `it waits for child "${wait.id}"`;
      if (!(await child.exists())) return unscripted(`${what}, which does not exist`);
      const { text, canScript } = await whyNot(client, await child.describe());
      return { text: `${what}, and there ${text}`, canScript };
    }
  }
}
