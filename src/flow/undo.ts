// Compensations of a running flow: noted when a step has ended, carried out in reverse if what it is part of fails.
//   UN1. What fails is undone as far as it goes: a catch and a collected branch undo what happened inside of them, the
//        flow undoes everything. A step inside is one whose path begins with theirs.
//   UN2. Each runs behind a shield, the next one after it has ended; one that fails stops none of the others.

import type { OrchestrationContext } from "../core/context-types.ts";
import { toFailure, type Failure } from "../core/failure.ts";
import type { NodeActivity, NodeCalls } from "../core/node-calls.ts";
import type { UndoFrame } from "./frames.ts";
import { definitionPath, deferPath } from "./paths.ts";
import type { Threads } from "./threads.ts";

export class Compensations {
  readonly #ctx: OrchestrationContext;
  readonly #calls: NodeCalls;
  readonly #threads: Threads;
  readonly #activities: ReadonlyMap<string, NodeActivity>;
  readonly #noted: UndoFrame[];

  constructor(options: {
    ctx: OrchestrationContext;
    calls: NodeCalls;
    threads: Threads;
    activities: ReadonlyMap<string, NodeActivity>;
    noted: readonly UndoFrame[];
  }) {
    this.#ctx = options.ctx;
    this.#calls = options.calls;
    this.#threads = options.threads;
    this.#activities = options.activities;
    this.#noted = [...options.noted];
  }

  get noted(): readonly UndoFrame[] {
    return this.#noted;
  }

  note(path: string, input: unknown, output: unknown): void {
    this.#noted.push({ path: deferPath(path), input: { input, output } });
  }

  /** Undoes what happened under a prefix; what went wrong with it. */
  async undo(prefix: string): Promise<readonly Failure[]> {
    const failures: Failure[] = [];
    const isInside = (entry: UndoFrame): boolean => entry.path.startsWith(prefix);
    if (!this.#noted.some(isInside)) return failures;
    // As work: until it is done, no other execution could take the flow up.
    const undoing = this.#ctx.shield(async () => {
      for (;;) {
        const index = this.#noted.findLastIndex(isInside);
        const [entry] = index < 0 ? [] : this.#noted.splice(index, 1);
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

  /** The flow itself has failed: the engine undoes what is left, as it does for every orchestration. */
  handOver(): void {
    for (const entry of this.#noted) this.#ctx.defer(() => this.#run(entry));
  }

  async #run(entry: UndoFrame): Promise<unknown> {
    const activity = this.#activities.get(definitionPath(entry.path));
    if (activity === undefined) throw new Error(`There is no compensation at "${entry.path}".`);
    return this.#calls.run(entry.path, activity, entry.input);
  }
}
