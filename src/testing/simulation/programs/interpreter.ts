// Interpreter: the orchestrations and activities that run programs.
//   - The interpreter catches failures of work at the call. It never catches a cancellation.
//   - All waits use simulated time, in the process that runs the code.

import { activity, orchestration } from "../../../core/define/definitions.ts";
import type { OrchestrationContext } from "../../../core/context/types.ts";
import { isPerdureError } from "../../../core/errors/errors.ts";
import { NonRetryableError, RetryAfterError } from "../../../core/errors/retry-errors.ts";
import { TaskError } from "../../../core/errors/task-errors.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import type { SimulatedProcess } from "../world/machine.ts";
import { DROPPED, failsForGood, FIXED, largeText, mix, OUTLIVED, THROWN } from "./expected.ts";
import { callbackActivities, runLater, waitForCallback } from "./callbacks/code.ts";
import type { Outside } from "./callbacks/outside.ts";
import type { ExtraOperation } from "./extra-operation.ts";
import { failureAsValue } from "./failures.ts";
import { plainWork, type Opponent, type Program, type WorkNode } from "./program.ts";
import { ask, raise, ROOT } from "./requests.ts";
import { roundOfItsOwn, valueOf } from "./rounds.ts";
import { STREAMED, streamedActivity, write } from "./streams.ts";

/** The input of a root instance. The optional fields are carried from execution to execution. */
export interface RootInput {
  readonly rounds: readonly Program[];
  /** Compensations that run, the last one first, when the instance fails or is cancelled. */
  readonly undo: readonly number[];
  readonly end: "return" | "throw";
  readonly done?: readonly unknown[];
  /** The progress of a round that spans several executions, and the messages received out of order. */
  readonly turns?: number;
  readonly wrong?: readonly unknown[];
}
const VERSIONS = ["1.0.0", "2.0.0"] as const;
/**
 * The orchestration of root instances with code that ends its process. The function of the second
 * deployment has a different source text, so the engine sees it as changed code.
 */
export const KILLER = "killer";
const PART = "part";

export interface StageOptions {
  readonly process: SimulatedProcess;
  readonly unitMs: number;
  readonly extras: readonly ExtraOperation[];
  /** Receives the tokens of callbacks. */
  readonly outside: Outside;
  /** Called before the code of an instance ends its process. */
  readonly onKill: (instance: string) => void;
  /** Records a run of a step in the ledger. */
  readonly recordStep: <T>(
    entry: { name: string; instance: string; key: string; attempt: number },
    run: () => Promise<T>,
  ) => Promise<T>;
}

/**
 * The definitions that a process registers. The first deployment has the first version, later ones have
 * both.
 */
export function definitions(options: StageOptions): readonly Definition[] {
  const stage = new Stage(options);
  const versions = VERSIONS.slice(0, options.process.generation);
  return [
    ...stage.activities(),
    ...versions.flatMap((version) => [
      orchestration(PART, (ctx, body: Program) => stage.run(ctx, body), { version }),
      orchestration(ROOT, (ctx, input: RootInput) => stage.runRoot(ctx, input), { version }),
      options.process.generation === 1
        ? orchestration(KILLER, (ctx, input: RootInput) => stage.runRoot(ctx, input), { version })
        : orchestration(KILLER, (fixed, input: RootInput) => stage.runRoot(fixed, input), {
            version,
          }),
    ]),
    ...options.extras.flatMap((extra) => extra.register(options.process)),
  ];
}

class Stage {
  readonly #o: StageOptions;
  readonly #extras: ReadonlyMap<string, ExtraOperation>;

  constructor(options: StageOptions) {
    this.#o = options;
    this.#extras = new Map(options.extras.map((extra) => [extra.name, extra]));
  }

  activities(): readonly Definition[] {
    const { process, unitMs, outside } = this.#o;
    const work = activity("work", async (node: WorkNode, context) => {
      const { attempt, signal } = context;
      // Every start of a job has a context, which all its descendants inherit. A wrong result shows that it was lost.
      if (context.context["job"] === undefined) return "the context was lost";
      const fails = failsForGood(node) || attempt <= node.fails; // a crash counts as an attempt too
      if (node.tells) {
        context.heartbeat(attempt);
        context.progress(node.salt);
      }
      const isPatient = node.salt % 2 === 0; // the others ignore their cancellation
      const ms = fails && node.style === "timeout" ? 1_000 * unitMs : node.ms;
      await (isPatient ? Promise.race([process.sleep(ms), aborted(signal)]) : process.sleep(ms));
      if (!fails) return mix(node.salt);
      if (node.style === "nonRetryable") throw new NonRetryableError("scripted");
      if (node.style === "retryAfter") throw new RetryAfterError(unitMs, "scripted");
      throw new Error(`scripted: attempt ${attempt}`);
    });
    const lasting = (name: string, units: number): Definition =>
      activity(name, async (_: unknown, { signal }) => {
        await Promise.race([process.sleep(units * unitMs), aborted(signal)]);
        return OUTLIVED;
      });
    const undo = activity("undo", async (salt: number) => {
      await process.sleep(salt % 100);
      return salt;
    });
    const poison = activity("poison", async () => {
      await process.sleep(1);
      return process.crash();
    });
    const large = activity("large", async ({ text, salt }: { text: string; salt: number }) => {
      await process.sleep(salt % 100);
      return text;
    });
    const streamed = streamedActivity(process);
    const lastings = [lasting("endless", 100_000), lasting("long", 60)];
    return [
      large,
      work,
      streamed,
      ...lastings,
      undo,
      poison,
      ...callbackActivities(process, outside),
    ];
  }

