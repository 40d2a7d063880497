// The compensations of a running flow: recorded when a step completes, run in reverse order if an enclosing
// part fails.
//   - undo.1: The failed part determines which steps are undone. A catch or a settled branch undoes the
//        steps inside it, which are those whose path begins with its prefix. A failed flow undoes all
//        steps.
//   - Compensations run one after the other, in a shield (not cancelled). A failing compensation does not
//        stop the others.

import type { OrchestrationContext } from "../../core/context/types.ts";
import { toFailure, type Failure } from "../../core/errors/failure.ts";
import type { NodeActivity, NodeCalls } from "../../core/context/node-calls.ts";
import type { UndoFrame } from "./frames.ts";
import { definitionPath, deferPath } from "../data/paths.ts";
import type { Threads } from "./threads.ts";

export class Compensations {
  readonly #ctx: OrchestrationContext;
  readonly #calls: NodeCalls;
  readonly #threads: Threads;
  readonly #activities: ReadonlyMap<string, NodeActivity>;
  readonly #pending: UndoFrame[];

  constructor(options: {
    ctx: OrchestrationContext;
    calls: NodeCalls;
    threads: Threads;
    activities: ReadonlyMap<string, NodeActivity>;
    pending: readonly UndoFrame[];
  }) {
    this.#ctx = options.ctx;
    this.#calls = options.calls;
    this.#threads = options.threads;
    this.#activities = options.activities;
    this.#pending = [...options.pending];
  }

  /** The compensations of completed steps, oldest first. */
  get pending(): readonly UndoFrame[] {
    return this.#pending;
  }

  add(path: string, input: unknown, output: unknown): void {
    this.#pending.push({ path: deferPath(path), input: { input, output } });
  }

  /** Runs the compensations under a path prefix. Returns the failures of compensations. */
  async undo(prefix: string): Promise<readonly Failure[]> {
    const failures: Failure[] = [];
    const isInside = (entry: UndoFrame): boolean => entry.path.startsWith(prefix);
    if (!this.#pending.some(isInside)) return failures;
    // Counts as work: the flow must not compact before the compensations have ended.
    const undoing = this.#ctx.shield(async () => {
      for (;;) {
        const index = this.#pending.findLastIndex(isInside);
        const [entry] = index < 0 ? [] : this.#pending.splice(index, 1);
        if (entry === undefined) return;
        await this.#run(entry).catch((error: unknown) => {
          const { stack: _stack, ...failure } = toFailure(error);
          failures.push(failure);
        });
      }
    });
    await this.#threads.work(undoing);
    return failures;
  }

  /**
   * Gives the remaining compensations to the engine, which runs them as for every orchestration that fails.
   */
  handToEngine(): void {
    for (const entry of this.#pending) this.#ctx.compensate(() => this.#run(entry));
  }

  async #run(entry: UndoFrame): Promise<unknown> {
    const activity = this.#activities.get(definitionPath(entry.path));
    if (activity === undefined) throw new Error(`There is no compensation at "${entry.path}".`);
    return this.#calls.run(entry.path, activity, entry.input);
  }
}
