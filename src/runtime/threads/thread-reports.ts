// Heartbeats and progress of an activity in a thread, sent to the runtime.
//   - At most one message of each kind is sent per EVERY_MS, so that an activity that reports progress in
//     a tight loop does not flood the runtime. The newest value waits and is sent when the time has come,
//     or when the attempt ends.
//   - A heartbeat without details does not discard details that wait.

import type { Environment, TimerHandle } from "../../core/time/environment.ts";
import type { ActivityReports } from "../../core/attempts/attempt-context.ts";

const EVERY_MS = 50;

export class ThreadReports implements ActivityReports {
  readonly #heartbeat: RateLimited<string | null>;
  readonly #progress: RateLimited<string>;

  constructor(environment: Environment, listener: ActivityReports) {
    this.#heartbeat = new RateLimited(environment, (details) => listener.heartbeat(details));
    this.#progress = new RateLimited(environment, (value) => listener.progress(value));
  }

  heartbeat(details: string | null): void {
    this.#heartbeat.send(details ?? this.#heartbeat.waiting ?? null);
  }

  progress(value: string): void {
    this.#progress.send(value);
  }

  /** Called before the end of the attempt is reported. */
  flush(): void {
    this.#heartbeat.flush();
    this.#progress.flush();
  }
}

class RateLimited<Value> {
  readonly #environment: Environment;
  readonly #send: (value: Value) => void;
  #waiting: { readonly value: Value } | null = null;
  #sentAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(environment: Environment, send: (value: Value) => void) {
    this.#environment = environment;
    this.#send = send;
  }

  get waiting(): Value | undefined {
    return this.#waiting?.value;
  }

  send(value: Value): void {
    const environment = this.#environment;
    this.#waiting = { value };
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
    if (waiting !== null) this.#send(waiting.value);
  }
}