  async runRoot(ctx: OrchestrationContext<RootInput>, input: RootInput): Promise<unknown> {
    const { rounds, undo, end, done = [] } = input;
    const [round, ...later] = rounds;
    for (const salt of undo) ctx.compensate(() => ctx.run("undo", salt));
    if (round === undefined) return done;
    const own = await roundOfItsOwn(ctx, round, input);
    if (own !== null && !own.isOver) return ctx.continueAsNew({ ...input, ...own.carried });
    const values = [...done, own === null ? await this.#quiet(ctx, round) : valueOf(own.carried)];
    if (later.length > 0) return ctx.continueAsNew({ ...input, rounds: later, done: values });
    if (end === "throw") throw new Error(THROWN);
    return values;
  }

  async #quiet(ctx: OrchestrationContext, program: Program): Promise<unknown> {
    try {
      return await this.run(ctx, program);
    } catch (error) {
      if (isPerdureError(error, "CANCELLED")) throw error;
      return THROWN;
    }
  }

  async run(ctx: OrchestrationContext, program: Program): Promise<unknown> {
    switch (program.op) {
      case "work": {
        const { fails, attempts, style, tagged, session, priority } = program;
        return failureAsValue(
          ctx.run("work", program, {
            retry: { maxAttempts: attempts, backoff: { kind: "fixed", base: 100 } },
            ...(style === "timeout" && fails > 0 ? { timeout: 4 * this.#o.unitMs } : {}),
            ...(tagged ? { tags: "special" } : {}),
            ...(session === null ? {} : { session }),
            ...(priority === null ? {} : { priority }),
          }),
        );
      }
      case "step":
        return failureAsValue(this.#step(ctx, program));
      case "poison":
        return failureAsValue(ctx.run("poison"));
      case "kill":
        return this.#kill(ctx, program);
      case "deadline": {
        const plain = plainWork(program.salt, program.ms);
        return failureAsValue(ctx.run("work", plain, { scheduleToClose: program.closeMs }));
      }
      case "sleep":
        await ctx.sleep(program.ms);
        return "slept";
      case "events":
        return this.#events(ctx, program);
      case "ask":
        return ask(ctx, program);
      case "raise":
        return raise(ctx, program);
      case "write":
        return write(ctx, program);
      case "streamed": {
        const retry = {
          maxAttempts: program.attempts,
          backoff: { kind: "fixed", base: 100 },
        } as const;
        return failureAsValue(ctx.run(STREAMED, program, { retry }));
      }
      case "callback":
        return waitForCallback(ctx, program);
      case "later":
        return runLater(ctx, program);
      case "mailbox":
      case "spin":
      case "serve":
        throw new Error(`"${program.op}" must be a whole round, not a part of one.`);
      case "large":
        return failureAsValue(this.#large(ctx, program));
      case "state":
        return state(ctx, program.key, program.value);
      case "chance": {
        const drawn = [ctx.uuid(), ctx.random(), ctx.now().getTime()];
        await ctx.sleep(0);
        return [...drawn, ctx.uuid(), ctx.info.historyLength];
      }
      case "version":
        return ctx.info.version;
      case "patched":
        return this.#patched(ctx, program.salt);
      case "throw":
        await ctx.sleep(program.ms);
        throw new Error(THROWN);
      case "child":
        return this.#child(ctx, program);
      case "detached":
        void ctx.startDetached(PART, program.body, { id: program.id });
        return "started";
      case "dropped":
        return this.#dropped(ctx, program);
      case "beaten":
        return this.#beaten(ctx, program);
      case "shield":
        return ctx.shield(() => this.run(ctx, program.body));
      case "sequence": {
        const values: unknown[] = [];
        for (const part of program.parts) values.push(await this.#quiet(ctx, part));
        return values;
      }
      case "all":
        return ctx.all(this.#branches(ctx, program.parts));
      case "allSettled": {
        const settled = await ctx.allSettled(this.#branches(ctx, program.parts));
        return settled.map((each) => {
          if (each.status === "fulfilled") return each.value;
          if (isPerdureError(each.reason, "CANCELLED")) throw each.reason;
          return THROWN;
        });
      }
      case "race": {
        const { index, value } = await ctx.race(this.#branches(ctx, program.parts));
        return [index, value];
      }
      case "any":
        return ctx.any(this.#branches(ctx, program.parts));
      case "extra": {
        const extra = this.#extras.get(program.name);
        if (extra === undefined) throw new Error(`Unknown operation "${program.name}".`);
        return extra.run(ctx, program.data);
      }
    }
  }

  #branches(ctx: OrchestrationContext, parts: readonly Program[]): (() => Promise<unknown>)[] {
    return parts.map((part) => () => this.run(ctx, part));
  }

  #step(ctx: OrchestrationContext, node: Extract<Program, { op: "step" }>): Promise<unknown> {
    const { process, recordStep, unitMs } = this.#o;
    const instance = ctx.info.instanceId;
    return ctx.step(
      `step-${node.salt}`,
      ({ attempt, idempotencyKey: key }) =>
        recordStep({ name: `step-${node.salt}`, instance, key, attempt }, async () => {
          await process.sleep(node.ms);
          if (attempt <= node.fails) throw new Error(`scripted: attempt ${attempt}`);
          return mix(node.salt);
        }),
      { retry: { maxAttempts: node.attempts, backoff: { kind: "fixed", base: unitMs / 2 } } },
    );
  }

  #kill(ctx: OrchestrationContext, node: Extract<Program, { op: "kill" }>): Promise<unknown> {
    const { process, onKill, recordStep } = this.#o;
    const instance = ctx.info.instanceId;
    const isFixed = node.fixed && process.generation > 1;
    const die = (): Promise<string> => {
      if (isFixed) return Promise.resolve(FIXED);
      onKill(instance);
      return process.crash(`kill in a ${node.where}`);
    };
    if (node.where === "turn") return die();
    const name = `kill-${node.salt}`;
    return ctx.step(name, ({ attempt, idempotencyKey: key }) =>
      recordStep({ name, instance, key, attempt }, die),
    );
  }

  async #events(
    ctx: OrchestrationContext,
    { name, count, style }: Extract<Program, { op: "events" }>,
  ): Promise<readonly unknown[]> {
    const values: unknown[] = [];
    if (style === "wait") {
      while (values.length < count) values.push(await ctx.waitFor(name));
      return values;
    }
    for await (const value of ctx.events(name)) {
      values.push(value);
      if (values.length === count) break;
    }
    return values;
  }

  async #large(
    ctx: OrchestrationContext,
    { where, salt, bytes, isKept }: Extract<Program, { op: "large" }>,
  ): Promise<unknown> {
    const text = largeText(salt, bytes);
    const found =
      where === "activity"
        ? await ctx.run("large", { text, salt })
        : await ctx.step(`large-${salt}`, () => text);
    if (isKept) return found;
    return found === text ? text.length : "another text";
  }

  async #patched(ctx: OrchestrationContext, salt: number): Promise<unknown> {
    const isNew = this.#o.process.generation > 1 && ctx.patched(`patch-${salt}`);
    return failureAsValue(ctx.run("work", plainWork(isNew ? salt + 1 : salt, 1)));
  }

  async #child(
    ctx: OrchestrationContext,
    { body, id, abandon }: Extract<Program, { op: "child" }>,
  ): Promise<unknown> {
    try {
      return await ctx.call(PART, body, {
        ...(id === null ? {} : { id }),
        ...(abandon ? { onParentClose: "abandon" } : {}),
      });
    } catch (error) {
      if (error instanceof TaskError) return ["child failed"];
      throw error;
    }
  }

  async #dropped(
    ctx: OrchestrationContext,
    { body, ms, against }: Extract<Program, { op: "dropped" }>,
  ): Promise<unknown> {
    const block = ctx.scope(async () => {
      await this.#quiet(ctx, body);
      return this.#against(ctx, against);
    });
    block.catch(() => undefined); // awaited below, or its instance is cancelled
    await ctx.sleep(ms);
    block.cancel(DROPPED);
    try {
      return await block;
    } catch (error) {
      if (isPerdureError(error, "CANCELLED") && error.message.includes(DROPPED)) return DROPPED;
      throw error;
    }
  }

  async #beaten(
    ctx: OrchestrationContext,
    { winner, loser }: Extract<Program, { op: "beaten" }>,
  ): Promise<unknown> {
    const opponent = (): Promise<unknown> => this.#against(ctx, loser);
    const { value } = await ctx.race([() => this.run(ctx, winner), opponent]);
    return value;
  }

  #against(ctx: OrchestrationContext, opponent: Opponent): Promise<unknown> {
    if (opponent === "timer") return ctx.sleep(100_000 * this.#o.unitMs);
    return opponent === "event" ? ctx.waitFor("never") : ctx.run(opponent);
  }
}

function state(ctx: OrchestrationContext, key: string, value: number): unknown {
  ctx.kv.set(key, value);
  const read = ctx.kv.get(key);
  ctx.setStatus({ key, value });
  ctx.setAttributes({ [key]: String(value) });
  ctx.kv.delete(key);
  const isGone = ctx.kv.get(key) === undefined;
  ctx.kv.set(key, value + 1);
  return [read, isGone];
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new Error("aborted"));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}
