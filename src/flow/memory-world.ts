// What all instances of one `runFlow` share: what is registered, the clock, and how it ends.

import type { ActivityInfo, StepContext } from "../core/activity-context.ts";
import type { BlockReason } from "../core/block.ts";
import { defaultCodec } from "../core/codec.ts";
import type { Activity, Orchestration } from "../core/definitions.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type {
  ActivityScheduled,
  OrchestrationStarted,
  StepScheduled,
  TerminalBody,
} from "../core/history-events.ts";
import type { LogSink } from "../core/log.ts";
import type { NewInstance } from "../core/provider/commit.ts";
import { validate } from "../core/standard-schema.ts";
import { TimerWheel } from "../core/timer-wheel.ts";
import { MemoryRun } from "./memory-run.ts";
import { MemoryWork, type MemoryHost, type WorkOutcome } from "./memory-work.ts";

type Registered = Activity<never, unknown> | Orchestration<never, unknown>;

export class MemoryWorld implements MemoryHost {
  readonly environment: Environment;
  readonly codec = defaultCodec;
  readonly log: LogSink;
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
    fail: (error: unknown) => void;
  }) {
    const { environment } = options;
    this.environment = environment;
    this.log = options.log;
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

  /** Null: it is not registered, and everything has failed because of it. */
  activity(call: {
    readonly body: ActivityScheduled;
    readonly info: ActivityInfo;
    readonly key: string;
    readonly onOutcome: (outcome: WorkOutcome) => void;
  }): MemoryWork | null {
    const { body, info, key, onOutcome } = call;
    const definition = this.#activities.get(body.name);
    if (definition === undefined) {
      this.fail(missing(`activity "${body.name}"`));
      return null;
    }
    const { input: inputSchema, output: outputSchema } = definition.defaults;
    const handler = definition.handler as (input: unknown, ctx: unknown) => unknown; // its definition ties the types
    const invoke = async (context: unknown): Promise<unknown> => {
      const given = this.codec.decode(body.input);
      const what = `"${body.name}"`;
      const input =
        inputSchema === undefined ? given : await validate(inputSchema, given, `input of ${what}`);
      const value = await handler(input, context);
      return outputSchema === undefined
        ? value
        : validate(outputSchema, value, `output of ${what}`);
    };
    return new MemoryWork({
      host: this,
      info,
      kind: "activity",
      key,
      options: body,
      invoke,
      onOutcome,
    });
  }

  step(call: {
    readonly body: StepScheduled;
    readonly fn: (context: StepContext) => unknown;
    readonly info: ActivityInfo;
    readonly key: string;
    readonly onOutcome: (outcome: WorkOutcome) => void;
  }): MemoryWork {
    const { body, fn, info, key, onOutcome } = call;
    return new MemoryWork({
      host: this,
      info,
      kind: "step",
      key,
      options: body,
      invoke: fn,
      onOutcome,
    });
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
    const started = JSON.parse(start.started) as OrchestrationStarted; // written by the engine
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
    const message = `It waits for ${names}, and nobody can send it: give runFlow the events.`;
    this.fail(new PerdureError("INVALID_ARGUMENT", message));
  }
}

function missing(what: string): PerdureError {
  return new PerdureError("NOT_REGISTERED", `There is no ${what}: give it to runFlow's register.`);
}
