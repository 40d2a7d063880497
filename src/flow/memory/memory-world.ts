// The shared state of one `runFlow`: the registered definitions, the clock, and the way the run ends.

import type { ActivityHost, ActivityServices } from "../../core/attempts/attempt-context.ts";
import type { AttemptClock } from "../../core/attempts/running-attempt.ts";
import { invalidArgument } from "../../core/checks.ts";
import type { ServiceValues, SomeServices } from "../../core/context/app-types.ts";
import { openServices } from "../../core/context/services.ts";
import type { Activity, Orchestration } from "../../core/define/definitions.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import type { BlockReason } from "../../core/history/block.ts";
import type { OrchestrationStarted, TerminalBody } from "../../core/history/events.ts";
import type { NewInstance } from "../../core/provider/commit.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { Environment } from "../../core/time/environment.ts";
import { TimerWheel } from "../../core/time/timer-wheel.ts";
import { defaultCodec } from "../../core/values/codec.ts";
import { MemoryRun } from "./memory-run.ts";

type Registered = Activity<never, unknown> | Orchestration<never, unknown>;

export class MemoryWorld implements ActivityServices, AttemptClock {
  readonly environment: Environment;
  readonly host: ActivityHost;
  readonly codec = defaultCodec;
  readonly log: LogSink;
  readonly services: ServiceValues;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly random: () => number;
  isOver = false;
  readonly #fail: (error: unknown) => void;
  readonly #activities = new Map<string, Activity<never, unknown>>();
  readonly #orchestrations: Orchestration<never, unknown>[] = [];

  constructor(options: {
    environment: Environment;
    log: LogSink;
    register: readonly Registered[];
    services: SomeServices | undefined;
    fail: (error: unknown) => void;
  }) {
    const { environment } = options;
    this.environment = environment;
    this.host = { environment, stopping: new AbortController().signal };
    this.log = options.log;
    this.services = openServices(options.services, "runFlow(flow, input, { services: { … } })");
    this.monotonic = () => environment.monotonic();
    this.random = () => environment.random();
    this.wheel = new TimerWheel({
      now: this.monotonic,
      setTimer: (delayMs, fn) => environment.setTimer(delayMs, fn),
    });
    this.#fail = options.fail;
    for (const each of options.register) this.#register(each);
  }

  #register(each: Registered): void {
    if (each.kind === "activity") this.#activities.set(each.name, each);
    else {
      this.#orchestrations.push(each);
      for (const activity of each.activities ?? []) this.#activities.set(activity.name, activity);
    }
  }

  get client(): never {
    throw invalidArgument("runFlow has no store, so ctx.client is not available.");
  }

  /** Null: the activity is not registered, and the run has failed. */
  activity(name: string): Activity<never, unknown> | null {
    const definition = this.#activities.get(name) ?? null;
    if (definition === null) this.fail(missing(`activity "${name}"`));
    return definition;
  }

  start(start: NewInstance, onEnd: (ended: TerminalBody) => void): MemoryRun | null {
    const { id, name, version } = start;
    const definition = this.#orchestrations.findLast(
      (each) => each.name === name && (version === null || each.version === version),
    );
    if (definition === undefined) {
      this.fail(missing(`orchestration "${name}"${version === null ? "" : ` ${version}`}`));
      return null;
    }
    const started = JSON.parse(start.started) as OrchestrationStarted; // The engine wrote it.
    return new MemoryRun({ world: this, id, definition, started, onEnd });
  }

  fail(error: unknown): void {
    this.isOver = true;
    this.#fail(error);
  }

  blocked({ code, message }: BlockReason): void {
    this.fail(new PerdureError(code === "QUARANTINE" ? "HISTORY_CORRUPT" : code, message));
  }

  stuck(signals: readonly string[]): void {
    const names = signals.map((name) => `"${name}"`).join(", ");
    const message = `The flow waits for ${names}, which never comes; pass it in the events option of runFlow.`;
    this.fail(invalidArgument(message));
  }
}

function missing(what: string): PerdureError {
  const message = `No ${what} is registered; pass it in the register option of runFlow.`;
  return new PerdureError("NOT_REGISTERED", message);
}
