// A standing fleet: a constant number of workers. A worker that was ended by its own work is replaced at once.

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

  /** Kills all workers. Rejects if a worker had ended for a reason other than its work. */
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
