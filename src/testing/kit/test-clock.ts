// The clock of a test environment: virtual time that waits for real work (BW1).

import { VirtualEnvironment, type VirtualEnvironmentOptions } from "../virtual-environment.ts";
import { BusyWork } from "./busy-work.ts";

export interface TestClockOptions extends VirtualEnvironmentOptions {
  readonly patienceMs: number;
}

export class TestClock extends VirtualEnvironment {
  readonly busy: BusyWork;

  constructor({ patienceMs, ...options }: TestClockOptions) {
    super(options);
    this.busy = new BusyWork(patienceMs);
  }

  /** Resolves when everything that can happen now has happened, whatever it took in real time. */
  override async settle(): Promise<void> {
    do await super.settle();
    while (await this.busy.waited());
  }

  /** Virtual time, for code that runs inside: an activity or a scripted action. */
  sleep(ms: number): Promise<void> {
    return this.busy.idleWhile(new Promise((resolve) => void this.setTimer(ms, resolve)));
  }
}
