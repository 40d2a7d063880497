// A pool of activity threads that share a module: attempts wait here until a thread is free.
//   - There are at most `size` threads, created on demand. The first one is created at the start, to
//     check that its module is usable. The runtime's slots limit the number of waiting attempts (I12).
//   - The death of a thread affects only the attempt that it was running. The next thread is created
//     after a backoff that grows with every death and is reset by the first attempt that ends normally.
//   - If the module of a new thread is no longer usable or lacks an activity, the thread gets no
//     attempts. Attempts wait, and no attempt is counted (P6).

import type { AttemptHandle } from "../../core/attempts/running-attempt.ts";
import { backOffMs } from "../../core/commit/back-off.ts";
import type { Environment, TimerHandle } from "../../core/time/environment.ts";
import type { Threads } from "../../core/define/executor.ts";
import { PoolThread, type ThreadJob, type ThreadResources } from "./pool-thread.ts";
import type { Ready } from "./thread-messages.ts";

export interface ThreadPoolOptions {
  readonly threads: Threads;
  readonly size: number;
  /** The activities that run in this pool. */
  readonly names: readonly string[];
  /** Whether the runtime has a custom codec. */
  readonly ownCodec: boolean;
  /** Whether the runtime has middleware. */
  readonly hasMiddleware: boolean;
  readonly environment: Environment;
  readonly resources: ThreadResources;
}

export class ThreadPool {
  readonly #deps: ThreadPoolOptions;
  readonly #waiting: ThreadJob[] = [];
  readonly #threads = new Set<PoolThread>();
  readonly #idle: PoolThread[] = [];
  readonly #terminated = new WeakSet<PoolThread>();
  #starting = 0;
  /** Deaths in a row without an attempt that ended normally. */
  #deaths = 0;
  /** Set during a backoff, while no new thread may be created. */
  #backoffTimer: TimerHandle | null = null;
  #stopped = false;
  /** The first thread had every activity. From then on, problems are waited out. */
  #isUsable = false;

  constructor(options: ThreadPoolOptions) {
    this.#deps = options;
  }

  /**
   * Creates the first thread. Returns the activities that its module lacks. Throws if the module is not
   * usable at all.
   */
  async start(): Promise<readonly string[]> {
    const thread = this.#make();
    const ready = await this.#readiness(thread);
    const problem = this.#problem(ready);
    if (problem !== null) throw new Error(problem);
    const missing = this.#missing(ready);
    this.#isUsable = missing.length === 0;
    if (this.#isUsable) this.#addIdle(thread);
    return missing;
  }

  /** Aborting the attempt while it waits for a thread ends it: no thread enters it. */
  send(job: ThreadJob): AttemptHandle {
    this.#waiting.push(job);
    this.#next();
    return {
      abort: (reason) => {
        const index = this.#waiting.indexOf(job);
        if (index < 0) return this.#threadOf(job)?.abort(reason);
        this.#waiting.splice(index, 1);
        job.ended({ kind: "died", why: "it was cancelled before it began" });
      },
      giveUp: () => {
        const thread = this.#threadOf(job);
        if (thread !== undefined) void this.#end(thread);
      },
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#backoffTimer?.cancel();
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
  }

  #threadOf(job: ThreadJob): PoolThread | undefined {
    return [...this.#threads].find((thread) => thread.runs(job));
  }

  #next(): void {
    while (this.#idle.length > 0 && this.#waiting.length > 0) {
      const thread = this.#idle.pop();
      const job = this.#waiting.shift();
      if (thread === undefined || job === undefined) return;
      thread.run(job);
    }
    if (this.#backoffTimer !== null || this.#stopped) return;
    const room = this.#deps.size - this.#threads.size;
    const wanted = Math.min(this.#waiting.length - this.#starting, room);
    for (let i = 0; i < wanted; i++) void this.#addThread();
  }

  async #addThread(): Promise<void> {
    const thread = this.#make();
    let ready: Ready;
    try {
      ready = await this.#readiness(thread);
    } catch {
      return; // `#gone` logs the reason
    }
    const missing = this.#missing(ready);
    const lack = missing.length === 0 ? null : `its module does not export ${missing.join(", ")}`;
    const problem = lack ?? this.#problem(ready);
    if (problem === null) return this.#addIdle(thread);
    this.#logProblem(`cannot be used: ${problem}`);
    this.#backOff();
    await this.#end(thread);
  }

  #readiness(thread: PoolThread): Promise<Ready> {
    return thread.ready.finally(() => this.#starting--);
  }

  #make(): PoolThread {
    const { threads, resources } = this.#deps;
    const thread = new PoolThread({
      ...resources,
      module: threads.module,
      memoryMb: threads.memoryMb,
      onIdle: (idle) => this.#survived(idle),
      onGone: (gone, why, job) => this.#gone(gone, why, job),
    });
    this.#starting++;
    this.#threads.add(thread);
    return thread;
  }

  #addIdle(thread: PoolThread): void {
    if (!this.#threads.has(thread)) return;
    this.#idle.push(thread);
    this.#next();
  }

  #survived(thread: PoolThread): void {
    this.#deaths = 0;
    this.#addIdle(thread);
  }

  #gone(thread: PoolThread, why: string, job: ThreadJob | null): void {
    this.#threads.delete(thread);
    const index = this.#idle.indexOf(thread);
    if (index >= 0) this.#idle.splice(index, 1);
    job?.ended({ kind: "died", why });
    if (this.#stopped || !this.#isUsable) return;
    if (this.#terminated.has(thread)) return this.#next();
    const { name, info } = job?.order ?? {};
    const during = name === undefined ? "" : ` in activity "${name}" of ${info?.instanceId ?? ""}`;
    this.#logProblem(`died${during}: ${why}`);
    this.#backOff();
  }

  /** Creates no new thread until the backoff is over. */
  #backOff(): void {
    if (this.#backoffTimer !== null || this.#stopped) return;
    const { environment } = this.#deps;
    this.#backoffTimer = environment.setTimer(backOffMs(environment, this.#deaths++), () => {
      this.#backoffTimer = null;
      this.#next();
    });
  }

  #end(thread: PoolThread): Promise<void> {
    this.#terminated.add(thread);
    return thread.end();
  }

  #logProblem(what: string): void {
    const { module } = this.#deps.threads;
    this.#deps.resources.log("error", `a thread of ${module} ${what}`, { module });
  }

  #missing(ready: Ready): readonly string[] {
    return this.#deps.names.filter((name) => !ready.names.includes(name));
  }

  /** The module must have what the runtime has: codecs and functions cannot be sent to a thread. */
  #problem({ hasCodec, hasMiddleware }: Ready): string | null {
    if (this.#deps.hasMiddleware && !hasMiddleware) {
      return `the runtime has middleware, but it exports none: add export const middleware = […], or [] for none`;
    }
    if (hasCodec === this.#deps.ownCodec) return null;
    return hasCodec
      ? `it exports a codec, but the runtime uses the default codec`
      : `the runtime has a custom codec, but it exports none: add export const codec = …`;
  }
}
