// The compensations of a running flow: recorded when a step completes, run in reverse order if an enclosing
// part fails.
//   - undo.1: The failed part determines which steps are undone. A catch or a settled branch undoes the
//        steps inside it, which are those whose path begins with its prefix. A failed flow undoes all
//        steps.
//   - Compensations run one after the other, in a shield (not cancelled). A failing compensation does not
//        stop the others.

import { toFailure, type Failure } from "../../core/errors/failure.ts";
import type { UndoFrame } from "./frames.ts";
import type { FlowRun } from "./interpreter.ts";
import type { PreparedFlow } from "./prepared.ts";
import { definitionPath, deferPath } from "../data/paths.ts";

export class Compensations {
  readonly #run: FlowRun;
  readonly #activities: PreparedFlow["undos"];
  readonly #pending: UndoFrame[];

  constructor(run: FlowRun, activities: PreparedFlow["undos"], pending: readonly UndoFrame[]) {
    this.#run = run;
    this.#activities = activities;
    this.#pending = [...pending];
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
    const undoing = this.#run.ctx.shield(async () => {
      for (;;) {
        const index = this.#pending.findLastIndex(isInside);
        const [entry] = index < 0 ? [] : this.#pending.splice(index, 1);
        if (entry === undefined) return;
        await this.#undo(entry).catch((error: unknown) => {
          const { stack: _stack, ...failure } = toFailure(error);
          failures.push(failure);
        });
      }
    });
    await this.#run.threads.work(undoing);
    return failures;
  }

  /**
   * Gives the remaining compensations to the engine, which runs them as for every orchestration that fails.
   */
  handToEngine(): void {
    for (const entry of this.#pending) this.#run.ctx.compensate(() => this.#undo(entry));
  }

  async #undo(entry: UndoFrame): Promise<unknown> {
    const activity = this.#activities.get(definitionPath(entry.path));
    if (activity === undefined) throw new Error(`There is no compensation at "${entry.path}".`);
    return this.#run.calls.run(entry.path, activity, entry.input);
  }
}
