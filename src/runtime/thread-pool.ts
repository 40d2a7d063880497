// A set of activity threads that share a module: attempts wait here until a thread is free.
//   TP1. At most `size` threads, made when they are needed; the first one at the start, to know that its module can
//        be used. Attempts that wait are bounded by the runtime's slots (I12).
//   TP2. A thread that dies takes its own attempt with it and nothing else. The next one is made after a back-off
//        that grows with every death and ends with the first attempt that a thread survives.
//   TP3. A thread whose module cannot be used any more, or lacks an activity, is given none: attempts wait, and no
//        attempt is counted (P6).

import { backOffMs } from "../core/committer.ts";
import type { Environment, TimerHandle } from "../core/environment.ts";
import type { Threads } from "../core/executor.ts";
import { PoolThread, type ThreadJob, type ThreadMaking } from "./pool-thread.ts";
import type { Ready } from "./thread-messages.ts";

export interface ThreadPoolOptions {
  readonly threads: Threads;
  readonly size: number;
  /** The activities that it is used for. */
  readonly names: readonly string[];
  /** Whether the runtime has a codec of its own. */
  readonly ownCodec: boolean;
  readonly environment: Environment;
  readonly making: ThreadMaking;
}

/** An attempt on its way through the pool. */
export interface Ticket {
  /** It is not wanted any more: never entered if it waits, else its signal is aborted. */
  abort(reason: Error): void;
  /** It was given time to end and did not: its thread is ended. */
  giveUp(): void;
}
export interface PoolJob extends ThreadJob {
  /** A thread is about to enter it. */
  readonly entered: () => void;
}

export class ThreadPool {
  readonly #o: ThreadPoolOptions;
  readonly #waiting: PoolJob[] = [];
  readonly #threads = new Set<PoolThread>();
  readonly #idle: PoolThread[] = [];
  readonly #unwanted = new WeakSet<PoolThread>();
  #starting = 0;
  /** In a row, without an attempt that ended. */
  #deaths = 0;
  /** Set while no new thread may be made. */
  #rest: TimerHandle | null = null;
  #stopped = false;
  /** The first thread had everything; from then on trouble is waited out. */
  #isUsable = false;

  constructor(options: ThreadPoolOptions) {
    this.#o = options;
  }

  /** Makes the first thread. Returns the activities that its module lacks; throws if it cannot be used at all. */
  async start(): Promise<readonly string[]> {
    const thread = this.#make();
    const ready = await this.#readiness(thread);
    const problem = this.#codecProblem(ready);
    if (problem !== null) throw new Error(problem);
    const missing = this.#missing(ready);
    this.#isUsable = missing.length === 0;
    if (this.#isUsable) this.#welcome(thread);
    return missing;
  }

  send(job: PoolJob): Ticket {
    this.#waiting.push(job);
    this.#next();
    return {
      abort: (reason) => {
        const index = this.#waiting.indexOf(job);
        if (index < 0) return this.#threadOf(job)?.abort(reason);
        this.#waiting.splice(index, 1);
        job.ended({ kind: "died", why: "it was never entered" });
      },
      giveUp: () => {
        const thread = this.#threadOf(job);
        if (thread !== undefined) void this.#end(thread);
      },
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#rest?.cancel();
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
  }

  #threadOf(job: PoolJob): PoolThread | undefined {
    return [...this.#threads].find((thread) => thread.runs(job));
  }

  #next(): void {
    while (this.#idle.length > 0 && this.#waiting.length > 0) {
      const thread = this.#idle.pop();
      const job = this.#waiting.shift();
      if (thread === undefined || job === undefined) return;
      job.entered();
      thread.run(job);
    }
    if (this.#rest !== null || this.#stopped) return;
    const room = this.#o.size - this.#threads.size;
    const wanted = Math.min(this.#waiting.length - this.#starting, room);
    for (let i = 0; i < wanted; i++) void this.#addThread();
  }

  async #addThread(): Promise<void> {
    const thread = this.#make();
    let ready: Ready;
    try {
      ready = await this.#readiness(thread);
    } catch {
      return; // its end says why
    }
    const missing = this.#missing(ready);
    const lack = missing.length === 0 ? null : `its module does not export ${missing.join(", ")}`;
    const problem = lack ?? this.#codecProblem(ready);
    if (problem === null) return this.#welcome(thread);
    this.#complain(`cannot be used: ${problem}`);
    this.#takeRest();
    await this.#end(thread);
  }

  #readiness(thread: PoolThread): Promise<Ready> {
    return thread.ready.finally(() => this.#starting--);
  }

  #make(): PoolThread {
    const { threads, making } = this.#o;
    const thread = new PoolThread({
      ...making,
      module: threads.module,
      memoryMb: threads.memoryMb,
      onIdle: (idle) => this.#survived(idle),
      onGone: (gone, why, job) => this.#gone(gone, why, job),
    });
    this.#starting++;
    this.#threads.add(thread);
    return thread;
  }

  #welcome(thread: PoolThread): void {
    if (!this.#threads.has(thread)) return;
    this.#idle.push(thread);
    this.#next();
  }

  #survived(thread: PoolThread): void {
    this.#deaths = 0;
    this.#welcome(thread);
  }

  #gone(thread: PoolThread, why: string, job: ThreadJob | null): void {
    this.#threads.delete(thread);
    const index = this.#idle.indexOf(thread);
    if (index >= 0) this.#idle.splice(index, 1);
    job?.ended({ kind: "died", why });
    if (this.#stopped || !this.#isUsable) return;
    if (this.#unwanted.has(thread)) return this.#next();
    const { name, info } = job?.order ?? {};
    const during = name === undefined ? "" : ` in activity "${name}" of ${info?.instanceId ?? ""}`;
    this.#complain(`died${during}: ${why}`);
    this.#takeRest();
  }

  /** No new thread until the back-off is over. */
  #takeRest(): void {
    if (this.#rest !== null || this.#stopped) return;
    const { environment } = this.#o;
    this.#rest = environment.setTimer(backOffMs(environment, this.#deaths++), () => {
      this.#rest = null;
      this.#next();
    });
  }

  #end(thread: PoolThread): Promise<void> {
    this.#unwanted.add(thread);
    return thread.end();
  }

  #complain(what: string): void {
    const { module } = this.#o.threads;
    this.#o.making.log("error", `a thread of ${module} ${what}`, { module });
  }

  #missing(ready: Ready): readonly string[] {
    return this.#o.names.filter((name) => !ready.names.includes(name));
  }

  #codecProblem({ hasCodec }: Ready): string | null {
    if (hasCodec === this.#o.ownCodec) return null;
    return hasCodec
      ? `it exports a codec, and the runtime has none of its own`
      : `the runtime has a codec of its own, and it exports none: export const codec = …`;
  }
}
