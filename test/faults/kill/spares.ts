// Spares: processes that have loaded their modules and wait for "go". Starting Node takes longer than the killer lets a
// worker live, so a spare replaces a killed worker at once.
//   - A spare has not opened the store yet.

import type { WorkerProcess } from "./fleet.ts";

export class Spares implements AsyncDisposable {
  readonly #spawn: () => WorkerProcess;
  readonly #waiting: WorkerProcess[];

  constructor(count: number, spawn: () => WorkerProcess) {
    this.#spawn = spawn;
    this.#waiting = Array.from({ length: count }, spawn);
  }

  /** A worker that has been sent "go"; a new spare takes its slot. */
  readonly take = (): WorkerProcess => this.#begin("go");
  /** A worker that starts no jobs itself. */
  readonly takeIdle = (): WorkerProcess => this.#begin("idle");

  #begin(how: "go" | "idle"): WorkerProcess {
    this.#waiting.push(this.#spawn());
    const worker = this.#waiting.shift();
    if (worker === undefined)
      throw new Error("the queue of spares is empty although a spare was just added");
    worker.go(how);
    return worker;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dismiss();
  }

  /** Ends the spares that still wait. */
  async dismiss(): Promise<void> {
    await Promise.all(this.#waiting.splice(0).map((worker) => worker.kill()));
  }
}
