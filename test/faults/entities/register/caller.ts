// A caller: a slot for a process that makes calls. A killed process is replaced at once.

import type { WorkerProcess } from "../../kill/fleet.ts";
import type { CallMessage, ReplyMessage } from "./worker.ts";

export type Answered = Omit<ReplyMessage, "number">;

export class Caller {
  readonly #spawn: (onMessage: (message: string) => void) => WorkerProcess;
  #worker: WorkerProcess;
  #number = 0;
  #isClosed = false;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answered | null>>();

  constructor(spawn: (onMessage: (message: string) => void) => WorkerProcess) {
    this.#spawn = spawn;
    this.#worker = this.#begin();
  }

  get ready(): Promise<void> {
    return this.#worker.ready;
  }

  /** Null: the process was killed before it replied, or the caller is closed. */
  async call(call: Omit<CallMessage, "number">): Promise<Answered | null> {
    // Another process may take the slot during the wait.
    for (let worker; worker !== this.#worker; await worker.ready) worker = this.#worker;
    if (this.#isClosed) return null;
    const number = this.#number++;
    const reply = Promise.withResolvers<Answered | null>();
    this.#waiting.set(number, reply);
    this.#worker.say(JSON.stringify({ ...call, number }));
    return reply.promise;
  }

  /** SIGKILL. The next process takes its place. */
  async kill(): Promise<void> {
    const killed = this.#worker;
    this.#worker = this.#begin();
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    await killed.kill();
    for (const { resolve } of lost) resolve(null);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker.kill();
  }

  #begin(): WorkerProcess {
    return this.#spawn((text) => {
      const message = JSON.parse(text) as ReplyMessage; // from worker.ts
      const waiting = this.#waiting.get(message.number);
      this.#waiting.delete(message.number);
      waiting?.resolve(message);
    });
  }
}
