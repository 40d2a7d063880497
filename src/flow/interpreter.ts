// The interpreter: one orchestration that runs every flow.
//   IN1. It does nothing but ask its run for things in an order that follows from the definition and from what was
//        answered, so that no determinism rule reaches a flow's author.
//   IN2. What a node is doing is in its frame before anybody can wait (FR1); a frame that is there already says where
//        the node stood in the execution before.
//   IN3. A cancelled branch unwinds: no catch holds it up, and no collected failure comes of it.

import type { OrchestrationContext } from "../core/context-types.ts";
import { NodeCalls, type NodeActivity } from "../core/node-calls.ts";
import { Compaction } from "./compaction.ts";
import type { FlowDefinition } from "./definition.ts";
import { named } from "./flow-errors.ts";
import { begin, type FlowState, type SequenceFrame } from "./frames.ts";
import { runFork, runMap } from "./interpret-branches.ts";
import { runCall, runCatch, runChild, runLoop, runRoute } from "./interpret-parts.ts";
import { runDelay, runWait } from "./interpret-waits.ts";
import { prepare, type Prepared, type PreparedFlow, type Targets } from "./prepared.ts";
import { Threads } from "./threads.ts";
import { Compensations } from "./undo.ts";
import { Waits } from "./waits.ts";

type Handler = (ctx: OrchestrationContext, input: unknown) => Promise<unknown>;

export function interpreter(definition: FlowDefinition, hash: string, targets: Targets): Handler {
  const flow = prepare(definition, hash, targets);
  return async (ctx, input) => {
    const calls = new NodeCalls(ctx);
    const carried = calls.state();
    if (carried === null) return undefined; // blocked: it cannot be read
    // Written by an interpreter of this very structure; `format` tells versions of it apart.
    const state = carried === undefined ? null : (carried.decoded as FlowState);
    return new FlowRun(flow, ctx, calls, state).main(input);
  };
}

/** Where a node stands: its frame's level, its path, and what the paths on its level begin with. */
export interface Place {
  readonly frame: SequenceFrame;
  readonly path: string;
  readonly prefix: string;
}

/** One execution of a flow. */
export class FlowRun {
  readonly ctx: OrchestrationContext;
  readonly calls: NodeCalls;
  readonly threads: Threads;
  readonly compaction: Compaction;
  readonly compensations: Compensations;
  readonly waits: Waits;
  readonly #flow: PreparedFlow;
  #root: SequenceFrame | null;

  constructor(
    flow: PreparedFlow,
    ctx: OrchestrationContext,
    calls: NodeCalls,
    state: FlowState | null,
  ) {
    this.#flow = flow;
    this.ctx = ctx;
    this.calls = calls;
    const threads = new Threads(ctx, () => this.compaction.rest());
    this.threads = threads;
    const noted = state?.undos ?? [];
    this.compensations = new Compensations({ ctx, calls, threads, activities: flow.undos, noted });
    this.waits = new Waits(state?.waits ?? []);
    this.#root = state?.frame ?? null;
    this.compaction = new Compaction({
      calls,
      threads,
      execution: ctx.info.executionId,
      after: flow.compactAfter,
      stateOf: () => ({
        format: 1,
        frame: this.#root ?? begin(undefined),
        undos: this.compensations.noted,
        waits: this.waits.open,
      }),
    });
    for (const [path, result] of state?.results ?? []) {
      this.compaction.keep(path, result);
      if ("value" in result) calls.ended(path, result.value);
    }
  }

  async main(input: unknown): Promise<unknown> {
    this.#root ??= begin(input);
    try {
      const value = await this.level(this.#flow.nodes, this.#root, "");
      if (this.calls.isCancelled) this.compensations.handOver();
      return value;
    } catch (error) {
      this.compensations.handOver();
      throw error;
    }
  }

  /** The nodes of a level, one after the other. */
  async level(nodes: readonly Prepared[], frame: SequenceFrame, prefix: string): Promise<unknown> {
    const isRepeated = prefix.includes("#");
    for (let step = nodes[frame.at]; step !== undefined; step = nodes[frame.at]) {
      const path = prefix + step.node.id;
      const value = await this.#node(step, { frame, path, prefix });
      frame.value = value;
      frame.at++;
      delete frame.inner;
      if (!isRepeated) this.compaction.keep(path, { value });
      this.calls.ended(path, value);
    }
    return frame.value;
  }

  #node(step: Prepared, place: Place): Promise<unknown> {
    const { node } = step;
    const { frame, path } = place;
    switch (node.kind) {
      case "task":
        return this.#undoable(step, place, this.run(path, step.work, frame.value));
      case "child":
        return this.#undoable(step, place, runChild(this, node, step, place));
      case "call":
        return this.#undoable(step, place, runCall(this, step, place));
      case "fork":
        return runFork(this, node, step, place);
      case "map":
        return runMap(this, node, step, place);
      case "route":
        return runRoute(this, node, step, place);
      case "loop":
        return runLoop(this, node, step, place);
      case "delay":
        return runDelay(this, node, place);
      case "wait":
        return runWait(this, node, place);
      case "catch":
        return runCatch(this, step, place);
    }
  }

  async #undoable(step: Prepared, place: Place, running: Promise<unknown>): Promise<unknown> {
    if (step.undo === null) return running;
    const { path, frame } = place;
    const output = await running;
    this.compensations.note(path, frame.value, output);
    return output;
  }

  /** Runs an activity for a node. */
  async run(path: string, activity: NodeActivity | null, input: unknown): Promise<unknown> {
    if (activity === null) throw new Error(`Node "${path}" has nothing to run.`);
    if (this.compaction.isDue) await this.compaction.pass(path);
    try {
      return await this.threads.work(this.calls.run(path, this.#ofInstance(activity), input));
    } catch (error) {
      throw named(error, path);
    }
  }

  /** A session may be one for each instance. */
  #ofInstance(activity: NodeActivity): NodeActivity {
    const { session } = activity.options;
    if (session?.includes("{instance}") !== true) return activity;
    const own = session.replaceAll("{instance}", this.ctx.info.instanceId);
    return { ...activity, options: { ...activity.options, session: own } };
  }
}
