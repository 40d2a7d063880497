// A standing fleet: the same number of workers all the time. A worker that its work ended is replaced at once.

import type { WorkerProcess } from "./fleet.ts";

export class StandingFleet {
  readonly #spawn: () => WorkerProcess;
  readonly #workers = new Set<WorkerProcess>();
  readonly #slots: Promise<readonly void[]>;
  #isOver = false;

  constructor(count: number, spawn: () => WorkerProcess) {
    this.#spawn = spawn;
    this.#slots = Promise.all(Array.from({ length: count }, () => this.#keep()));
  }

  /** Kills all of them. Rejects if one had ended for a reason other than its work. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#workers].map((worker) => worker.ready.then(() => worker.kill())));
    await this.#slots;
  }

  async #keep(): Promise<void> {
    while (!this.#isOver) {
      const worker = this.#spawn();
      this.#workers.add(worker);
      await worker.gone;
      if (!worker.hasCrashed) return; // `stop` killed it, or reports its end
      this.#workers.delete(worker);
    }
  }
}
