// The interpreter: one orchestration that runs every flow.
//   - Its calls follow only from the definition and from recorded outcomes. Determinism rules therefore do
//        not concern the author of a flow.
//   - A node writes its state into its frame before any thread can wait (frames.1). If a frame exists when
//        a node begins, it holds the node's state from the previous execution.
//   - Cancellation unwinds a branch: a catch does not handle it, and "settle" does not collect it.

import type { OrchestrationContext } from "../../core/context/types.ts";
import { NodeCalls, type NodeActivity } from "../../core/context/node-calls.ts";
import { Compaction } from "./compaction.ts";
import type { FlowDefinition } from "../data/definition.ts";
import { withNode } from "./flow-errors.ts";
import { newFrame, type FlowState, type SequenceFrame } from "./frames.ts";
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
    if (carried === null) return undefined; // The state cannot be decoded, and the instance is blocked.
    // An interpreter of the same structure wrote the state. `format` is the version of the state's format.
    const state = carried === undefined ? null : (carried.decoded as FlowState);
    return new FlowRun(flow, ctx, calls, state).main(input);
  };
}

/** A running node: its run, the frame of its level, its path, and the path prefix of its level. */
export interface RunningNode {
  readonly run: FlowRun;
  readonly step: Prepared;
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
    this.threads = new Threads(ctx, () => this.compaction.onIdle());
    this.compensations = new Compensations(this, flow.undos, state?.undos ?? []);
    this.waits = new Waits(state?.waits ?? []);
    this.#root = state?.frame ?? null;
    this.compaction = new Compaction(this, flow.compactAfter, () => ({
      format: 1,
      frame: this.#root ?? newFrame(undefined),
      undos: this.compensations.pending,
      waits: this.waits.open,
    }));
    for (const [path, result] of state?.results ?? []) {
      this.compaction.keep(path, result);
      if ("value" in result) calls.reportNodeEnd(path, result.value);
    }
  }

  async main(input: unknown): Promise<unknown> {
    this.#root ??= newFrame(input);
    try {
      const value = await this.level(this.#flow.nodes, this.#root, "");
      if (this.calls.isCancelled) this.compensations.handToEngine();
      return value;
    } catch (error) {
      this.compensations.handToEngine();
      throw error;
    }
  }

  /** Runs the nodes of a level one after the other. */
  async level(nodes: readonly Prepared[], frame: SequenceFrame, prefix: string): Promise<unknown> {
    const isRepeated = prefix.includes("#");
    for (let step = nodes[frame.at]; step !== undefined; step = nodes[frame.at]) {
      const path = prefix + step.node.id;
      const value = await this.#node({ run: this, step, frame, path, prefix });
      frame.value = value;
      frame.at++;
      delete frame.inner;
      if (!isRepeated) this.compaction.keep(path, { value });
      this.calls.reportNodeEnd(path, value);
    }
    return frame.value;
  }

  #node(running: RunningNode): Promise<unknown> {
    const { step, frame, path } = running;
    const { node } = step;
    switch (node.kind) {
      case "task":
        return this.#withUndo(running, this.run(path, step.work, frame.value));
      case "child":
        return this.#withUndo(running, runChild(node, running));
      case "call":
        return this.#withUndo(running, runCall(running));
      case "fork":
        return runFork(node, running);
      case "map":
        return runMap(node, running);
      case "route":
        return runRoute(node, running);
      case "loop":
        return runLoop(node, running);
      case "delay":
        return runDelay(node, running);
      case "wait":
        return runWait(node, running);
      case "catch":
        return runCatch(running);
    }
  }

  /** Records the step's compensation when the step has completed. */
  async #withUndo(running: RunningNode, outcome: Promise<unknown>): Promise<unknown> {
    const { step, path, frame } = running;
    if (step.undo === null) return outcome;
    const output = await outcome;
    this.compensations.add(path, frame.value, output);
    return output;
  }

  /** Runs an activity for a node. */
  async run(path: string, activity: NodeActivity | null, input: unknown): Promise<unknown> {
    if (activity === null) throw new Error(`Node "${path}" has nothing to run.`);
    if (this.compaction.isDue) await this.compaction.beforeWork(path);
    try {
      return await this.threads.work(this.calls.run(path, this.#withSession(activity), input));
    } catch (error) {
      throw withNode(error, path);
    }
  }

  /** Replaces "{instance}" in the session's name, which gives each instance its own session. */
  #withSession(activity: NodeActivity): NodeActivity {
    const { session } = activity.options;
    if (session?.includes("{instance}") !== true) return activity;
    const own = session.replaceAll("{instance}", this.ctx.info.instanceId);
    return { ...activity, options: { ...activity.options, session: own } };
  }
}
