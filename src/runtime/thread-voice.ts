// What an activity in a thread says of itself, on its way to the runtime.
//   TV1. Of each kind at most one message in EVERY_MS: a loop that tells its progress a million times a second must
//        not bury the runtime. The newest waits and goes when the time has come, or with the attempt's end.
//   TV2. A beat without details forgets none that wait.

import type { Environment, TimerHandle } from "../core/environment.ts";
import type { ActivityVoice } from "./activity-run.ts";

const EVERY_MS = 50;

export class ThreadVoice implements ActivityVoice {
  readonly #environment: Environment;
  readonly #heartbeat: Outlet<string | null>;
  readonly #progress: Outlet<string>;

  constructor(environment: Environment, listener: ActivityVoice) {
    this.#environment = environment;
    this.#heartbeat = new Outlet((details) => listener.heartbeat(details));
    this.#progress = new Outlet((value) => listener.progress(value));
  }

  heartbeat(details: string | null): void {
    this.#heartbeat.say(details ?? this.#heartbeat.waiting ?? null, this.#environment);
  }

  progress(value: string): void {
    this.#progress.say(value, this.#environment);
  }

  /** Before the attempt's end is told. */
  flush(): void {
    this.#heartbeat.flush();
    this.#progress.flush();
  }
}

class Outlet<Said> {
  readonly #send: (said: Said) => void;
  #waiting: { readonly said: Said } | null = null;
  #sentAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(send: (said: Said) => void) {
    this.#send = send;
  }

  get waiting(): Said | undefined {
    return this.#waiting?.said;
  }

  say(said: Said, environment: Environment): void {
    this.#waiting = { said };
    const waitMs = this.#sentAt + EVERY_MS - environment.monotonic();
    const send = (): void => {
      this.#sentAt = environment.monotonic();
      this.flush();
    };
    if (waitMs <= 0) send();
    else this.#timer ??= environment.setTimer(waitMs, send);
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) this.#send(waiting.said);
  }
}
