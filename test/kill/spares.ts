// Spares: processes that have loaded all they need and wait for a word. Starting Node takes longer than the lives that
// a killer grants: whoever died is replaced at once by one of these.
//   S1. A spare has opened nothing and touched nothing: its life begins with "go".

import type { WorkerProcess } from "./fleet.ts";

export class Spares implements AsyncDisposable {
  readonly #spawn: () => WorkerProcess;
  readonly #waiting: WorkerProcess[];

  constructor(count: number, spawn: () => WorkerProcess) {
    this.#spawn = spawn;
    this.#waiting = Array.from({ length: count }, spawn);
  }

  /** One whose life has begun; another waits in its place. */
  readonly take = (): WorkerProcess => this.#begin("go");
  /** One that starts no work itself. */
  readonly takeIdle = (): WorkerProcess => this.#begin("idle");

  #begin(how: "go" | "idle"): WorkerProcess {
    this.#waiting.push(this.#spawn());
    const worker = this.#waiting.shift();
    if (worker === undefined) throw new Error("One was put there a moment ago.");
    worker.go(how);
    return worker;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dismiss();
  }

  /** Ends those that still wait. */
  async dismiss(): Promise<void> {
    await Promise.all(this.#waiting.splice(0).map((worker) => worker.kill()));
  }
}
